"""JSON-RPC 2.0 in LSP's framing: a connection without I/O, a fair outbox, the standard streams; knows no method."""
