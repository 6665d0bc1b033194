"""Remembers reported and counted tokens, in a file that a separate thread writes."""
