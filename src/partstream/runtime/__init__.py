"""Being VS Code for a provider: `connect`, `read_stream`, `StreamAdapter`, the consumer, the tool loop, provider files."""
