"""JSON-RPC 2.0 in LSP's framing: a sans-IO connection, a fair outbox and the standard streams; knows no method."""
