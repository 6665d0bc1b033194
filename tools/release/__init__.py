"""Checks what a release gives to strangers: wheel, source distribution, extension; for `make release-check`."""
