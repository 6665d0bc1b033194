"""The commands over the wires of Anthropic, Gemini and Ollama, named and found out, against the replay upstream."""

import json
from collections.abc import Iterator
from pathlib import Path
from urllib.parse import urlsplit

import pytest

from commands import call, run
from partstream.protocols.protocol import PROTOCOLS
from partstream_devtools.testing.admission import BASE_PATHS
from partstream_devtools.testing.scripted_model import SCENARIOS
from partstream_devtools.testing.upstream import ReplayUpstream
from questions import questions

HELLO = "Hello from Partstream! Grüße, 你好, 👋: this answer came over real HTTP, one word at a time."
KEY = "sesame-0123456789"
WIRES = [name for name in ("anthropic-messages", "gemini", "ollama") if name in BASE_PATHS]
every_wire = pytest.mark.parametrize("protocol", WIRES)


def _addresses() -> Iterator[tuple[str, str]]:
    """What a person may give for each wire, as a path."""
    for protocol, paths in {
        "anthropic-messages": ("/v1", "", "/v1/messages"),
        "gemini": ("/v1beta", "", "/v1beta/models/any:generateContent"),
        "ollama": ("/api", "", "/v1", "/api/chat"),
    }.items():
        yield from ((protocol, path) for path in paths if protocol in WIRES)


def _origin(upstream: ReplayUpstream) -> str:
    address = urlsplit(upstream.base_url)
    return f"{address.scheme}://{address.netloc}"


@pytest.mark.parametrize(("protocol", "path"), [*_addresses()])
def test_a_chat_finds_out_the_wire_from_every_address_that_a_person_may_give(protocol: str, path: str):
    async def test() -> None:
        async with ReplayUpstream(protocols={protocol}) as upstream:
            chat = await call("chat", "--base-url", _origin(upstream) + path, "--model", "text", "Hi")
            assert (chat.code, chat.output) == (0, f"{HELLO}\n"), chat.errors
            (request,) = questions(upstream)
            assert request.path.startswith(BASE_PATHS[protocol] + "/")
            assert len(upstream.requests) <= 16

    run(test())


@every_wire
def test_a_chat_with_tools_thinks_and_counts(protocol: str):
    async def test() -> None:
        async with ReplayUpstream(protocols={protocol}) as upstream:
            base_url = upstream.base_url_of(protocol)
            chat = await call("chat", "--base-url", base_url, "--protocol", protocol, "--model", "thinking", "Hi")
            assert chat.code == 0, chat.errors
            assert "42" in chat.output
            assert "── tokens " in chat.errors

    run(test())


@every_wire
def test_the_models_are_listed_with_their_limits(protocol: str):
    async def test() -> None:
        async with ReplayUpstream(protocols={protocol}) as upstream:
            base_url = upstream.base_url_of(protocol)
            models = await call("models", "--base-url", base_url, "--protocol", protocol, "--json")
            assert models.code == 0, models.errors
            listed = [json.loads(line) for line in models.output.splitlines()]
            flat = [one for item in listed for one in (item if isinstance(item, list) else [item])]
            assert {one["id"] for one in flat} == set(SCENARIOS)
            assert all(one["maxInputTokens"]["value"] for one in flat)

    run(test())


@every_wire
def test_the_doctor_finds_nothing_wrong(protocol: str, tmp_path: Path):
    async def test() -> None:
        async with ReplayUpstream(protocols={protocol}, token=KEY) as upstream:
            nowhere = {"XDG_CONFIG_HOME": str(tmp_path), "APPDATA": str(tmp_path), "HOME": str(tmp_path)}
            options = ("--json", "--base-url", upstream.base_url_of(protocol), "--protocol", protocol)
            doctor = await call("doctor", *options, PARTSTREAM_API_KEY=KEY, **nowhere)
            findings = {one["subject"]: one for one in json.loads(doctor.output)}
            assert doctor.code == 0, doctor.output
            assert f"it speaks {PROTOCOLS[protocol].shown_title}" in findings["endpoint"]["says"]
            assert KEY not in doctor.output

    run(test())


@every_wire
def test_a_wrong_protocol_is_answered_with_the_right_one(protocol: str):
    async def test() -> None:
        async with ReplayUpstream(protocols={protocol}) as upstream:
            chat = await call(
                "chat", "--base-url", _origin(upstream) + "/v1", "--protocol", "openresponses", "--model", "text", "Hi"
            )
            assert chat.code != 0
            said = " ".join(chat.errors.split())
            assert f"set it to {protocol}" in said, said

    run(test())


@every_wire
def test_a_profile_is_added_for_it_and_shown(protocol: str, tmp_path: Path):
    async def test() -> None:
        async with ReplayUpstream(protocols={protocol}) as upstream:
            file = {"PARTSTREAM_CONFIG": str(tmp_path / "partstream.toml")}
            options = ("--profile", "mine", "--key-from", "none")
            added = await call("add", upstream.base_url_of(protocol), *options, **file)
            assert added.code == 0, added.output + added.errors
            assert PROTOCOLS[protocol].shown_title in added.output + added.errors
            shown = await call("config", "show", "--json", PARTSTREAM_PROFILE="mine", **file)
            assert shown.code == 0, shown.errors
            values = {row["name"]: row["value"] for row in json.loads(shown.output)["settings"]}
            assert values["baseUrl"] == upstream.base_url_of(protocol)

    run(test())
