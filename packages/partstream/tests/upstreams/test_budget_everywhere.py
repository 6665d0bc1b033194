"""A budget through each door to an upstream: who asks reads whose it is, what is spent, and when it begins anew."""

from __future__ import annotations
import re
from typing import TYPE_CHECKING, Any

import httpx2
import pytest

from commands import call_process
from partstream import GatewayProvider
from partstream.server.application import app
from partstream_devtools.testing.upstream import ReplayUpstream
from questions import questions
from rows import one_test_for
from serving.served import served
from upstream_settings import gateway_of
from upstreams.upstreams import run

if TYPE_CHECKING:
    from pathlib import Path

BUDGET = "0.0005 USD/day"
"""Less than the first answer of 0.00051 USD takes."""
SETTINGS = {"budget": BUDGET, "prices": {"*": {"input": 10, "output": 20}}, "models": ["text"], "discover": False}
SAYS = re.compile(
    r"our budget \(0\.0005 USD/day\) is used up: 0\.\d+ USD spent; it begins anew on \d{4}-\d\d-\d\d at 00:00; "
    r"a higher `budget` lets you go on"
)


@pytest.fixture(autouse=True)
def data(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("PARTSTREAM_DATA", str(tmp_path / "data"))
    return tmp_path / "data"


HI = [{"role": "user", "content": "Hi"}]
PARTS = {"contents": [{"role": "user", "parts": [{"text": "Hi"}]}]}


@one_test_for(
    ("path", "body", "status"),
    [
        pytest.param("/v1/responses", {"model": "text", "input": "Hi"}, 429, id="on the upstream's own wire"),
        pytest.param("/v1/responses", {"model": "text", "input": "Hi", "stream": True}, 429, id="as a stream"),
        pytest.param("/v1/chat/completions", {"model": "text", "messages": HI}, 429, id="chat completions"),
        pytest.param("/v1/completions", {"model": "text", "prompt": "def f(", "suffix": ")"}, 429, id="completions"),
        pytest.param("/v1/messages", {"model": "text", "messages": HI, "max_tokens": 99}, 402, id="messages"),
        pytest.param("/v1beta/models/text:generateContent", PARTS, 429, id="gemini"),
        pytest.param("/api/chat", {"model": "text", "messages": HI, "stream": False}, 402, id="ollama"),
    ],
)
def test_a_server_refuses_on_every_wire_what_the_budget_of_its_upstream_does_not_allow(
    path: str, body: dict[str, Any], status: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PARTSTREAM_DATA", str(tmp_path / path.replace("/", "_") / str(body.get("stream"))))

    async def check() -> None:
        async with ReplayUpstream() as upstream, httpx2.AsyncClient(trust_env=False, timeout=20) as client:
            settings = {**SETTINGS, "baseUrl": upstream.base_url, "protocol": "openresponses"}
            provider = GatewayProvider(gateway_of(settings))
            try:
                async with served(app(provider)) as url:
                    first, second = [await client.post(f"{url}{path}", json=body) for _ in range(2)]
            finally:
                await provider.aclose()
            assert first.status_code == 200, first.text
            assert (second.status_code, bool(SAYS.search(second.text))) == (status, True), second.text
            assert len(upstream.requests) == 1

    run(check())


def test_the_command_line_says_it_and_asks_nothing(data: Path) -> None:
    async def check() -> None:
        async with ReplayUpstream() as upstream:
            file = data.parent / "partstream.toml"
            file.write_text(
                f'baseUrl = "{upstream.base_url}"\nprotocol = "openresponses"\nbudget = "{BUDGET}"\n'
                '[prices."*"]\ninput = 10\noutput = 20\n'
            )
            where = {"PARTSTREAM_CONFIG": str(file), "PARTSTREAM_DATA": str(data)}
            ended = [await call_process("chat", "--model", "text", "Hi", **where) for _ in range(2)]
            assert [one.code for one in ended] == [0, 3], ended
            assert SAYS.search(re.sub(r"\s+", " ", ended[1].errors)), ended[1].errors
            assert len(questions(upstream)) == 1

    run(check(), 60)
