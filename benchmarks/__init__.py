"""Measures Partstream beside others on the same bytes: `make bench`; docs/performance.md explains it."""
