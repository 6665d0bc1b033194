"""The fixed scenarios: few conversations, many checks each, in the order of reports.

A scenario scripts what the model says, lists what the consumer does, and names the requirements that its transcript is
judged by. Whole answers come first, then tools, failures and cancellation, then the probes, which ask a provider for
its models and its token counts. A target that plays no script is asked by a directive in the prompt; `provoked` then
says whether its answer shows what the scenario is about.

The conversations are the rows of `scenarios.json`, with the names of the fields of :class:`Scenario`; what is as usual
is left out. `answers` is the script as transcripts hold it, where a block `words` is a text of so many words;
`tools` names tools of the file, `checks` requirements or groups of them; `history` and `images` ask for those of this
module; `provoked` is what the answers must have and how much of it, such as `calls 2`.

A parser has scenarios of its own: the bytes of one stream cut at every place, broken off at every place, in each form
that the standard of server-sent events allows, in the shapes of real servers, and as recorded.
"""

from __future__ import annotations
import asyncio
import json
import re
from collections.abc import Awaitable, Callable, Iterable, Iterator, Mapping, Sequence
from functools import partial
from importlib.resources import files
from pathlib import Path
from types import MappingProxyType
from typing import Any, Final, TypeAlias

from partstream.codec.checks import replace
from partstream.errors import CallerError
from partstream.lm.cancellation import CancellationToken, CancellationTokenSource
from partstream.lm.messages import ChatMessage, Tool
from partstream.lm.parts import TextPart, ThinkingPart, ToolCallPart, ToolResultPart
from partstream.lm.provider import LanguageModelChatInformation, LanguageModelChatProvider
from partstream.protocols.protocol import PROTOCOLS, Protocol
from partstream_devtools.conformance import parsing
from partstream_devtools.conformance.checks import ANY_WAY, REQUIREMENTS, Breach, NotJudged, Probe, Scenario
from partstream_devtools.conformance.driver import Provocation, Request
from partstream_devtools.conformance.scripts import PIXEL, USAGE, Call, Say, Script, ScriptedAnswer, Think, read_actions
from partstream_devtools.conformance.transcript import Answer

# ---- Conversations ----

_FILE: Final[Mapping[str, Any]] = json.loads((files(__package__) / "scenarios.json").read_bytes())
_TOOLS: Final = {name: Tool(name, row["description"], row["schema"]) for name, row in _FILE["tools"].items()}

TOOLS: Final = (_TOOLS["get_weather"], _TOOLS["get_time"])
"""The tools of the kit's requests."""

_HISTORY: Final = (
    ChatMessage.user("What is the price of tea?"),
    ChatMessage.assistant([TextPart("I look it up."), ToolCallPart("old_1", "removed_tool", {"of": "tea"})]),
    ChatMessage.user([ToolResultPart("old_1", [TextPart("Tea costs seventeen.")])]),
    ChatMessage.assistant("Tea costs seventeen."),
)
"""A conversation with a call of a tool that no request has."""


def _lacking(wanted: str, answers: list[Answer]) -> str:
    """What the answers lack of what a scenario wants provoked, such as `calls 2`; empty if they have so many of it."""
    name, _, said = wanted.partition(" ")
    count = int(said or 1)
    thoughts = [part for answer in answers for part in answer.parts if isinstance(part, ThinkingPart)]
    calls = [len(answer.calls) for answer in answers]
    most, rounds = max(calls, default=0), sum(map(bool, calls))
    found, missing = {
        "": (count, ""),
        "parts": (any(answer.parts_before_cancel for answer in answers), "nothing came before it was cancelled"),
        "text": (any(answer.text for answer in answers), "no text came"),
        "thinking": (bool(thoughts), "the model did not think"),
        "calls": (most, f"the model made {most} calls in one answer, expected {count}"),
        "rounds": (rounds, f"the model called a tool in {rounds} answers, expected {count}"),
    }[name]
    return "" if found >= count else missing


def _checks_of(names: Iterable[str]) -> Iterator[str]:
    for name in names:
        if name in _FILE["groups"]:
            yield from _checks_of(_FILE["groups"][name])
        else:
            yield name


def _block(value: Mapping[str, Any]) -> Mapping[str, Any]:
    """A block of a script, whose text is made where the file counts its words alone."""
    words = "".join(f"word{number} " for number in range(value.get("words", 0)))
    return {"say": f"{words}and the end."} if words else value


def _scenario(row: Mapping[str, Any]) -> Scenario:
    answers = [{**answer, "blocks": [*map(_block, answer["blocks"])]} for answer in row["answers"]]
    return Scenario(
        row["slug"],
        row["title"],
        Script.from_json({"answers": answers}),
        Request(
            row["prompt"],
            history=_HISTORY if row.get("history") else (),
            tools=tuple(_TOOLS[name] for name in row.get("tools", ())),
            images=(PIXEL,) if row.get("images") else (),
        ),
        tuple(_checks_of(row["checks"])),
        actions=read_actions(*row.get("actions", ("send",))),
        needs=frozenset(row.get("needs", ())),
        ways=frozenset(map(Provocation, row["ways"])) if "ways" in row else ANY_WAY,
        directive=row.get("directive", ""),
        provoked=partial(_lacking, row.get("provoked", "")),
        copies=row.get("copies", 1),
        asks_upstream=row.get("asks_upstream", True),
    )


CONVERSATIONS: Final = tuple(map(_scenario, _FILE["scenarios"]))
"""The scenarios with a conversation."""


# ---- Probes ----

_BOUND: Final = 4
"""The tokens that a longer text may have fewer: tokens join over the seam."""
_ODD_TEXTS: Final = ("", "Hello", "Grüße, 你好, 👋", "\ud800", "a" * 10_000, "\x00\n\t", "<|endoftext|>")


async def list_models(
    provider: LanguageModelChatProvider, _: LanguageModelChatInformation, seconds: float
) -> Mapping[str, list[Breach]]:
    """Lists the models twice, then with a cancelled token, and listens to the event of changes meanwhile."""
    changes: list[object] = []
    event = provider.on_did_change_language_model_chat_information
    subscription = None if event is None else event(changes.append)
    findings: dict[str, list[Breach]] = {
        name: [] for name in ("models.listed", "models.same-twice", "models.cancelled", "models.no-change-event")
    }
    try:
        first, wrong = await _listed(provider, seconds)
        findings["models.listed"] += wrong
        again, _failed = await _listed(provider, seconds)
        if [one.id for one in first] != [one.id for one in again]:
            findings["models.same-twice"].append(Breach(f"first {_ids(first)}, then {_ids(again)}"))
        if changes:
            findings["models.no-change-event"].append(Breach(f"the event fired {len(changes)} times"))
        findings["models.cancelled"] += await _cancelled(provider, seconds)
    finally:
        if subscription is not None:
            subscription.dispose()
    return findings


async def _listed(
    provider: LanguageModelChatProvider, seconds: float
) -> tuple[list[LanguageModelChatInformation], list[Breach]]:
    try:
        async with asyncio.timeout(seconds):
            models = list(await provider.provide_language_model_chat_information(True, CancellationToken()))
    except TimeoutError:
        return [], [Breach(f"no list within {seconds:g} seconds", is_environment=True)]
    except (Exception, SystemExit) as error:
        return [], [Breach(f"listing the models failed with {error!r}")]
    ids = [one.id for one in models]
    twice = sorted({one for one in ids if ids.count(one) > 1})
    return models, [Breach(f"the id {one!r} is in the list {ids.count(one)} times") for one in twice]


async def _cancelled(provider: LanguageModelChatProvider, seconds: float) -> list[Breach]:
    source = CancellationTokenSource()
    source.cancel()
    try:
        async with asyncio.timeout(seconds):
            await provider.provide_language_model_chat_information(True, source.token)
    except TimeoutError:
        return [Breach(f"a cancelled list did not end within {seconds:g} seconds")]
    except SystemExit as error:
        return [Breach(f"a cancelled list ended with {error!r}")]
    except Exception:
        return []  # a cancelled list may fail: it has no reader
    return []


def _ids(models: list[LanguageModelChatInformation]) -> str:
    return ", ".join(one.id for one in models[:5]) or "none"


async def count_tokens(
    provider: LanguageModelChatProvider, model: LanguageModelChatInformation, seconds: float
) -> Mapping[str, list[Breach]]:
    """Counts the tokens of texts and of a message, and of growing texts."""
    findings: dict[str, list[Breach]] = {"tokens.count": [], "tokens.monotone": []}
    try:
        async with asyncio.timeout(seconds):
            for text in (*_ODD_TEXTS, ChatMessage.user("Hello")):
                _, problem = await _counted(provider, model, text)
                if problem:
                    findings["tokens.count"].append(Breach(problem))
            words = "The quick brown fox jumps over the lazy dog. "
            before = 0
            for times in range(1, 6):
                count, problem = await _counted(provider, model, words * times)
                if not problem and count < before - _BOUND:
                    what = f"{times} sentences have {count} tokens, {times - 1} have {before}"
                    findings["tokens.monotone"].append(Breach(what))
                before = count
    except TimeoutError:
        findings["tokens.count"].append(Breach(f"no counts within {seconds:g} seconds", is_environment=True))
    return findings


async def _counted(
    provider: LanguageModelChatProvider, model: LanguageModelChatInformation, text: str | ChatMessage
) -> tuple[int, str]:
    shown = repr(text)[:30]
    try:
        count: Any = await provider.provide_token_count(model, text, CancellationToken())
    except (Exception, SystemExit) as error:
        return 0, f"counting {shown} failed with {error!r}"
    if isinstance(count, bool) or not isinstance(count, int) or count < 0:
        return 0, f"counting {shown} gave {count!r}"
    return count, ""


# ---- All scenarios ----

_PROBES: Final = (
    Probe(
        "model-list",
        "The list of models: silently, twice, and cancelled",
        ("models.listed", "models.same-twice", "models.cancelled", "models.no-change-event"),
        list_models,
    ),
    Probe("token-count", "Token counts of any text", ("tokens.count", "tokens.monotone"), count_tokens),
)

SCENARIOS: Final[Mapping[str, Scenario | Probe]] = MappingProxyType(
    {one.slug: one for one in CONVERSATIONS} | {one.slug: one for one in _PROBES}
)
"""Every scenario by its slug."""


def any_script() -> Script:
    """A script for a target that needs one, whatever it is asked."""
    return CONVERSATIONS[0].script


# ---- Parsers ----

_Ask: TypeAlias = "Callable[[parsing.Parser, Protocol], Awaitable[Mapping[str, list[Breach]]]]"

SAME_PARTS: Final = "parser.same-parts"
WHOLE_CALLS: Final = "parser.whole-calls"
SERVER_SHAPE: Final = "parser.server-shape"
RECORDED: Final = "parser.recorded-"

_CALLS: Final = (Call("get_weather", {"city": "Oslo"}), Call("get_time", {"city": "Lima"}))
_ANSWER: Final = ScriptedAnswer((Think("I look it up."), Say("Grüße, 你好, 👋 from Oslo."), *_CALLS))
_DATA: Final = re.compile(rb"^data: ", re.MULTILINE)
_MORE_FIELDS: Final = b"id: 1\nretry: 3000\n"
_MOST_CUTS: Final = 400
_MOST_NAMES: Final = 20


async def _same_parts(parser: parsing.Parser, protocol: Protocol) -> Mapping[str, list[Breach]]:
    if parser.takes is parsing.Takes.BYTES:
        raise NotJudged("the parser takes all bytes at once")
    data = b"".join(parsing.answer_stream(protocol, _ANSWER)[0])
    whole = await parsing.told_of(parser, [data])
    if whole.failed is not None:
        raise NotJudged(f"the parser fails at the stream in one piece: {whole.failed}")
    found = []
    for what, pieces in _cuts(data):
        told = await parsing.told_of(parser, pieces)
        for name in ("failed", "text", "thinking", "calls", "tokens"):
            got, wanted = getattr(told, name), getattr(whole, name)
            if got != wanted:
                found.append(Breach(f"{what}: {f'{name}: got {got!r}, in one piece {wanted!r}'[:300]}"))
                break
    return {SAME_PARTS: found}


def _cuts(data: bytes) -> Iterator[tuple[str, list[bytes]]]:
    for size in (1, 3):
        yield f"in pieces of {size}", [data[start : start + size] for start in range(0, len(data), size)]
    for place in range(1, len(data), max(len(data) // _MOST_CUTS, 1)):
        around = data[max(place - 12, 0) : place], data[place : place + 12]
        yield f"cut between {around[0]!r} and {around[1]!r}", [data[:place], data[place:]]


async def _whole_calls(parser: parsing.Parser, protocol: Protocol) -> Mapping[str, list[Breach]]:
    data = b"".join(parsing.answer_stream(protocol, _ANSWER)[0])
    wanted = [(call.name, dict(call.arguments)) for call in _ANSWER.calls]
    found = []
    for place in range(1, len(data), max(len(data) // _MOST_CUTS, 1)):
        told = await parsing.told_of(parser, [data[:place]])
        calls = [(name, arguments) for _, name, arguments in told.calls]
        half = [call for call in calls if call not in wanted]
        if half:
            found.append(Breach(f"broken off after {data[max(place - 20, 0) : place]!r}, the call {half[0]} came"))
    return {WHOLE_CALLS: found}


# ---- Parsers: the forms of the bytes ----


_Change: TypeAlias = "Callable[[Sequence[bytes]], list[bytes]]"

_FORMS: Final[tuple[tuple[str, str, _Change], ...]] = (
    (
        "carriage-returns",
        "Lines end with CR and LF",
        lambda pieces: [piece.replace(b"\n", b"\r\n") for piece in pieces],
    ),
    (
        "byte-order-mark",
        "A byte order mark precedes the first event",
        lambda pieces: [b"\xef\xbb\xbf" + pieces[0], *pieces[1:]],
    ),
    (
        "comments",
        "Comments that keep the connection open come between all events",
        lambda pieces: [one for piece in pieces for one in (b": keep-alive\n\n", piece)],
    ),
    ("no-blank", "No blank follows `data:`", lambda pieces: [_DATA.sub(b"data:", piece) for piece in pieces]),
    (
        "other-fields",
        "Events have the fields `id` and `retry`",
        lambda pieces: [_MORE_FIELDS * piece.startswith((b"data:", b"event:")) + piece for piece in pieces],
    ),
)
"""Forms of the bytes of any stream that the standard of server-sent events allows, and servers and proxies send."""

_SAID: Final = replace(_ANSWER, blocks=_ANSWER.blocks[1:])
"""The answer in these forms: without thinking, which some wires have no place for."""

_TOKENS: Final = (int(USAGE.input_tokens or 0), int(USAGE.output_tokens or 0))


async def _form(change: _Change, parser: parsing.Parser, protocol: Protocol) -> Mapping[str, list[Breach]]:
    pieces = change(parsing.answer_stream(protocol, _SAID)[0])
    calls = tuple((call.name, dict(call.arguments)) for call in _SAID.calls)
    return await _shaped(parser, pieces, parsing.ShapeOutcome(_SAID.text, calls=calls, tokens=_TOKENS))


async def _shape(shape: parsing.StreamShape, parser: parsing.Parser, protocol: Protocol) -> Mapping[str, list[Breach]]:
    pieces = [one.data for one in parsing.framed(shape.events, parsing.form_of(protocol))]
    return await _shaped(parser, pieces, shape.outcome)


async def _shaped(
    parser: parsing.Parser, pieces: Sequence[bytes], outcome: parsing.ShapeOutcome
) -> Mapping[str, list[Breach]]:
    wrong = parsing.differences(outcome, await parsing.told_of(parser, pieces))
    return {SERVER_SHAPE: [Breach(one) for one in wrong]}


# ---- Parsers: recordings ----


async def _recordings(folder: Path, parser: parsing.Parser, protocol: Protocol) -> Mapping[str, list[Breach]]:
    wrong: dict[str, list[str]] = {name: [] for name in parsing.ASPECTS}
    streams = parsing.recorded_streams(folder, protocol)
    has_tokens = False
    for stream in streams:
        told = await parsing.told_of(parser, [stream.data])
        has_tokens = has_tokens or told.tokens is not None
        # A parser that raises for a failed stream has no place for the tokens of it.
        unread = ("tokens",) if told.failed is not None and told.tokens is None else ()
        for aspect, is_right in parsing.judged(stream.expected, told.to_json(), unread).items():
            if not is_right:
                wrong[aspect].append(f"{stream.name} ({told.failed})" if told.failed else stream.name)
    if not has_tokens:
        wrong["tokens"] = []
    return {f"{RECORDED}{name}": _named(name, names, len(streams)) for name, names in wrong.items()}


def _named(aspect: str, names: list[str], of: int) -> list[Breach]:
    if not names:
        return []
    more = f" and {len(names) - _MOST_NAMES} more" if len(names) > _MOST_NAMES else ""
    listed = ", ".join(names[:_MOST_NAMES]) + more
    return [Breach(f"{aspect} of {len(names)} of {of} recordings: {listed}")] * len(names)


def parser_scenarios(protocol_name: str | None = None, recordings: Path | None = None) -> dict[str, Probe]:
    """The scenarios of a parser of a protocol (None for all), by slug; with a folder, also its recorded streams."""
    names = list(PROTOCOLS) if protocol_name is None else [protocol_name]
    rows = [
        _row("cut-anywhere", "The bytes of a stream, cut at every place", (SAME_PARTS,), _same_parts),
        _row("broken-off-anywhere", "A stream that ends at every place", (WHOLE_CALLS,), _whole_calls),
    ]
    for protocol in (PROTOCOLS[name] for name in names):
        if protocol.write_response is not None and protocol.write_response().content_type.startswith("text/event"):
            rows += [
                _row(f"shape-{name}", title, (SERVER_SHAPE,), partial(_form, change)) for name, title, change in _FORMS
            ]
        shapes = parsing.stream_shapes(protocol.name)
        rows += [_row(f"shape-{one.name}", one.title, (SERVER_SHAPE,), partial(_shape, one)) for one in shapes]
    if recordings is not None:
        checks = tuple(f"{RECORDED}{name}" for name in parsing.ASPECTS)
        rows.append(_row("recordings", "Recorded streams", checks, partial(_recordings, recordings)))
    return {row.slug: row for row in rows}


def _row(slug: str, title: str, checks: tuple[str, ...], ask: _Ask) -> Probe:
    async def asked(
        provider: LanguageModelChatProvider, model: LanguageModelChatInformation, seconds: float
    ) -> Mapping[str, list[Breach]]:
        del model, seconds
        if not isinstance(provider, parsing.ParserProvider):
            raise NotJudged("needs a parser")
        return await ask(provider.parser, PROTOCOLS[provider.parser.protocol])

    return Probe(slug, title, checks, asked, is_of_parsers=True)


# ---- Selection ----


def check_ids(rows: Mapping[str, Scenario | Probe] = SCENARIOS) -> dict[str, tuple[str, ...]]:
    """The ids of all checks, by scenario, in the order of reports."""
    return {slug: tuple(f"{one}/{slug}" for one in dict.fromkeys(row.checks)) for slug, row in rows.items()}


def rows_of(target: object) -> Mapping[str, Scenario | Probe]:
    """The scenarios of a target: those of all targets, and its own."""
    own: Mapping[str, Scenario | Probe] = getattr(target, "scenarios", {})
    return {**SCENARIOS, **own}


def all_rows(protocol: str | None = None) -> Mapping[str, Scenario | Probe]:
    """The scenarios of all targets, and those of parsers of a protocol (None for all)."""
    return {**SCENARIOS, **parser_scenarios(protocol, Path())}


def selected(
    select: Iterable[str] = (), section: str | None = None, rows: Mapping[str, Scenario | Probe] = SCENARIOS
) -> dict[str, tuple[str, ...]]:
    """The ids of the checks that a selection names, by scenario; scenarios without one are left out.

    A selection has prefixes of the ids of checks, or of the slugs of scenarios (`/text` is the scenario `text` alone),
    or a section of the document, such as `3` or `3.2`; without any, it names all.

    Raises:
        CallerError: Nothing fits.
    """
    prefixes = tuple(select)
    chosen = {
        slug: tuple(one for one in ids if _is_chosen(one, slug, prefixes, section))
        for slug, ids in check_ids(rows).items()
    }
    found = {slug: ids for slug, ids in chosen.items() if ids}
    if not found:
        asked = " ".join([*prefixes, *([f"--section {section}"] if section else [])])
        raise CallerError(f"{asked}: fits no check; `partstream conformance --list` names them all")
    return found


def _is_chosen(check_id: str, slug: str, prefixes: tuple[str, ...], section: str | None) -> bool:
    own = REQUIREMENTS[check_id.partition("/")[0]].section
    is_named = not prefixes or check_id.startswith(prefixes) or slug.startswith(prefixes) or f"/{slug}" in prefixes
    return is_named and (section is None or own == section or own.startswith(f"{section}."))
