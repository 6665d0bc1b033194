"""Being VS Code for a provider: `connect`, `read_stream`, `StreamAdapter`, consumer, tool loop, files."""
