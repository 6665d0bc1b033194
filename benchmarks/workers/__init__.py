"""The readers that are measured, each a program of its own that reads what standard input names."""
