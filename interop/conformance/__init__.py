"""Software of others, tested with the conformance kit: `make conformance`."""
