"""The sidecar: hosts providers for the VS Code extension, over JSON-RPC on standard input and output."""
