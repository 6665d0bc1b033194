"""VS Code's values and interfaces: parts, messages, providers, events, cancellation, usage, the contract."""
