"""The hub beside LiteLLM's proxy with its database: `make bench WHAT=hub`, which makes docs/hub-performance.md."""
