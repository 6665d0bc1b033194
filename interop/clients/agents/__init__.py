"""Coding agents at pinned versions, each run in a fresh home against `partstream serve`."""
