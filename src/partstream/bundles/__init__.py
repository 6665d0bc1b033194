"""The file that holds an exchange with a model server, so that somebody else can look at it and play it again.

The values are in :mod:`partstream.bundles.exchange`. No I/O and no clock: whoever owns a socket or a file gives the
bytes and the times. docs/bundles.md describes the file for other programs.
"""
