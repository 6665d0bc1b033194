"""What is remembered: what was reported of tokens, in a file that a thread of its own writes."""
