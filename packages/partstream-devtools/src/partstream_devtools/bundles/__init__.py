"""Recorded exchanges as files: our own bundle, HAR, mitmproxy, and plain streams."""
