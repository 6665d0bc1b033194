"""Who runs a provider: one folder or module a host; a host knows people and processes, never a protocol's wire."""
