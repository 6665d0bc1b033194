"""The scenarios of parsers: streams cut or broken off anywhere, in the shapes of real servers, and recordings."""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from functools import partial
from typing import TYPE_CHECKING, Final, TypeAlias

from partstream.conformance.scenarios.judged import LIMA, OSLO
from partstream.conformance.scenarios.stream_shapes import STREAM_SHAPES, ShapeOutcome
from partstream.devtools.conformance.checks import BrokenPromise, NotJudged, Probe
from partstream.devtools.conformance.parsing import (
    ASPECTS,
    ParserProvider,
    Takes,
    answer_stream,
    differences,
    form_of,
    framed,
    judged,
    recorded_streams,
    told_of,
)
from partstream.devtools.conformance.scripts import USAGE, Say, ScriptedAnswer, Think
from partstream.protocols.protocol import PROTOCOLS

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Iterator, Mapping, Sequence
    from pathlib import Path

    from partstream.conformance.scenarios.stream_shapes import StreamShape
    from partstream.devtools.conformance.checks import ProbeFunction
    from partstream.devtools.conformance.parsing import Parser, ParserReport
    from partstream.lm.provider import LanguageModelChatInformation, LanguageModelChatProvider
    from partstream.protocols.protocol import Protocol

__all__ = ["parser_scenarios"]

_Ask: TypeAlias = "Callable[[Parser, Protocol], Awaitable[Mapping[str, list[BrokenPromise]]]]"

SAME_PARTS: Final = "parser.same-parts"
WHOLE_CALLS: Final = "parser.whole-calls"
SERVER_SHAPE: Final = "parser.server-shape"
RECORDED: Final = "parser.recorded-"

_ANSWER: Final = ScriptedAnswer((Think("I look it up."), Say("Grüße, 你好, 👋 from Oslo."), OSLO, LIMA))
_DATA: Final = re.compile(rb"^data: ", re.MULTILINE)
_MOST_CUTS: Final = 400
_MOST_NAMES: Final = 20


# ---- cut and broken off ----


async def _same_parts(parser: Parser, protocol: Protocol) -> Mapping[str, list[BrokenPromise]]:
    if parser.takes is Takes.BYTES:
        raise NotJudged("the parser takes all bytes at once")
    data = answer_stream(protocol, _ANSWER).data
    whole = await told_of(parser, [data])
    if whole.failed is not None:
        raise NotJudged(f"the parser fails at the stream in one piece: {whole.failed}")
    found = []
    for what, pieces in _cuts(data):
        told = await told_of(parser, pieces)
        if told != whole:
            found.append(BrokenPromise(f"{what}: {_difference(whole, told)}"))
    return {SAME_PARTS: found}


def _cuts(data: bytes) -> Iterator[tuple[str, list[bytes]]]:
    for size in (1, 3):
        yield f"in pieces of {size}", [data[start : start + size] for start in range(0, len(data), size)]
    for place in range(1, len(data), max(len(data) // _MOST_CUTS, 1)):
        around = data[max(place - 12, 0) : place], data[place : place + 12]
        yield f"cut between {around[0]!r} and {around[1]!r}", [data[:place], data[place:]]


def _difference(whole: ParserReport, other: ParserReport) -> str:
    for name in ("failed", "text", "thinking", "calls", "tokens"):
        one, two = getattr(whole, name), getattr(other, name)
        if one != two:
            return f"{name}: got {two!r}, in one piece {one!r}"[:300]
    return ""


async def _whole_calls(parser: Parser, protocol: Protocol) -> Mapping[str, list[BrokenPromise]]:
    data = answer_stream(protocol, _ANSWER).data
    wanted = [(call.name, dict(call.arguments)) for call in _ANSWER.calls]
    found = []
    for place in range(1, len(data), max(len(data) // _MOST_CUTS, 1)):
        told = await told_of(parser, [data[:place]])
        calls = [(name, arguments) for _, name, arguments in told.calls]
        half = [call for call in calls if call not in wanted]
        if half:
            found.append(
                BrokenPromise(f"broken off behind {data[max(place - 20, 0) : place]!r}, the call {half[0]} came")
            )
    return {WHOLE_CALLS: found}


# ---- the shapes of servers ----


def _carriage_returns(pieces: Sequence[bytes]) -> list[bytes]:
    return [piece.replace(b"\n", b"\r\n") for piece in pieces]


def _byte_order_mark(pieces: Sequence[bytes]) -> list[bytes]:
    return [b"\xef\xbb\xbf" + pieces[0], *pieces[1:]]


def _comments(pieces: Sequence[bytes]) -> list[bytes]:
    return [one for piece in pieces for one in (b": keep-alive\n\n", piece)]


def _no_blank(pieces: Sequence[bytes]) -> list[bytes]:
    return [_DATA.sub(b"data:", piece) for piece in pieces]


def _other_fields(pieces: Sequence[bytes]) -> list[bytes]:
    return [(b"id: 1\nretry: 3000\n" if piece.startswith((b"data:", b"event:")) else b"") + piece for piece in pieces]


@dataclass(frozen=True, slots=True)
class _Form:
    """A form of the bytes of any stream of server-sent events."""

    name: str
    title: str
    change: Callable[[Sequence[bytes]], list[bytes]]


_FORMS: Final = (
    _Form("carriage-returns", "Lines end with CR and LF", _carriage_returns),
    _Form("byte-order-mark", "A byte order mark stands before the first event", _byte_order_mark),
    _Form("comments", "Comments that keep the connection open come between all events", _comments),
    _Form("no-blank", "No blank follows `data:`", _no_blank),
    _Form("other-fields", "Events have the fields `id` and `retry`", _other_fields),
)
"""What the standard of server-sent events allows, and servers and proxies send."""

_SAID: Final = replace(_ANSWER, blocks=_ANSWER.blocks[1:])
"""The answer in these forms: without thinking, which some wires have no place for."""


_TOKENS: Final = (int(USAGE.input_tokens or 0), int(USAGE.output_tokens or 0))


async def _form(form: _Form, parser: Parser, protocol: Protocol) -> Mapping[str, list[BrokenPromise]]:
    pieces = form.change(answer_stream(protocol, _SAID).pieces)
    calls = tuple((call.name, dict(call.arguments)) for call in _SAID.calls)
    return await _shaped(parser, pieces, ShapeOutcome(_SAID.text, calls=calls, tokens=_TOKENS))


async def _shape(shape: StreamShape, parser: Parser, protocol: Protocol) -> Mapping[str, list[BrokenPromise]]:
    pieces = [one.data for one in framed(shape.events, form_of(protocol))]
    return await _shaped(parser, pieces, shape.outcome)


async def _shaped(parser: Parser, pieces: Sequence[bytes], outcome: ShapeOutcome) -> Mapping[str, list[BrokenPromise]]:
    wrong = differences(outcome, await told_of(parser, pieces))
    return {SERVER_SHAPE: [BrokenPromise(one) for one in wrong]}


# ---- recordings ----


async def _recordings(folder: Path, parser: Parser, protocol: Protocol) -> Mapping[str, list[BrokenPromise]]:
    wrong: dict[str, list[str]] = {name: [] for name in ASPECTS}
    streams = recorded_streams(folder, protocol)
    has_tokens = False
    for stream in streams:
        told = await told_of(parser, [stream.data])
        has_tokens = has_tokens or told.tokens is not None
        # A parser that raises for a failed stream has no place for the tokens of it.
        unread = ("tokens",) if told.failed is not None and told.tokens is None else ()
        for aspect, is_right in judged(stream.expected, told.to_json(), unread).items():
            if not is_right:
                wrong[aspect].append(f"{stream.name} ({told.failed})" if told.failed else stream.name)
    if not has_tokens:
        wrong["tokens"] = []
    return {f"{RECORDED}{name}": _named(name, names, len(streams)) for name, names in wrong.items()}


def _named(aspect: str, names: list[str], of: int) -> list[BrokenPromise]:
    if not names:
        return []
    more = f" and {len(names) - _MOST_NAMES} more" if len(names) > _MOST_NAMES else ""
    listed = ", ".join(names[:_MOST_NAMES]) + more
    return [BrokenPromise(f"{aspect} of {len(names)} of {of} recordings: {listed}")] * len(names)


# ---- the rows ----


def parser_scenarios(protocol_name: str | None = None, recordings: Path | None = None) -> dict[str, Probe]:
    """The scenarios of a parser, by slug.

    Args:
        protocol_name: The protocol that it reads; without one, the scenarios of all protocols.
        recordings: A folder of recorded streams, or None.
    """
    names = list(PROTOCOLS) if protocol_name is None else [protocol_name]
    rows = [
        _row("cut-anywhere", "The bytes of a stream, cut at every place", (SAME_PARTS,), _same_parts),
        _row("broken-off-anywhere", "A stream that ends at every place", (WHOLE_CALLS,), _whole_calls),
    ]
    for protocol in (PROTOCOLS[name] for name in names):
        if protocol.write_response is not None and protocol.write_response().content_type.startswith("text/event"):
            rows += [_row(f"shape-{one.name}", one.title, (SERVER_SHAPE,), partial(_form, one)) for one in _FORMS]
        shapes = STREAM_SHAPES.get(protocol.name, ())
        rows += [_row(f"shape-{one.name}", one.title, (SERVER_SHAPE,), partial(_shape, one)) for one in shapes]
    if recordings is not None:
        checks = tuple(f"{RECORDED}{name}" for name in ASPECTS)
        rows.append(_row("recordings", "Recorded streams", checks, partial(_recordings, recordings)))
    return {row.slug: row for row in rows}


def _row(slug: str, title: str, checks: tuple[str, ...], ask: _Ask) -> Probe:
    return Probe(slug, title, checks, _asking(ask), is_of_parsers=True)


def _asking(ask: _Ask) -> ProbeFunction:
    async def asked(
        provider: LanguageModelChatProvider, model: LanguageModelChatInformation, seconds: float
    ) -> Mapping[str, list[BrokenPromise]]:
        del model, seconds
        if not isinstance(provider, ParserProvider):
            raise NotJudged("needs a parser")
        parser = provider.parser
        return await ask(parser, PROTOCOLS[parser.protocol])

    return asked
