"""Which files a bundle holds: their names, and what each is for."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final

from partstream.devtools.bundles.exchange import RedactionLevel

if TYPE_CHECKING:
    from partstream.devtools.bundles.exchange import Bundle, Redaction

__all__ = [
    "ANSWER",
    "BUNDLE_ENDING",
    "CHUNKS",
    "END_OF_NAMES",
    "EXCHANGE",
    "FORMAT",
    "HEAD",
    "MANIFEST",
    "NUMBERED",
    "PARTS",
    "README",
    "REPORT",
    "REQUEST",
    "folder_of_answer",
    "folder_of_exchange",
    "readme_of",
]

FORMAT: Final = 1
"""The version of the format; increases with every change that a reader of it would misunderstand."""

BUNDLE_ENDING: Final = ".partstream.zip"

MANIFEST: Final = "manifest.json"
README: Final = "README.txt"
REPORT: Final = "report.html"

EXCHANGE: Final = "exchange.json"
REQUEST: Final = "request.json"
HEAD: Final = "response.head.json"
CHUNKS: Final = "response.chunks"
ANSWER: Final = "answer.json"
PARTS: Final = "parts.jsonl"

NUMBERED: Final = re.compile(r"(exchanges|answers)/([0-9]{3,9})/([a-z.]+)")
"""The name of a file that belongs to an exchange or to an answer."""

END_OF_NAMES: Final = {
    "exchanges": frozenset({EXCHANGE, REQUEST, HEAD, CHUNKS}),
    "answers": frozenset({ANSWER, PARTS}),
}
"""The files that a folder of each kind may have."""


def folder_of_exchange(number: int) -> str:
    """The folder of an exchange, such as `exchanges/001`."""
    return f"exchanges/{number:03}"


def folder_of_answer(number: int) -> str:
    """The folder of an answer, such as `answers/001`."""
    return f"answers/{number:03}"


_REPLACED: Final = {
    RedactionLevel.KEYS: """\
Keys, cookies and ids of people that were recognized are replaced. TEXTS ARE NOT: this file holds what people, tools and
models wrote, also file contents and paths. For a file to give away: partstream share FILE OUT.partstream.zip
""",
    RedactionLevel.STRUCTURE: """\
Keys, cookies and ids of people that were recognized are replaced, and so are texts, by stand-ins of the same length.
The lengths and the rhythm of an answer are kept, because errors of streams depend on them: whoever has the text already
can recognize it by them. Names of models, kinds of events, numbers and times are kept too.
""",
    RedactionLevel.NONE: """\
NOTHING IS REPLACED: this file may hold keys, and holds what people, tools and models wrote. Do not give it away.
""",
}
_NOT_REDACTED: Final = """\
NOBODY HAS REDACTED THIS FILE: it may hold keys, and holds what people, tools and models wrote. For a file to give away:
partstream share FILE OUT.partstream.zip
"""


def readme_of(bundle: Bundle, *, has_report: bool) -> str:
    """What the file says of itself to a person who unpacks it."""
    open_page = "Open report.html in a browser: it needs no network and sends nothing.\n" if has_report else ""
    return f"""\
What a model server was asked, and what came back
=================================================

This file was made by {bundle.made_by}. It holds {_count(len(bundle.exchanges), "exchange")} with a server, read by read
with its times, and {_count(len(bundle.answers), "answer")} as the program that asked got it.

How to open it
--------------

{open_page}With Partstream, where its command is installed:

    partstream inspect FILE     shows it in a browser
    partstream check FILE       says which promise was broken
    partstream replay FILE      prints the parts; --pace real as fast as they came
    partstream upstream --replay FILE     answers every request with it

Without: docs/bundles.md of Partstream describes each file for other programs.

What is not in it
-----------------

{_replaced(bundle.redaction)}
What was replaced is in this file in no form, neither hidden nor as a checksum. No list of rules knows every secret:
look through the file before you give it away (partstream inspect FILE --what-is-in-it).

How to delete it
----------------

Delete this file. What Partstream keeps by itself is in its data folder, in `recordings`, for 30 days.
"""


def _count(count: int, noun: str) -> str:
    return f"{count:,} {noun}{'' if count == 1 else 's'}"


def _replaced(redaction: Redaction | None) -> str:
    if redaction is None:
        return _NOT_REDACTED
    kept = f"Kept at the wish of who made it: {', '.join(redaction.kept)}.\n" if redaction.kept else ""
    return _REPLACED[redaction.level] + kept + _counts(redaction)


def _counts(redaction: Redaction) -> str:
    if not redaction.counts:
        return ""
    lines = "".join(f"    {count:>7,}  {rule}\n" for rule, count in sorted(redaction.counts.items()))
    return f"\nHow often each rule has replaced something:\n\n{lines}"
