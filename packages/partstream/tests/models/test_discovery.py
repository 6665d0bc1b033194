"""Discovery against a real server: the list at once, everything else behind it, and nothing lost when it fails."""

import asyncio
import json
import logging
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest

from models.lists import (
    ENDPOINTS,
    LM_STUDIO,
    LM_STUDIO_BARE,
    OLLAMA_BARE,
    OLLAMA_SHOW,
    OLLAMA_TAGS,
    OPENAI,
    VERCEL,
    VLLM,
)
from models.server import Clock, ModelServer, serving, until
from partstream.errors import UpstreamConnectionError, UpstreamError, UpstreamHTTPError, UpstreamProtocolError
from partstream.upstream import discovery
from partstream.upstream.configuration import GatewayConfiguration
from partstream.upstream.discovery import DiskCache, ModelList
from partstream.upstream.model_information import ModelSelection
from upstreams.upstreams import run

LIST = "/v1/models"
CLAUDE = "/v1/models/anthropic/claude-sonnet-4.5/endpoints"


class Discovered:
    """A discovery, its clock and the changes that it told of."""

    def __init__(
        self,
        server: ModelServer,
        fetch: Any,
        *,
        clock: Clock | None = None,
        cache: DiskCache | None = None,
        **kept: Any,
    ) -> None:
        self.server = server
        self.changes = 0
        self.clock = clock or Clock()
        own = GatewayConfiguration(kept.pop("base_url", server.url), protocol="openresponses", **kept)
        self.discovery = ModelList(own, fetch, self._changed, self.clock)
        self.discovery._cache = cache

    def _changed(self) -> None:
        self.changes += 1

    async def ids(self) -> list[str]:
        return [record.id for record in await self.discovery.records()]

    async def settled_ids(self) -> list[str]:
        """The ids after what is asked behind the call has come."""
        await self.discovery.records()
        await self.discovery.settle()
        return await self.ids()


@asynccontextmanager
async def discovering(documents: dict[str, Any], *, is_open: bool = True, **settings: Any) -> AsyncIterator[Discovered]:
    server = ModelServer(documents)
    async with serving(server, is_open=is_open) as fetch:
        discovered = Discovered(server, fetch, **settings)
        try:
            yield discovered
        finally:
            await discovered.discovery.aclose()


def gateway(count: int) -> dict[str, Any]:
    """A list of so many models, each with endpoints."""
    entries = [
        {"id": f"a/m{number}", "type": "language", "context_window": 9000, "tags": []} for number in range(count)
    ]
    endpoints = {"data": {"endpoints": [{"context_length": 7000, "status": 0}]}}
    return {LIST: {"data": entries}} | {f"{LIST}/a/m{number}/endpoints": endpoints for number in range(count)}


def test_the_list_comes_at_once_and_what_endpoints_say_comes_behind():
    async def test() -> None:
        async with discovering({LIST: VERCEL, CLAUDE: ENDPOINTS}, is_open=False) as discovered:
            server = discovered.server
            first = asyncio.create_task(discovered.discovery.records())
            await until(lambda: server.paths() == [LIST])
            server.gate.set()
            records = await first
            assert records[0].context_window.value == 200_000
            assert records[0].max_output_tokens.value == 64_000
            assert discovered.changes == 0
            await discovered.discovery.settle()
            assert discovered.changes == 1
            assert (await discovered.discovery.records())[0].max_output_tokens.value == 32_000
            assert sorted(server.paths()[1:]) == [
                CLAUDE,
                "/v1/models/deepseek/deepseek-r1/endpoints",
                "/v1/models/meta/unknown/endpoints",
            ]

    run(test())


def test_endpoints_that_never_answer_hold_nothing_up():
    async def test() -> None:
        async with discovering({LIST: VERCEL}) as discovered:
            await discovered.discovery.records()
            discovered.server.gate.clear()
            discovered.clock.now += 301
            assert len(await discovered.ids()) == 3

    run(test())


@pytest.mark.parametrize("status", [401, 403])
def test_a_list_is_not_known_any_more_once_the_upstream_refuses_the_key(tmp_path: Path, status: int):
    async def test() -> None:
        cache = DiskCache(tmp_path, "upstream", b"key")
        async with discovering({LIST: VERCEL}, cache=cache) as discovered:
            assert len(await discovered.settled_ids()) == 3
            discovered.server.statuses[LIST] = status
            discovered.clock.now += 301
            await discovered.discovery.records()  # what was known, while the list is asked for behind it
            await discovered.discovery.settle()
            assert discovered.changes > 0
            with pytest.raises(UpstreamHTTPError) as raised:
                await discovered.discovery.records()
            assert raised.value.http_status == status
            assert cache.load() == {}
            discovered.server.statuses.clear()
            assert len(await discovered.settled_ids()) == 3

    run(test())


@pytest.mark.parametrize("status", [0, 404, 500, 503])
def test_any_other_failure_leaves_the_list_as_it_was(status: int):
    async def test() -> None:
        async with discovering({LIST: VERCEL}) as discovered:
            assert len(await discovered.settled_ids()) == 3
            discovered.server.statuses[LIST] = status
            discovered.clock.now += 301
            assert len(await discovered.settled_ids()) == 3

    run(test())


def test_only_a_few_models_are_asked_about_at_once(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(discovery, "CONCURRENCY", 3)

    async def test() -> None:
        async with discovering(gateway(20), is_open=False) as discovered:
            server = discovered.server
            first = asyncio.create_task(discovered.discovery.records())
            await until(lambda: server.requests)
            server.gate.set()
            await first
            server.gate.clear()
            await until(lambda: len(server.requests) >= 4)
            for _ in range(20):
                await asyncio.sleep(0)
            server.gate.set()
            await discovered.discovery.settle()
            assert len(server.requests) == 21
            assert server.most_at_once == 3
            assert {record.context_window.value for record in await discovered.discovery.records()} == {7000}

    run(test())


def test_models_that_are_not_offered_are_not_asked_about():
    async def test() -> None:
        async with discovering(gateway(4), selection=ModelSelection(allow=["a/m2"])) as discovered:
            assert len(await discovered.settled_ids()) == 4
            assert discovered.server.paths() == [LIST, f"{LIST}/a/m2/endpoints"]

    run(test())


def test_a_list_is_fresh_for_a_while_and_then_refreshed_behind_the_answer():
    async def test() -> None:
        async with discovering({LIST: VLLM}) as discovered:
            server = discovered.server
            await discovered.settled_ids()
            await discovered.settled_ids()
            assert server.paths() == [LIST]
            server.documents[LIST] = {"data": [{"id": "new", "max_model_len": 1}]}
            discovered.clock.now += 301
            assert await discovered.ids() == ["meta-llama/Llama-3.3-70B-Instruct"]
            await discovered.discovery.settle()
            assert await discovered.ids() == ["new"]
            assert (server.paths(), discovered.changes) == ([LIST, LIST], 1)

    run(test())


def test_nothing_is_told_when_nothing_changed():
    async def test() -> None:
        async with discovering({LIST: VERCEL, CLAUDE: ENDPOINTS}) as discovered:
            await discovered.settled_ids()
            told = discovered.changes
            for _ in range(3):
                discovered.clock.now += 301
                await discovered.settled_ids()
            discovered.server.documents[LIST] = VERCEL | {"extra": "another ETag, the same models"}
            discovered.clock.now += 301
            await discovered.settled_ids()
            assert (told, discovered.changes) == (1, 1)

    run(test())


FAILURES = {
    "an error status": (503, None),
    "no list there any more": (404, None),
    "a redirect": (302, None),
    "a closed connection": (0, None),
    "no JSON": (200, b"<html>"),
    "null": (200, b"null"),
    "another document": (200, b'{"error":{"message":"out of order"}}'),
    "an endless document": (200, b'"' + b"x" * (8 * 1024 * 1024) + b'"'),
}


@pytest.mark.parametrize(("status", "body"), FAILURES.values(), ids=FAILURES)
def test_a_failed_refresh_keeps_the_last_list_and_says_so(status, body, caplog: pytest.LogCaptureFixture):
    async def test() -> None:
        async with discovering({LIST: VLLM}) as discovered:
            server = discovered.server
            ids = await discovered.settled_ids()
            server.statuses[LIST] = status
            server.documents[LIST] = body if body is not None else VLLM
            discovered.clock.now += 301
            assert await discovered.settled_ids() == ids
            assert discovered.changes == 0
            server.statuses.clear()
            server.documents[LIST] = OPENAI
            discovered.clock.now += 31
            assert await discovered.settled_ids() == ["gpt-4o", "gpt-5.2"]
            assert discovered.changes == 1

    with caplog.at_level(logging.WARNING):
        run(test())
    assert "cannot refresh the list of models" in caplog.text


def test_after_a_failure_there_is_a_pause_while_there_is_a_list():
    async def test() -> None:
        async with discovering({LIST: VLLM}) as discovered:
            await discovered.settled_ids()
            discovered.server.statuses[LIST] = 500
            discovered.clock.now += 301
            for _ in range(5):
                await discovered.settled_ids()
            assert len(discovered.server.requests) == 2

    run(test())


def test_the_log_says_of_which_server_and_why_once_for_failures_that_follow_each_other(
    caplog: pytest.LogCaptureFixture,
):
    async def test() -> None:
        async with discovering({LIST: VLLM}, base_url="https://host/v1") as discovered:
            await discovered.settled_ids()
            for status in (500, 500, 503):
                discovered.server.statuses[LIST] = status
                discovered.clock.now += 301
                await discovered.settled_ids()

    with caplog.at_level(logging.WARNING):
        run(test())
    lines = [record.getMessage() for record in caplog.records]
    assert all(line.startswith("cannot refresh the list of models of https://host/v1: ") for line in lines)
    assert len(lines) == 2


FIRST = {
    "an error status": (500, UpstreamHTTPError),
    "no list": (404, UpstreamHTTPError),
    "a closed connection": (0, UpstreamConnectionError),
}


@pytest.mark.parametrize(("status", "error"), FIRST.values(), ids=FIRST)
def test_without_any_list_the_reason_is_raised_and_the_next_call_asks_again(status, error):
    async def test() -> None:
        async with discovering({LIST: VLLM}) as discovered:
            discovered.server.statuses[LIST] = status
            with pytest.raises(error):
                await discovered.ids()
            discovered.server.statuses.clear()
            assert await discovered.ids() == ["meta-llama/Llama-3.3-70B-Instruct"]
            assert discovered.changes == 0

    run(test())


def test_a_server_that_never_answers_is_given_up(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(discovery, "REQUEST_SECONDS", 0.05)

    async def test() -> None:
        async with discovering({LIST: VLLM}, is_open=False) as discovered:
            with pytest.raises(
                UpstreamError,
                match=r"no answer within 0\.05 s when asked for .* \(/v1/models\)",
            ):
                await discovered.ids()

    run(test())


def test_callers_that_wait_for_the_first_list_share_one_request_and_none_stops_the_others():
    async def test() -> None:
        async with discovering({LIST: VLLM}, is_open=False) as discovered:
            calls = [asyncio.create_task(discovered.ids()) for _ in range(5)]
            await until(lambda: discovered.server.requests)
            calls[0].cancel()
            discovered.server.gate.set()
            results = await asyncio.gather(*calls, return_exceptions=True)
            assert isinstance(results[0], asyncio.CancelledError)
            assert results[1:] == [["meta-llama/Llama-3.3-70B-Instruct"]] * 4
            assert discovered.server.paths() == [LIST]

    run(test())


def test_closing_stops_what_is_under_way():
    async def test() -> None:
        async with discovering(gateway(50)) as discovered:
            await discovered.ids()
            discovered.server.gate.clear()
            await discovered.discovery.aclose()
            await discovered.discovery.settle()

    run(test())


# ---- what servers say besides ----


def test_lm_studio_is_asked_for_its_own_list():
    async def test() -> None:
        async with discovering({LIST: LM_STUDIO_BARE, "/api/v0/models": LM_STUDIO}) as discovered:
            assert len(await discovered.ids()) == 3
            assert await discovered.settled_ids() == ["qwen2-vl-7b-instruct", "meta-llama-3.1-8b-instruct"]
            assert [record.context_window.value for record in await discovered.discovery.records()] == [32768, 8192]
            assert discovered.changes == 1

    run(test())


def test_ollama_is_asked_about_every_model_and_its_embedding_models_go():
    async def test() -> None:
        documents = {
            LIST: OLLAMA_BARE,
            "/api/tags": OLLAMA_TAGS,
            "/api/show": lambda body: OLLAMA_SHOW[json.loads(body)["model"]],
        }
        async with discovering(documents) as discovered:
            assert await discovered.settled_ids() == ["llama3.2:latest"]
            (record,) = await discovered.discovery.records()
            assert (record.context_window.value, record.tool_calling.value) == (131072, True)
            shows = [request for request in discovered.server.requests if request.path == "/api/show"]
            assert {request.method for request in shows} == {"POST"}
            assert len(shows) == 2

    run(test())


def test_a_list_that_says_limits_is_believed_and_no_other_is_asked_for():
    async def test() -> None:
        async with discovering({LIST: VLLM}) as discovered:
            await discovered.settled_ids()
            assert discovered.server.paths() == [LIST]

    run(test())


def test_what_is_not_there_is_remembered_too():
    async def test() -> None:
        async with discovering({LIST: OPENAI}) as discovered:
            await discovered.settled_ids()
            discovered.clock.now += 301
            await discovered.settled_ids()
            assert sorted(discovered.server.paths()) == ["/api/tags", "/api/v0/models", "/model/info", LIST, LIST]
            discovered.clock.now += 24 * 3600
            await discovered.settled_ids()
            assert len(discovered.server.requests) == 9

    run(test())


def test_an_upstream_that_refuses_one_after_the_other_is_left_alone(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(discovery, "CONCURRENCY", 1)

    async def test() -> None:
        documents = gateway(30)
        async with discovering(documents) as discovered:
            discovered.server.statuses |= {path: 429 for path in documents if path != LIST}
            assert len(await discovered.settled_ids()) == 30
            assert len(discovered.server.requests) == 6

    run(test())


def test_details_that_cannot_be_read_leave_what_the_list_says(caplog: pytest.LogCaptureFixture):
    async def test() -> None:
        async with discovering({LIST: VERCEL, CLAUDE: {"data": "none"}}) as discovered:
            await discovered.settled_ids()
            record = (await discovered.discovery.records())[0]
            assert record.context_window.value == 200_000

    with caplog.at_level(logging.DEBUG):
        run(test())
    assert "anthropic/claude-sonnet-4.5: the endpoints of a model field data" in caplog.text


# ---- between two starts ----


def test_the_list_outlives_the_process_with_all_that_was_asked(tmp_path: Path):
    async def test() -> None:
        cache = DiskCache(tmp_path, "upstream")
        documents = {LIST: VERCEL, CLAUDE: ENDPOINTS}
        async with discovering(documents, cache=cache) as discovered:
            await discovered.settled_ids()
            records = await discovered.discovery.records()
            clock = discovered.clock
        async with discovering(documents, cache=cache, clock=clock, is_open=False) as again:
            assert await again.discovery.records() == records
            again.server.gate.set()
            await again.discovery.settle()
            assert again.server.paths() == [LIST]
            assert again.changes == 0

    run(test())


def test_a_list_from_the_disk_is_good_enough_when_the_upstream_is_gone(tmp_path: Path):
    async def test() -> None:
        cache = DiskCache(tmp_path, "upstream")
        async with discovering({LIST: VLLM}, cache=cache) as discovered:
            ids = await discovered.settled_ids()
        async with discovering({}, cache=cache) as again:
            again.server.statuses[LIST] = 0
            assert await again.settled_ids() == ids

    run(test())


BROKEN = {
    "no JSON": b"{",
    "another format": b'{"format":99,"answers":{}}',
    "answers of another kind": b'{"format":1,"answers":{"/v1/models":7}}',
    "bytes": b"\xff\xfe\x00",
}


@pytest.mark.parametrize("content", BROKEN.values(), ids=BROKEN)
def test_a_broken_cache_is_written_anew_and_the_upstream_asked(content, tmp_path: Path):
    async def test() -> None:
        cache = DiskCache(tmp_path, "upstream")
        cache.path.write_bytes(content)
        async with discovering({LIST: VLLM}, cache=cache) as discovered:
            assert await discovered.settled_ids() == ["meta-llama/Llama-3.3-70B-Instruct"]
        assert json.loads(cache.path.read_bytes())["format"] == 1

    run(test())


def test_a_kept_list_that_is_none_is_left_out(tmp_path: Path, caplog: pytest.LogCaptureFixture):
    async def test() -> None:
        cache = DiskCache(tmp_path, "upstream")
        answer = {"document": {"error": "x"}, "fetched_at": 1.0}
        cache.path.write_text(json.dumps({"format": 1, "answers": {LIST: answer}}))
        async with discovering({LIST: VLLM}, cache=cache) as discovered:
            assert await discovered.settled_ids() == ["meta-llama/Llama-3.3-70B-Instruct"]

    run(test())
    assert "ignored the stored list of models" in caplog.text


def test_what_is_no_list_raises_what_came():
    async def test() -> None:
        async with discovering({LIST: {"error": {"message": "no"}}}) as discovered:
            with pytest.raises(UpstreamProtocolError, match="the list of models"):
                await discovered.ids()

    run(test())
