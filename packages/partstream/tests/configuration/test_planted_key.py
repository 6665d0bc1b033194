"""A key planted in every place that a key can come from is sent to its server and found nowhere else."""

import asyncio
import json
import logging
import os
import sys
import traceback
from collections.abc import Iterable
from dataclasses import dataclass, replace
from pathlib import Path
from secrets import token_hex
from typing import Any

import pytest

from partstream.config.examination import examine
from partstream.config.loading import load_configuration
from partstream.upstream.provider import GatewayProvider
from partstream_devtools.testing.faults import Send, Step, document, event_stream
from partstream_devtools.testing.upstream import ReplayUpstream
from upstreams.upstreams import LIMITS, RETRY, ask, run, server_of

# The search below reads all command lines of this machine: no other test, and no other run, may have the same key.
KEY = f"sk-planted-{token_hex(6)}"
SOURCES = (
    "apiKey of a group",
    "apiKey of the environment",
    "apiKey of the file",
    "headers",
    "request headers",
    "apiKeyEnv",
    "apiKeyFile",
    "apiKeyKeyring",
    "apiKeyCommand",
    "vercelOidc",
)

# What it prints is the key; before, it writes down every command line of this machine while it runs.
COMMAND = """
import pathlib, sys
lines = []
for path in pathlib.Path("/proc").glob("[0-9]*/cmdline"):
    try:
        lines.append(path.read_bytes())
    except OSError:
        pass
pathlib.Path(sys.argv[2]).write_bytes(b"\\n".join(lines) or b"none")
print(pathlib.Path(sys.argv[1]).read_text())
"""


@dataclass
class Planted:
    """Where the key stands, and what else a configuration needs to find it there."""

    folder: Path

    def group(self, source: str) -> dict[str, Any]:
        secret_file = str(self.folder / "planted" / "key")
        command = [sys.executable, "-I", "-S", "-c", COMMAND, secret_file, str(self.folder / "command-lines")]
        return {
            "apiKey of a group": {"apiKey": KEY},
            "headers": {"headers": {"authorization": f"Bearer {KEY}"}},
            "request headers": {"request": {"extraHeaders": {"authorization": f"Bearer {KEY}"}}},
            "apiKeyEnv": {"apiKeyEnv": "MY_KEY"},
            "apiKeyFile": {"apiKeyFile": secret_file},
            "apiKeyKeyring": {"apiKeyKeyring": "planted/me"},
            "apiKeyCommand": {"apiKeyCommand": command},
            "vercelOidc": {"vercelOidc": {}},
        }.get(source, {})

    def environment(self, source: str, url: str) -> dict[str, str]:
        path = self.folder / "planted" / "partstream.toml"
        lines = [f'baseUrl = "{url}"', *([f'apiKey = "{KEY}"'] if source == "apiKey of the file" else [])]
        path.write_text("\n".join(lines))
        variables = {
            "apiKey of the environment": {"PARTSTREAM_API_KEY": KEY},
            "apiKeyEnv": {"MY_KEY": KEY},
            "vercelOidc": {"VERCEL_OIDC_TOKEN": KEY},
        }
        return {"PARTSTREAM_CONFIG": str(path), **variables.get(source, {})}


@pytest.fixture
def planted(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterable[Planted]:
    folder = tmp_path / "planted"
    folder.mkdir()
    (folder / "key").write_text(KEY)
    (folder / "keyring.py").write_text(f"def get_password(service, user):\n    return {KEY!r}\n")
    monkeypatch.setattr(sys, "dont_write_bytecode", True)
    monkeypatch.syspath_prepend(folder)
    monkeypatch.delitem(sys.modules, "keyring", raising=False)
    yield Planted(tmp_path)
    sys.modules.pop("keyring", None)


def echoing(status: int) -> tuple[Step, ...]:
    """What a careless server answers: the key that it was given, in every field of its error."""
    said = f"the key {KEY} (Bearer {KEY}) may not do this"
    error = {"message": said, "code": "bad_key", "key": KEY}
    return document(status, json.dumps({"error": error, "detail": said}).encode())


def failing_stream() -> list[Step]:
    events = (
        {"type": "response.created", "response": {"id": "r"}},
        {"type": "error", "error": {"code": "bad_key", "message": f"no such key: {KEY}"}},
    )
    return list(event_stream(Send(f"data: {json.dumps(event)}\n\n".encode()) for event in events))


REPLIES: dict[str, Any] = {
    "it is refused": echoing(401),
    "it may not do this": echoing(403),
    "the request is bad": echoing(400),
    "the server is broken": echoing(500),
    "a page": document(200, f"<html>{KEY}</html>".encode(), "text/html"),
    "plain text": document(402, f"pay for {KEY}".encode(), "text/plain"),
    "it fails in the stream": failing_stream(),
}


def shown(error: BaseException | None) -> str:
    """Everything of an error that a program might print: it, its fields, its causes and their traces."""
    if error is None:
        return ""
    seen = [repr(vars(error)), "".join(traceback.format_exception(error))]
    for other in (error.__cause__, error.__context__):
        seen += [repr(other), shown(other)]
    return "\n".join(seen)


async def everything(planted: Planted, source: str, url: str, models: list[str] | None) -> list[str]:
    """Uses a configuration in every way that there is, and gives what a person may see of it."""
    group = planted.group(source) | ({"models": models} if models else {}) | {"baseUrl": url}
    loaded = load_configuration(
        group=group if source != "apiKey of the environment" else {}, environment=planted.environment(source, url)
    )
    gateway = replace(loaded.gateway(), retry=RETRY, timeouts=LIMITS, cache_folder=planted.folder / "cache")
    provider = GatewayProvider(gateway)
    seen = [repr(loaded), repr(gateway), repr(loaded.resolved), repr(vars(provider))]
    seen += [repr(value.shown) for value in loaded.resolved.values.values()]
    try:
        answer = await ask(provider, "Hi")
        seen += [answer.text, repr(answer), shown(answer.error)]
        try:
            token: Any = None
            seen.append(repr(await provider.provide_language_model_chat_information(True, token)))
        except Exception as error:
            seen.append(shown(error))
    finally:
        await provider.aclose()
    seen += [repr(finding) for finding in await examine(loaded)]
    return seen


def files(folder: Path) -> bytes:
    """What was written anywhere, but for the places where the key was planted."""
    paths = [path for path in folder.rglob("*") if path.is_file() and folder / "planted" not in path.parents]
    return b"\n".join(str(path).encode() + path.read_bytes() for path in paths)


def own_command_lines() -> bytes:
    if not Path("/proc/self/cmdline").exists():
        return b""
    return Path("/proc/self/cmdline").read_bytes()


@pytest.mark.parametrize("source", SOURCES)
def test_a_key_is_sent_and_is_nowhere_else(
    source: str, planted: Planted, caplog: pytest.LogCaptureFixture, capfd: pytest.CaptureFixture[str]
):
    async def test() -> None:
        async with ReplayUpstream(token=KEY) as upstream:
            seen = await everything(planted, source, upstream.base_url, ["text"])
            assert any("Hello from Partstream" in text for text in seen)
            seen += [repr(exchange) for exchange in upstream.exchanges]  # what a recording is made of
        assert KEY not in "\n".join(seen)

    with caplog.at_level(logging.DEBUG):
        run(test(), 20)
    assert caplog.records  # httpx2 and httpcore2 log at this level, whatever we do
    assert KEY not in caplog.text
    assert KEY not in "".join(capfd.readouterr())
    assert KEY.encode() not in files(planted.folder) + own_command_lines()
    if source == "apiKeyCommand" and os.path.isdir("/proc/self"):
        assert b"python" in (planted.folder / "command-lines").read_bytes()


@pytest.mark.parametrize("reply", REPLIES.values(), ids=REPLIES)
@pytest.mark.parametrize("source", ["apiKey of a group", "headers", "request headers", "apiKeyCommand"])
def test_a_key_that_the_server_repeats_is_not_shown(
    source: str, reply: Any, planted: Planted, caplog: pytest.LogCaptureFixture
):
    async def test() -> None:
        async with server_of(reply) as (url, requests):
            # The list of models is asked for without the headers of requests: nothing to repeat there.
            seen = await everything(planted, source, url, ["text"] if source == "request headers" else None)
            assert any(KEY in request.headers.get("authorization", "") for request in requests)
        assert KEY not in "\n".join(seen)

    with caplog.at_level(logging.DEBUG):
        run(test(), 20)
    assert KEY not in caplog.text
    assert KEY.encode() not in files(planted.folder)


def test_the_search_finds_what_is_there(planted: Planted):
    async def test() -> None:
        async with server_of(echoing(401)) as (url, _):
            reader, writer = await asyncio.open_connection("127.0.0.1", int(url.split(":")[2].partition("/")[0]))
            writer.write(b"GET / HTTP/1.1\r\nhost: h\r\nconnection: close\r\n\r\n")
            assert KEY.encode() in await reader.read()
            writer.close()
            await writer.wait_closed()

    run(test())
    (planted.folder / "left").write_text(KEY)
    assert KEY.encode() in files(planted.folder)
    with pytest.raises(RuntimeError) as raised:
        _hide(ValueError(KEY))
    assert KEY in shown(raised.value)


def _hide(error: Exception) -> None:
    try:
        raise error
    except ValueError:
        raise RuntimeError("quiet") from None
