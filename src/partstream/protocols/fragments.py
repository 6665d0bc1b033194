"""Which field of which event is a piece of which text: by such tables a recording is redacted and keeps its form.

A secret is cut over events, and then no search in the bytes finds it. So the pieces of each text are joined before they
are searched, and what is found is replaced in the pieces. Which pieces make up a text, only the protocol knows.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable

__all__ = ["Fragment", "Meaning", "fragments", "wholes"]


class Meaning(StrEnum):
    """What a text in an event is, which decides what may stand in its place."""

    TEXT = "text"
    """What people, models and tools wrote."""
    ARGUMENTS = "tool arguments"
    """The JSON of a call's arguments, or a piece of it."""
    ERROR = "error sentence"
    """What a server says of a failure."""
    LINK = "link"
    """An address, which other fields and texts may repeat."""
    OPAQUE = "opaque state"
    """State of a model, which nobody but its server reads."""
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
        field: The path of the field in the event: names, joined by dots; `[]` behind a name stands for each element of
            a list. Empty where the event is the text itself.
        of: The paths of the fields that tell one text from another. An element of a list is the same that `field` goes
            through; where the field is missing, its place in the list stands for it.
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


def fragments(
    events: Iterable[str], fields: str, of: str = "", meaning: Meaning = Meaning.TEXT, text: str = ""
) -> tuple[Fragment, ...]:
    """Rows for fields that hold pieces.

    Args:
        events: The kinds of events.
        fields: The paths of the fields, with blanks between them; empty where the event is the text itself.
        of: The paths of the fields that tell one text from another, in the same way.
        meaning: What the texts are.
        text: What the text is called, if all these fields hold pieces of one.
    """
    of_fields = tuple(of.split())
    return tuple(
        Fragment(event, field, of_fields, meaning, text=text) for event in events for field in fields.split() or [""]
    )


def wholes(events: Iterable[str], fields: str, meaning: Meaning = Meaning.TEXT) -> tuple[Fragment, ...]:
    """Rows for fields that hold whole texts.

    Args:
        events: The kinds of events.
        fields: The paths of the fields, with blanks between them.
        meaning: What the texts are.
    """
    return tuple(
        Fragment(event, field, (), meaning, is_whole=True) for event in events for field in fields.split() or [""]
    )
