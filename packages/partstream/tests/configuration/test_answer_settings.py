"""What a person wants of answers holds from every place where it can be said, with every protocol."""

import asyncio
import logging
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, contextmanager
from pathlib import Path
from typing import Any

import pytest

from configuration.standing import PLACES, load_from
from partstream.errors import UpstreamHTTPError
from partstream.lm.messages import ChatMessage, RequestOptions
from partstream.lm.outputs import FileMode, Finish, StreamOptions
from partstream.lm.parts import DataPart, TextPart, ThinkingPart, ToolCallPart, ToolResultPart
from partstream.protocols.protocol import DEFAULT_PROTOCOL, asked_protocols
from partstream.settings.kinds import ConfigurationError
from partstream.settings.row import SettingSource
from partstream.upstream.configuration import GatewayConfiguration
from partstream.upstream.context import LevelFilter, LogLevel
from partstream.upstream.provider import GatewayProvider
from partstream_devtools.testing.upstream import ReplayUpstream
from upstream_settings import gateway_of
from upstreams.upstreams import ask, respond, run

every_place = pytest.mark.parametrize("place", PLACES, ids=str)
# A place is read before a protocol is known, so that each of both is tried with one of the other.
every_place_and_protocol = pytest.mark.parametrize(
    ("place", "protocol"),
    [*((place, DEFAULT_PROTOCOL) for place in PLACES)]
    + [(PLACES[0], protocol) for protocol in asked_protocols() if protocol != DEFAULT_PROTOCOL],
    ids=str,
)


@asynccontextmanager
async def asked(
    place: SettingSource,
    folder: Path,
    settings: dict[str, Any],
    protocol: str = "openresponses",
    **upstream_settings: Any,
) -> AsyncIterator[tuple[ReplayUpstream, GatewayProvider]]:
    """The replay upstream, and a provider whose settings stand in one place."""
    async with ReplayUpstream(**upstream_settings) as upstream:
        given = {"baseUrl": upstream.base_url_of(protocol), "protocol": protocol, "models": ["text"], **settings}
        provider = GatewayProvider(load_from(given, place, folder).gateway())
        try:
            yield upstream, provider
        finally:
            await provider.aclose()


# ---- maxOutputTokens ----

FIELDS = {
    "openresponses": ("max_output_tokens",),
    "ai-gateway": ("maxOutputTokens",),
    "chat-completions": ("max_tokens",),
    "anthropic-messages": ("max_tokens",),
    "gemini": ("generationConfig", "maxOutputTokens"),
    "gemini-interactions": ("generation_config", "max_output_tokens"),
    "ollama": ("options", "num_predict"),
    "ag-ui": ("forwardedProps", "maxOutputTokens"),
}
"""Where each protocol has the field, from the outside to the inside."""


def _limit(body: Any, protocol: str) -> Any:
    """The limit in a body; None where it has none."""
    for name in FIELDS[protocol]:
        body = None if body is None else body.get(name)
    return body


def _without_limit(protocol: str) -> Any:
    """A body of one's own that takes the limit out."""
    value = None
    for name in reversed(FIELDS[protocol]):
        value = {name: value}
    return value


SAID_UNASKED = {"anthropic-messages": 4096}
"""A wire that demands a number gets one that every model takes."""
SAID: dict[str, tuple[dict[str, Any], int | None]] = {
    "nowhere": ({}, None),
    "for every model": ({"maxOutputTokens": 700}, 700),
    "for one model": ({"models": [{"id": "text", "maxOutputTokens": 300}]}, 300),
    "for one model, and less for all": (
        {"maxOutputTokens": 100, "models": [{"id": "text", "maxOutputTokens": 300}]},
        300,
    ),
    "for another model": ({"maxOutputTokens": 700, "models": ["text", {"id": "other", "maxOutputTokens": 300}]}, 700),
}


@every_place_and_protocol
@pytest.mark.parametrize(("settings", "sent"), SAID.values(), ids=SAID)
def test_the_longest_answer_is_sent_in_the_field_of_the_protocol(
    place: SettingSource, protocol: str, settings: dict[str, Any], sent: int | None, tmp_path: Path
):
    async def test() -> None:
        async with asked(place, tmp_path, settings, protocol) as (upstream, provider):
            assert (await ask(provider, "Hi")).error is None
            assert _limit(upstream.requests[-1].body, protocol) == (sent or SAID_UNASKED.get(protocol))

    run(test())


@pytest.mark.parametrize("protocol", asked_protocols())
def test_what_is_chosen_for_one_request_wins_and_a_body_of_ones_own_over_that(protocol: str, tmp_path: Path):
    async def test() -> None:
        options = RequestOptions(model_options={"max_tokens": 5})
        async with asked(SettingSource.GROUP, tmp_path, {"maxOutputTokens": 700}, protocol) as (upstream, provider):
            await ask(provider, "Hi", options=options)
            assert _limit(upstream.requests[-1].body, protocol) == 5
        settings = {"maxOutputTokens": 700, "request": {"extraBody": _without_limit(protocol)}}
        async with asked(SettingSource.GROUP, tmp_path, settings, protocol) as (upstream, provider):
            await ask(provider, "Hi", options=options)
            assert _limit(upstream.requests[-1].body, protocol) is None

    run(test())


# ---- thinking, citations, callIdPrefix ----


THOUGHTFUL = RequestOptions(model_configuration={"reasoningEffort": "low"})
"""On some wires, a model of which nothing is known thinks on demand alone."""
ANSWER = "Six times seven is **42**."
QUOTE = "> **Working it out**\n>\n> Six times seven is the same as six times five plus six times two: 30 + 12."


@every_place_and_protocol
@pytest.mark.parametrize(
    ("settings", "text", "has_part"),
    [
        ({}, ANSWER, True),
        ({"thinking": "part"}, ANSWER, True),
        ({"thinking": "text"}, f"{QUOTE}\n\n{ANSWER}", False),
        ({"thinking": "off"}, ANSWER, False),
    ],
)
def test_thinking_is_shown_as_it_is_wanted(
    place: SettingSource, protocol: str, settings: dict[str, Any], text: str, has_part: bool, tmp_path: Path
):
    async def test() -> None:
        async with asked(place, tmp_path, settings, protocol) as (_, provider):
            answer = await ask(provider, "Hi", model_id="thinking", options=THOUGHTFUL)
            assert answer.text == text
            assert any(isinstance(part, ThinkingPart) for part in answer.parts) is has_part

    run(test())


SKYTREE = " The Tokyo Skytree is higher: 634 metres."


@every_place
@pytest.mark.parametrize(
    ("citations", "links", "behind", "data"),
    [("inline", 2, 1, 0), ("data", 0, 0, 2), ("end", 2, 2, 0), ("off", 0, 0, 0), (None, 2, 1, 0)],
)
def test_citations_are_shown_as_they_are_wanted(
    place: SettingSource, citations: str | None, links: int, behind: int, data: int, tmp_path: Path
):
    async def test() -> None:
        settings = {} if citations is None else {"citations": citations}
        async with asked(place, tmp_path, settings) as (_, provider):
            answer = await ask(provider, "Hi", model_id="citations")
            assert answer.text.count("](https://example.com/") == links
            assert answer.text.partition(SKYTREE)[2].count("](https://") == behind
            told = [part for part in answer.parts if isinstance(part, DataPart) and "citation" in part.mime_type]
            assert len(told) == data

    run(test())


@every_place
@pytest.mark.parametrize(
    ("prefix", "settings"), [("", {"callIdPrefix": ""}), ("my-", {"callIdPrefix": "my-"}), ("gw-", {})]
)
def test_calls_have_the_prefix_that_is_wanted_and_lose_it_on_the_way_back(
    place: SettingSource, prefix: str, settings: dict[str, Any], tmp_path: Path
):
    async def test() -> None:
        async with asked(place, tmp_path, settings) as (upstream, provider):
            first = await ask(provider, "Hi", model_id="tools")
            calls = [part for part in first.parts if isinstance(part, ToolCallPart)]
            assert all(call.call_id.startswith(prefix) for call in calls)
            history = [ChatMessage.user("Hi"), ChatMessage.assistant(calls)]
            history.append(ChatMessage.user([ToolResultPart(call.call_id, [TextPart("sunny")]) for call in calls]))
            await ask(provider, history, model_id="tools")
            sent = [item["call_id"] for item in upstream.requests[-1].body["input"] if "call_id" in item]
            assert set(sent) == {call.call_id.removeprefix(prefix) for call in calls}

    run(test())


# ---- files ----


@every_place
@pytest.mark.parametrize("files", [*FileMode, None])
def test_files_by_address_become_what_is_wanted(place: SettingSource, files: FileMode | None, tmp_path: Path):
    given = {"baseUrl": "https://models.example/v1", **({} if files is None else {"files": str(files)})}
    assert load_from(given, place, tmp_path).gateway().stream.files is (files or FileMode.LINK)


# ---- errors ----


@every_place_and_protocol
def test_an_error_is_said_in_the_answer_where_a_person_wants_that(place: SettingSource, protocol: str, tmp_path: Path):
    async def test() -> None:
        for settings in ({}, {"errors": "reject"}):
            async with asked(place, tmp_path, settings, protocol) as (_, provider):
                rejected = await ask(provider, "fault:status=400")
                assert (rejected.text, type(rejected.error)) == ("", UpstreamHTTPError)
        async with asked(place, tmp_path, {"errors": "text"}, protocol) as (_, provider):
            answer = await ask(provider, "fault:status=400")
            assert (answer.text, answer.error) == (f"**Error:** {rejected.error}", None)
            broken = await ask(provider, "Hi", model_id="failed")
            said = "This answer begins well, and then\n\n**Error:** "
            assert broken.text.startswith(said)
            assert "The model broke while it was answering." in broken.text
            assert broken.error is None

    run(test())


class Ends:
    """A progress that hears how an answer ends."""

    def __init__(self) -> None:
        self.told: list[object] = []

    def report(self, part: object) -> None:
        self.told.append(part)

    def finish(self, finish: Finish) -> None:
        self.told.append(finish)


def test_what_asks_for_the_end_is_told_the_error_behind_its_text(tmp_path: Path):
    async def test() -> None:
        async with asked(SettingSource.GROUP, tmp_path, {"errors": "text"}) as (_, provider):
            progress = Ends()
            await respond(provider, "fault:status=400", progress)
            text, finish = progress.told
            assert isinstance(finish, Finish)
            assert isinstance(finish.error, UpstreamHTTPError)
            assert text == TextPart(f"**Error:** {finish.error.message}")

    run(test())


# ---- logLevel ----

WRITTEN = {
    None: {"INFO", "WARNING"},
    "debug": {"DEBUG", "INFO", "WARNING"},
    "info": {"INFO", "WARNING"},
    "warning": {"WARNING"},
    "error": set(),
}


@contextmanager
def written() -> Iterator[list[logging.LogRecord]]:
    """What a handler writes that lets the upstreams say how much."""
    records: list[logging.LogRecord] = []

    class Handler(logging.Handler):
        def emit(self, record: logging.LogRecord) -> None:
            records.append(record)

    handler, logger = Handler(), logging.getLogger("partstream")
    handler.addFilter(LevelFilter(LogLevel.INFO))
    before = logger.level
    logger.addHandler(handler)
    logger.setLevel(logging.DEBUG)
    try:
        yield records
    finally:
        logger.removeHandler(handler)
        logger.setLevel(before)


@every_place
@pytest.mark.parametrize(("level", "expected"), WRITTEN.items())
def test_as_much_is_logged_of_an_upstream_as_a_person_wants(
    place: SettingSource, level: str | None, expected: set[str], tmp_path: Path
):
    async def test() -> None:
        settings = {"retry": {"attempts": 2, "firstWait": 0.01}} | ({} if level is None else {"logLevel": level})
        async with asked(place, tmp_path, settings, fault="status=500") as (_, provider):
            await ask(provider, "Hi")

    with written() as records:
        run(test())
    assert {record.levelname for record in records} == expected


def test_two_upstreams_in_one_log_are_each_logged_as_wanted(tmp_path: Path):
    async def test() -> None:
        quiet, loud = tmp_path / "quiet", tmp_path / "loud"
        quiet.mkdir()
        loud.mkdir()
        async with (
            asked(SettingSource.FILE, quiet, {"logLevel": "error"}) as (_, one),
            asked(SettingSource.FILE, loud, {"logLevel": "debug"}, "ai-gateway") as (_, other),
        ):
            await asyncio.gather(ask(one, "Hi"), ask(other, "Hi"), ask(one, "Hi"), ask(other, "Hi"))

    with written() as records:
        run(test())
    paths = {record.getMessage().split(":")[0] for record in records if record.levelno == logging.DEBUG}
    assert len(paths) == 1
    assert "/language-model" in paths.pop()


def test_no_prefix_that_a_server_may_refuse():
    with pytest.raises(ConfigurationError, match="callIdPrefix"):
        GatewayConfiguration("https://host/v1", stream=StreamOptions(call_id_prefix="a b"))
    with pytest.raises(ConfigurationError, match="expected one of part, text, off"):
        gateway_of({"baseUrl": "https://host/v1", "thinking": "loud"})


def test_no_longest_answer_of_nothing():
    with pytest.raises(ConfigurationError, match="maxOutputTokens: got 0, expected a whole number from 1"):
        GatewayConfiguration("https://host/v1", max_output_tokens=0)
