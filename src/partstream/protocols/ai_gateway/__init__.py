"""Everything that knows the protocol of the Vercel AI Gateway, and nothing else does."""
