"""A conversation before it has a wire: normal form, turns, ids and names of tools, state of providers, media."""
