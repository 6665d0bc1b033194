"""The streams of the Vercel AI SDK, versions 4 to 7: one meaning, four readers of the wire."""
