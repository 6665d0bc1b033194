"""The hub's page: its scripts and styles, and how they are put together."""
