"""What parsers of others make of the recorded streams, beside ours: `make interop TRY=parsers`."""
