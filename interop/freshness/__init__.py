"""Compares what the protocols know of their wires with the newest packages of the registries."""
