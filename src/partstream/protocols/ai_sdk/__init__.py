"""What the AI SDK streams and the messages it takes, in all versions; one meaning, a small reader for each wire."""
