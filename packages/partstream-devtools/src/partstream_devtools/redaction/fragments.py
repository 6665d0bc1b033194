"""Which field of which event is a piece of which text: by such tables a recording is redacted and keeps its form.

A secret is cut over events, and then no search in the bytes finds it. So the redaction joins the pieces of each text,
searches the text, and replaces what it finds in the pieces. Which pieces make up a text differs from wire to wire:
:data:`FRAGMENTS` has one table for each protocol of this package, from `fragments.json`. All tables apply to every
recording, that of its protocol first, because a server may send events of another wire.

A field that no table names, such as that of a protocol from an installed package, holds one text in each event. The
redaction also searches the texts of such a field joined, and hides what it finds
(:attr:`partstream_devtools.redaction.texts.BundleTexts.joined`).
"""

from __future__ import annotations
from collections.abc import Iterator, Mapping, Sequence
from enum import StrEnum
from itertools import chain
from pathlib import Path
from typing import Any, Final

from partstream.codec.checks import dataclass
from partstream.codec.json_codec import loads


class Meaning(StrEnum):
    """What a text in an event is, which decides what may replace it."""

    TEXT = "text"
    """What people, models and tools wrote."""
    ARGUMENTS = "tool arguments"
    """The JSON of a call's arguments, or a piece of it."""
    ERROR = "error sentence"
    """The words of a server for a failure."""
    LINK = "link"
    """An address, which other fields and texts may repeat."""
    OPAQUE = "opaque state"
    """State of a model, which only its server reads."""
    MEDIA = "media"
    """A file in base64, or a piece of one."""
    TOOL = "tool name"
    ID = "id"
    """The id of a response, an item or a call."""
    PERSON = "id of a person"
    """The id of a person, an organization, a session, a conversation or a request."""
    PROPERTY = "property name"
    """The name of a field."""
    ARGUMENT_NAME = "argument name"
    """The name of a field that a tool or a program has chosen, such as that of an argument."""
    WORD = "word"
    """A word of the protocol, such as the type of an event, or the name of a model."""
    TIME = "time"
    """A moment."""
    SECRET = "secret"  # noqa: S105 - what the field holds, not a password
    """A key, by the name of its field."""


@dataclass(frozen=True, slots=True)
class Fragment:
    """A field that holds a piece of a text, or the whole of it.

    Attributes:
        event: The kind of the event; the empty string where a protocol has one kind alone.
        field: The path of the field in the event: names, joined by dots; `[]` after a name means each element
            of a list. Empty where the event is the text itself.
        of: The paths of the fields that tell one text from another. An element of a list is the same that `field` goes
            through; where the field is missing, its place in the list replaces it.
        meaning: What the text is.
        is_whole: Whether the field holds a whole text, such as a closing event that repeats what came in pieces.
        text: What the text is called where several fields hold pieces of it, such as a block that begins with some of
            its text; empty where it is this field alone.
    """

    event: str
    field: str
    of: tuple[str, ...] = ()
    meaning: Meaning = Meaning.TEXT
    is_whole: bool = False
    text: str = ""


def _fragments(row: Mapping[str, Any]) -> Iterator[Fragment]:
    """The fragments of a row of the file: one for each of its events and fields; no field where the event is the text.

    `why` is for readers of the file.
    """
    meaning, of = Meaning(row.get("meaning", Meaning.TEXT)), tuple(row.get("of", ()))
    for event in row["events"]:
        for name in row["fields"] or [""]:
            yield Fragment(event, name, of, meaning, row.get("is_whole", False), row.get("text", ""))


_FILE: Final[Mapping[str, Sequence[Mapping[str, Any]]]] = loads(Path(__file__).with_name("fragments.json").read_bytes())
_TABLES: Final = {name: tuple(chain.from_iterable(map(_fragments, rows))) for name, rows in _FILE.items()}

FRAGMENTS: Final[Mapping[str, tuple[Fragment, ...]]] = _TABLES | dict.fromkeys(
    ("ai-sdk-ui", "ai-sdk-data", "ai-gateway"), _TABLES["ai-sdk"]
)
"""The tables, by the name of the protocol; that of the AI SDK is for all its versions and all its streams, and for the
AI Gateway, which sends its parts."""
