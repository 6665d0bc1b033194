"""The page of what the conformance kit found in software of others, and of what parsers make of recorded streams."""

from __future__ import annotations
from typing import Final

from parsers_table import parsers_table
from targets_table import targets_table

__all__ = ["conformance_page"]

_HEAD: Final = """<!-- Made by tools/generate.py of the results of `make interop TRY="conformance parsers"`. -->
# What others keep of the contract

[The conformance kit](conformance-kit.md) tests any provider and any model server. This page is what it found in the
software of others, at the versions named and on loopback alone. It shows defects, not their absence, and it is about
one contract, that of VS Code: a package may keep all that it promises itself, and still break a rule here.
"""

_TARGETS: Final = """## Providers and servers

`make interop TRY=conformance` installs each at its pinned version and tests it, in about three minutes. A package is
tested as the provider that a developer writes around it (`interop/conformance/providers`), with the kit as its model
server: everything can be provoked then, errors and broken connections too. A mock server is asked at its base URL and
instructed by the prompt, so that less can be judged. The code around a package does its own work: it reports
usage, wraps errors, and raises one where nothing visible came.
"""

_PARSERS: Final = """## What parsers make of recorded streams

`make interop TRY=parsers` has each package read the same recorded streams of real servers, over HTTP on loopback,
through the door that its documentation names, and compares what came out with what is known of each stream. It takes
about four minutes.

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
    return "\n".join((_HEAD, _TARGETS, *targets_table(), _PARSERS, *parsers_table())) + "\n"
