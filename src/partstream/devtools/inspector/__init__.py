"""Inspector."""
