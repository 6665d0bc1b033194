"""Faults of real servers, kinds by wires: a table from which the tests and docs/maintainers/matrix.md are made.

A module `rows_*.py` is about one kind of faults, such as calls that share an id. It has `KIND`, a sentence, and `ROWS`:
a row is one shape of the kind on one wire, with the body as a server sends it and the one answer that is right. Each
body is read whole, byte by byte and in pieces of any size, so a new report is a new row and nothing else.
"""
