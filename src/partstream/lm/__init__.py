"""VS Code's values and interfaces: parts, messages, providers, progress, events, cancellation, usage, and the contract."""
