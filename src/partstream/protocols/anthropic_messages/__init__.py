"""Anthropic Messages: `POST /messages`, as Anthropic and the many servers beside it speak it."""
