"""The hub beside LiteLLM's proxy with database: `make bench WHAT=hub` makes docs/maintainers/hub-performance.md."""
