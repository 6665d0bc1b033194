"""`partstream serve` keeps the responses that clients ask to store, over a restart too, unless an option forbids it."""

import asyncio
import errno
import os
import stat
from pathlib import Path
from types import MappingProxyType
from typing import Any

import httpx2
import pytest
from click.testing import CliRunner

from cli.test_serve import TOKEN, running
from partstream.cli.serve import command
from partstream.cli.serve_plan import opened_store
from partstream.runtime.demo_provider import DemoProvider
from partstream.server.application import app
from partstream.server.settings import ServingSettings
from partstream.server.stored_answers import SQLiteAnswers
from partstream.upstream.endpoint import Secret
from serving.asgi import ask

HEADERS = {"authorization": f"Bearer {TOKEN}"}


def test_a_stored_response_is_continued_by_another_process(tmp_path: Path) -> None:
    file = tmp_path / "serve-responses.sqlite"

    async def before() -> str:
        store = SQLiteAnswers(file)
        settings = ServingSettings(token=Secret(TOKEN), store=store)
        body = {"model": "demo", "input": "Remember: slate."}
        first = await ask(app(DemoProvider(), settings), "/v1/responses", body, headers=HEADERS)
        await store.close()
        return str(first.json["id"])

    body = {"model": "demo", "input": "And now?", "previous_response_id": asyncio.run(before())}
    with running("--demo", "--json", PARTSTREAM_DATA=str(tmp_path)) as served:
        url = f"{served.url}/v1/responses"
        second = httpx2.post(url, json=body, headers=HEADERS, trust_env=False, timeout=30)
    assert second.status_code == 200
    assert stat.S_IMODE(file.stat().st_mode) == 0o600


def test_the_options_choose_the_file_and_the_days_or_nothing(tmp_path: Path) -> None:
    path = tmp_path / "answers"
    options = {"store_file": path, "store_days": 1.0, "no_store": False, "other": 1}
    assert isinstance(opened_store(MappingProxyType(options)), SQLiteAnswers)  # what it reads is left as it is
    assert path.exists()
    assert opened_store({"store_file": tmp_path / "none", "store_days": 1.0, "no_store": True}) is None
    assert not (tmp_path / "none").exists()


@pytest.mark.parametrize("number", ["0", "x"])
def test_days_that_are_none_are_refused(number: str) -> None:
    ended = CliRunner().invoke(command, ["--demo", "--store-days", number])
    assert ended.exit_code == 2
    assert "--store-days" in ended.output


@pytest.mark.parametrize("name", ["serve-token", "serve-signing-key", "serve-responses.sqlite"])
def test_a_disk_that_fills_while_the_server_starts_is_named(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    system = os.open

    def full(path: Any, *arguments: Any, **more: Any) -> int:
        if str(path).startswith(str(tmp_path / name)):
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC), str(path))
        return system(path, *arguments, **more)

    monkeypatch.setenv("PARTSTREAM_DATA", str(tmp_path))
    monkeypatch.delenv("PARTSTREAM_SERVE_TOKEN", raising=False)
    monkeypatch.setattr("os.open", full)
    ended = CliRunner().invoke(command, ["--demo", "--port", "0"])
    assert (ended.exit_code, type(ended.exception)) == (2, SystemExit)
    assert name in ended.output
    assert os.strerror(errno.ENOSPC) in ended.output
