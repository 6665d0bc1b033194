"""Loads a running `partstream serve` with clients that behave badly, and measures what is left behind."""
