"""The page of what the conformance kit found in software of others, and of what parsers make of recorded streams."""

from __future__ import annotations

from typing import Final

from parsers_table import parsers_table

__all__ = ["conformance_page"]

_HEAD: Final = """<!-- Made by scripts/generate.py of the results of `make parsers`. -->
# What others keep of the contract
"""

_PARSERS: Final = """## What parsers make of recorded streams

`make parsers` has each package read the same recorded streams of real servers, over HTTP on loopback, through the door
that its documentation names, and compares what came out with what is known of each stream. It takes about four minutes.

- **Text and thinking** are right when every character is there, once and in order; white space is not compared.
- **Calls** are right when those that the client has to run are there with all their arguments, and no others: not those
  that the server has run itself, and not what the limit of the answer has cut in the middle.
- **Tokens** are the input and output tokens that the server has reported last; for Messages, cached ones too.
- **Errors**: a stream that fails ends with an error, and one that does not fail ends without.

What a package has no field for is not judged (–). A stream that one of them reads otherwise on purpose counts as wrong
too: the list below the table names the streams, so that everybody can judge.
"""


def conformance_page() -> str:
    """The page."""
    return "\n".join((_HEAD, _PARSERS, *parsers_table())) + "\n"
