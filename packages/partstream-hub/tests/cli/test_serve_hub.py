"""`partstream serve --hub`: processes that share one database, and what becomes of keys and budgets in them."""

from __future__ import annotations
import asyncio
import json
import os
import signal
from typing import TYPE_CHECKING, Any

import httpx2
import pytest

from cli.test_serve import running
from commands import Ended, call, run

if TYPE_CHECKING:
    from pathlib import Path

pytestmark = pytest.mark.skipif(os.name != "posix", reason="this system ends no process by signals")


def _command(folder: Path, *arguments: str, code: int = 0) -> Ended:
    ended = asyncio.run(call(*arguments, PARTSTREAM_DATA=str(folder)))
    assert ended.code == code, ended.output + ended.errors
    return ended


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """The data folder of a hub with one person."""
    for command in ("init", "add person ana --admin"):
        _command(tmp_path, "hub", *command.split())
    _command(tmp_path, "hub", "set", "person", "ana", "--budget", "5 USD/day")
    return tmp_path


def _ask(url: str, key: str) -> httpx2.Response:
    body = {"model": "demo", "messages": [{"role": "user", "content": "Hi"}]}
    headers = {"Authorization": f"Bearer {key}"}
    return httpx2.post(f"{url}/v1/chat/completions", json=body, headers=headers, trust_env=False, timeout=30)


def test_a_key_works_at_every_worker_when_its_command_is_over_and_is_dead_when_it_was_revoked(folder: Path):
    options = ("--workers", "2", "--json")
    with running("--hub", "--demo", *options, PARTSTREAM_DATA=str(folder)) as served:
        urls = [served.until("worker")["url"] for _ in range(2)]
        key = _command(folder, "hub", "key", "add", "ana").output.strip()
        assert [_ask(url, key).status_code for url in (*urls, served.url)] == [200, 200, 200]
        _command(folder, "hub", "key", "revoke", key.split("_")[1])
        assert [_ask(url, key).status_code for url in (*urls, served.url)] == [401, 401, 401]
        code, output, errors = served.end(signal.SIGTERM)
    assert (code, errors) == (0, "")
    assert key.split("_", 2)[2] not in output
    assert json.loads(output.splitlines()[0])["hub"] == str(folder / "hub.sqlite")
    usage = json.loads(_command(folder, "hub", "usage", "--by", "person", "--json").output)
    (shown,) = json.loads(_command(folder, "hub", "show", "ana", "--json").output)
    (budget,) = shown["budgets"]
    assert (budget["reserved"], budget["overrun"]) == (0, 0)  # each answer has ended
    assert 0 < budget["spent"] == _cost(usage) < 5 * 10**9
    # The owner of the server finds nothing of it in a ledger of their own.
    assert json.loads(_command(folder, "usage", "--json").output) == []


def _cost(usage: dict[str, Any]) -> int:
    """What a report says that everything cost, in nanodollars."""
    return int(usage["total"]["nanodollars"])


def test_a_worker_whose_database_is_away_starts_answers_nobody_and_ends_well(tmp_path: Path):
    away = "postgresql://worker:pa55word@127.0.0.1:9/hub"
    with running("--hub", "--demo", "--json", PARTSTREAM_HUB_DATABASE=away, PARTSTREAM_DATA=str(tmp_path)) as served:
        ready = httpx2.get(f"{served.url}/readyz", trust_env=False)
        asked = _ask(served.url, "psk_no-such-key")
        assert (ready.status_code, asked.status_code) == (503, 503)  # and not 401: the key may be right
        assert "retry-after" in asked.headers
        code, output, errors = served.end(signal.SIGTERM)
    assert code == 0
    assert "the hub's database cannot be reached" in errors
    assert "pa55word" not in output + errors


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("def before_request(: pass", "got SyntaxError: invalid syntax"),
        ("x = 1", "got nothing to call, expected a Python file with before_request, at_end or both"),
        (None, "got no such file, expected a Python file"),
    ],
)
def test_a_policy_of_no_use_is_named_before_anything_listens(text: str | None, said: str, folder: Path):
    policy = folder / "rules.py"
    if text is not None:
        policy.write_text(text)

    async def test() -> None:
        ended = await call("serve", "--hub", "--demo", "--policy", str(policy), PARTSTREAM_DATA=str(folder))
        assert (ended.code, ended.output) == (2, "")
        assert said in " ".join(ended.errors.split())

    run(test())
