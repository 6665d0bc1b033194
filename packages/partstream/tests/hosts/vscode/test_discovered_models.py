"""A group that names no models, in the real process, against a server that lists them."""

import asyncio
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from models.lists import ENDPOINTS, VERCEL
from models.server import ModelServer
from models.server import serving as serving_models

from .sidecar import PATIENCE, running

LIST = "/v1/models"
CLAUDE = "anthropic/claude-sonnet-4.5"


@contextmanager
def serving(server: ModelServer) -> Iterator[None]:
    """Serves in a thread of its own."""
    started, stop = threading.Event(), threading.Event()

    async def serve() -> None:
        async with serving_models(server):
            started.set()
            await asyncio.to_thread(stop.wait, PATIENCE * 2)

    thread = threading.Thread(target=asyncio.run, args=(serve(),), daemon=True)
    thread.start()
    assert started.wait(PATIENCE)
    try:
        yield
    finally:
        stop.set()
        thread.join(PATIENCE)


@pytest.fixture(autouse=True)
def _cache(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("PARTSTREAM_CACHE", str(tmp_path))


def group_of(server: ModelServer, **settings: object) -> dict[str, object]:
    return {"id": "g", "configuration": {"baseUrl": server.url, **settings}}


def test_the_list_comes_at_once_and_a_change_behind_it_is_told_and_outlives_the_process(tmp_path: Path):
    server = ModelServer({LIST: VERCEL, f"{LIST}/{CLAUDE}/endpoints": ENDPOINTS})
    with serving(server):
        group = group_of(server, denyModels=["meta/*"])
        with running() as sidecar:
            first = sidecar.information(group)["models"]
            assert [model["id"] for model in first] == [CLAUDE, "deepseek/deepseek-r1"]
            assert (first[0]["maxOutputTokens"], first[0]["family"]) == (64_000, "claude-sonnet-4.5")
            assert first[0]["extra"]["inputCost"] == 300
            told = sidecar.until(lambda message: getattr(message, "method", None) == "languageModels/didChange")
            assert told.params == {"group": "g"}
            assert sidecar.information(group)["models"][0]["maxOutputTokens"] == 32_000
            sidecar.until_true(lambda: list(tmp_path.glob("models-*.json")))
        with running() as sidecar:
            assert sidecar.information(group)["models"][0]["maxOutputTokens"] == 32_000


def test_a_server_without_a_list_is_said_beside_the_group():
    server = ModelServer({})
    with serving(server), running() as sidecar:
        result = sidecar.information(group_of(server))
        assert result["models"] == []
        assert "no list of models at /v1/models" in result["errors"][0]["message"]


def test_a_server_without_a_list_whose_endpoint_is_there_wants_its_models_named():
    server = ModelServer({}, {"/v1/chat/completions": 422})
    with serving(server), running() as sidecar:
        (error,) = sidecar.information(group_of(server))["errors"]
        assert "its models answer there all the same: name those that you want in `models`" in error["message"]


def test_a_key_that_the_server_refuses_is_said_beside_its_group_and_hides_behind_no_other():
    server = ModelServer({LIST: VERCEL})
    with serving(server), running() as sidecar:
        group = group_of(server, apiKey="key-of-one")
        assert sidecar.information(group)["models"]
        server.statuses[LIST] = 401
        other = {"id": "h", "configuration": {**group["configuration"], "apiKey": "key-of-another"}}
        result = sidecar.information(other)
        assert result["models"] == []
        assert [error["code"] for error in result["errors"]] == ["NoPermissions"]
        assert "HTTP 401" in result["errors"][0]["message"]


KINDS = {
    "connection": {"baseUrl": "http://127.0.0.1:1/v1"},
    "address": {"baseUrl": "http://127.0.0.1:1/v1", "timeouts": {"idle": "long"}},
    "key": {"baseUrl": "http://127.0.0.1:1/v1", "apiKeyEnv": "NO_SUCH_VARIABLE"},
}


@pytest.mark.parametrize(("kind", "configuration"), KINDS.items(), ids=KINDS)
def test_what_a_person_can_change_stands_beside_a_list_that_failed(kind: str, configuration: dict[str, object]):
    with running() as sidecar:
        (error,) = sidecar.information({"id": "g", "configuration": configuration})["errors"]
        assert error["kind"] == kind, error
