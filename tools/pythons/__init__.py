"""Runs the tests on every supported Python, with the oldest packages that are allowed and the newest that there are."""
