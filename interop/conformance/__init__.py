"""Software of others, tested with the conformance kit: `make interop TRY=conformance`."""
