"""What the recording proxy costs: `make bench WHAT=record`."""
