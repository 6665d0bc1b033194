"""Hosts run providers: one folder or module per host; a host knows people and processes, never a wire protocol."""
