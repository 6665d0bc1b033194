"""The readers that are measured, each a program of its own that is told over standard input what to read."""
