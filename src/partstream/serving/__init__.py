"""Serves providers to programs of any kind, over the wires that they speak; owns the socket's side of a provider."""
