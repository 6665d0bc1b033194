"""Measures Partstream beside others on the same bytes: `make bench`; docs/maintainers/performance.md explains it."""
