"""What becomes of each field of a request, an answer or an event, between each two wires.

A request is read by the reader of the client's wire and written by the writer of the upstream's, and an answer the
other way round, as a server does it. Two wholes that differ in one field show the fate of the field: what differs in
what was written, in the names of what was dropped, or that one of them is refused.
"""

from __future__ import annotations
import json
import re
from base64 import b64decode
from collections import defaultdict
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from enum import StrEnum
from fnmatch import fnmatchcase
from typing import TYPE_CHECKING, Any, Final

from census.fields import fields_of
from census.wires import WIRES
from partstream.conversation.preparation import ASKED_IN, prepare
from partstream.conversation.provider_state import Origin, decode_state
from partstream.errors import LanguageModelError, PartstreamError, RequestNotExpressibleError
from partstream.lm.messages import ChatMessage, RequestOptions
from partstream.lm.outputs import (
    CitationMode,
    FileMode,
    Finish,
    InboundRequest,
    Outcome,
    Reply,
    StreamOptions,
    Unmapped,
)
from partstream.lm.parts import ThinkingPart
from partstream.protocols.protocol import PROTOCOLS
from partstream.protocols.serve import WireRequest
from partstream.runtime.translation import (
    frame_answer,
    read_answer,
    read_document,
    read_question,
    write_answer,
    write_document,
)

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from census.fields import Field
    from partstream.lm.outputs import StreamOutput

__all__ = ["DIRECTIONS", "Fate", "fates_of"]


class Fate(StrEnum):
    """What becomes of a field."""

    CARRIED = "carried"
    """The other side says it, in its own word."""
    TEXT = "text"
    """The other side has it as words of a text, which is not what was meant."""
    REFUSED = "refused"
    """The client gets an error that names it."""
    NAMED = "named"
    """It is left out, or there in words alone, and named."""
    SILENT = "silent"
    """It is gone without a word."""
    BROKEN = "broken"
    """The whole is refused with an error that does not name it."""


_ORDER: Final = (Fate.CARRIED, Fate.TEXT, Fate.NAMED, Fate.REFUSED, Fate.BROKEN, Fate.SILENT)
"""Of several words that a field may be, the first of these fates counts: some words ask for what happens anyway."""


@dataclass(frozen=True, slots=True)
class _Written:
    """A whole as the other wire has it.

    Attributes:
        said: What was written.
        dropped: What was named as left out.
        refused: Why it was refused; None for one that was not.
    """

    said: Any = None
    dropped: frozenset[str] = frozenset()
    refused: Exception | None = None


def fates_of(wire: str, direction: str) -> Iterator[tuple[Field, dict[str, Fate]]]:
    """Each field of a wire whose place arrives somewhere, with its fate at each other wire.

    Args:
        wire: The protocol of the client for requests, of the upstream for answers and events.
        direction: A key of :data:`DIRECTIONS`.
    """
    arrived: defaultdict[str, set[str]] = defaultdict(set)
    arrived[""] = {*WIRES}
    served = getattr(WIRES[wire], direction).served
    for field in fields_of(wire, direction):
        if any(fnmatchcase(field.path, pattern.replace("[", "[[]")) for pattern in served):
            continue
        fates = {other: _fate(field, wire, other, direction) for other in WIRES if other in arrived[field.parent]}
        arrived[field.path] = {other for other, fate in fates.items() if fate is Fate.CARRIED}
        if fates:
            yield field, fates


def _fate(field: Field, wire: str, other: str, direction: str) -> Fate:
    without, *said = (_written(whole, wire, other, direction) for whole in (field.without, *field.wholes))
    fates = {_of_one(field, without, one) for one in said}
    return next(fate for fate in _ORDER if fate in fates)


def _of_one(field: Field, without: _Written, with_it: _Written) -> Fate:
    if isinstance(with_it.refused, RequestNotExpressibleError) and with_it.refused.where.startswith("messages["):
        return Fate.REFUSED  # with its place in the conversation
    if with_it.refused is not None:
        words = {*re.split(r"[.\[\]: ]+", field.path)} - _PLACES - {""}
        return Fate.REFUSED if any(word in str(with_it.refused) for word in words) else Fate.BROKEN
    is_named = with_it.dropped - without.dropped or any(_is_within(field.path, one) for one in with_it.dropped)
    if field.probe and field.probe in _opened(json.dumps(with_it.said)):
        name = re.split(r"[.\[\]]+", field.path.rstrip("]"))[-1]
        names = {*_names_of(with_it.said, field.probe)}
        is_text = name not in _TEXTS and names and names <= {"text", "content"}
        in_words = Fate.NAMED if is_named else Fate.TEXT
        return in_words if is_text else Fate.CARRIED
    if is_named:
        return Fate.NAMED
    if field.is_required:
        return Fate.SILENT if field.probe else Fate.CARRIED
    return Fate.CARRIED if with_it.said != without.said else Fate.SILENT


def _opened(text: str) -> str:
    """A text, and what is sealed in it: state that only we read again."""
    found = _SEALED.findall(text)
    return text + json.dumps([*map(decode_state, found), *(decode_state(_unpacked(one)) for one in found)])


def _unpacked(text: str) -> str:
    try:
        return b64decode(text, validate=True).decode("ascii", "replace")
    except ValueError:
        return ""


_SEALED: Final = re.compile(r"[A-Za-z0-9+/=_.:-]{24,}")
_PLACES: Final = frozenset(
    {"messages", "input", "contents", "content", "parts", "tools", "user", "system", "assistant", "model", "message"}
)
"""Words of a path that errors about something else have too."""
_TEXTS: Final = frozenset(
    {
        *("text", "content", "refusal", "thinking", "input", "output", "instructions", "system", "arguments"),
        *("response", "delta", "args", "stdout", "stderr", "code", "transcript"),
    }
)
"""Fields whose words are meant to be text."""


def _is_within(path: str, dropped: str) -> bool:
    """Whether a field is, or is below, something that was named, such as `content[].image_url.detail` or
    `tools[].web_search`."""
    name = dropped.replace("[]", "")
    forms = (re.sub(r"\[[^\]]*\]", "", path), re.sub(r"\[([^\]:]*)[^\]]*\]", r".\1", path))
    source = _OF_WRITERS.search(path)
    if source is not None and name.startswith(_OWN_WORDS):  # the writers' own words, for the fields of every wire
        word, place = (one.replace("_", "").replace("url", "uri").lower() for one in (name.partition(".")[2], path))
        return place.endswith(word) and name.startswith("logprobs") is ("ogprob" in source[0])
    return any(f".{name}." in f".{form}." for form in forms)


_OF_WRITERS: Final = re.compile(r"citation|annotation|grounding|[lL]ogprob")
_OWN_WORDS: Final = ("citation.", "logprobs")


def _names_of(value: Any, probe: str, name: str = "") -> Iterator[str]:
    """The names of the fields whose text has the probe."""
    if isinstance(value, dict):
        for one, inner in value.items():
            if probe in one:
                yield name
            yield from _names_of(inner, probe, one)
    elif isinstance(value, list):
        for inner in value:
            yield from _names_of(inner, probe, name)
    elif isinstance(value, str) and probe in value:
        yield name


# ---- from one wire to another ----


def _written(whole: Any, wire: str, other: str, direction: str) -> _Written:
    try:
        said, dropped = DIRECTIONS[direction](whole, wire, other)
    except (PartstreamError, LanguageModelError) as error:
        return _Written(refused=error)
    return _Written(json.loads(json.dumps(said)), frozenset(dropped))


def _request(body: Mapping[str, Any], client: str, upstream: str) -> tuple[Any, set[str]]:
    """What a server asks an upstream for a client, and what it names as dropped."""
    asked = read_question(PROTOCOLS[client], WireRequest(WIRES[client].path, body))
    said = {**asked.options.model_options, **asked.said_beside, ASKED_IN: client}
    options = replace(asked.options, model_options=said)
    factory = PROTOCOLS[upstream].write_request
    if factory is None:
        raise AssertionError(f"{upstream} writes no requests")
    writer, there = factory(), WIRES[upstream]
    rules = writer.conversation_rules(there.settings, there.model)
    prepared = prepare(Origin("census", there.model), asked.messages, options, there.settings, rules=rules)
    request = prepared.request(prepared.carries)
    notes = (*prepared.notes, *writer.notes(request))
    return writer.write(request).body, {*asked.dropped, *(name for note in notes for name in note.dropped)}


def _answer(document: Mapping[str, Any], upstream: str, client: str) -> tuple[Any, set[str]]:
    """The document that a client gets for an answer of an upstream."""
    outputs = read_document(PROTOCOLS[upstream], json.dumps(document).encode(), _EVERYTHING)
    asked = replace(_ASKED, stream=False)
    said = write_document(PROTOCOLS[client], asked, _whole(outputs), _REPLY)
    return (said, _remembered(outputs, client)), _lost(outputs, client, asked)


def _events(events: Sequence[Mapping[str, Any]], upstream: str, client: str) -> tuple[Any, set[str]]:
    """The events that a client gets for those of an upstream."""
    data = frame_answer(PROTOCOLS[upstream], map(dict, events))
    outputs = read_answer(PROTOCOLS[upstream], data, _EVERYTHING)
    said = write_answer(PROTOCOLS[client], _ASKED, _whole(outputs), _REPLY)
    return (said, _remembered(outputs, client)), _lost(outputs, client, _ASKED)


def _remembered(outputs: Sequence[StreamOutput], client: str) -> list[Any]:
    """The state of thinking that a server remembers for a client whose wire has no place for it."""
    writes = PROTOCOLS[client].write_response
    if writes is None or not writes().drops_thinking_state:
        return []
    return [one.metadata for one in outputs if isinstance(one, ThinkingPart) and one.metadata]


def _lost(outputs: Sequence[StreamOutput], client: str, asked: InboundRequest) -> set[str]:
    """What the reader of the upstream's wire and the writer of the client's name as left out."""
    writes = PROTOCOLS[client].write_response
    if writes is None:
        raise AssertionError(f"{client} writes no answers")
    writer = writes()(asked, _REPLY)
    for one in outputs:
        writer.write(one)
    unread = (one.dropped if isinstance(one, Finish) else () for one in outputs)
    unmapped = (one.type for one in outputs if isinstance(one, Unmapped))
    return {*writer.dropped, *unmapped, *(name for names in unread for name in names)}


def _whole(outputs: list[StreamOutput]) -> list[StreamOutput]:
    """The outputs of an answer that did not fail; an error is raised."""
    last = outputs[-1]
    if isinstance(last, Finish) and last.outcome in {Outcome.FAILED, Outcome.TRUNCATED} and last.error is not None:
        raise last.error
    return outputs


_ASKED: Final = InboundRequest(
    "model-1", (ChatMessage.user("Hi"),), RequestOptions(), body={"include": ["reasoning.encrypted_content"]}
)
_REPLY: Final = Reply("census", 0)
_EVERYTHING: Final = StreamOptions(citations=CitationMode.DATA, call_id_prefix="", files=FileMode.ADDRESS)

DIRECTIONS: Final[Mapping[str, Callable[[Any, str, str], tuple[Any, set[str]]]]] = {
    "request": _request,
    "answer": _answer,
    "event": _events,
}
"""What brings a whole of one wire into another: gives what was written there, and the names of what was dropped."""
