"""Records what passes between a client and a model server."""
