"""Measures `partstream serve` beside LiteLLM's proxy and beside a bare server, in one run."""
