"""What the recording proxy costs: `make bench-record`."""
