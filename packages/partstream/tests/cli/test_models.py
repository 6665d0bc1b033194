"""`partstream models` as a process, against a real server."""

import json

import pytest

from commands import call, call_process, run
from models.lists import ENDPOINTS, OPENAI, VERCEL
from models.server import ModelServer, serving

LIST = "/v1/models"
CLAUDE = "anthropic/claude-sonnet-4.5"
DOCUMENTS = {LIST: VERCEL, f"{LIST}/{CLAUDE}/endpoints": ENDPOINTS}
KEY = "sk-planted-0123456789"


def test_every_number_says_where_it_is_from():
    async def test() -> None:
        server = ModelServer(DOCUMENTS)
        async with serving(server):
            ended = await call("models", "--base-url", server.url, "--allow", "anthropic/*", "--json")
        assert (ended.code, ended.errors) == (0, "")
        (model,) = json.loads(ended.output)
        assert model == {
            "id": CLAUDE,
            "name": "Claude Sonnet 4.5",
            "provider": "anthropic",
            "family": "claude-sonnet-4.5",
            "version": "1",
            "maxInputTokens": {
                "value": 168_000,
                "source": "details",
                "field": "least context_length of 2 endpoints, reserve-output",
            },
            "maxOutputTokens": {
                "value": 32_000,
                "source": "details",
                "field": "least max_completion_tokens of 2 endpoints",
            },
            "contextWindow": {
                "value": 200_000,
                "source": "details",
                "field": "least context_length of 2 endpoints",
            },
            "toolCalling": {"value": True, "source": "details", "field": "supported_parameters"},
            "imageInput": {"value": True, "source": "details", "field": "architecture.input_modalities"},
            "dollarsPerMillionTokens": {"input": 3.0, "output": 15.0},
            "summary": "200K · $3 / $15 per 1M tokens",
        }

    run(test())


def test_the_table_marks_what_is_assumed():
    async def test() -> None:
        server = ModelServer({LIST: OPENAI})
        async with serving(server):
            ended = await call_process("models", "--base-url", server.url, "--deny", "gpt-5*")
        assert ended.code == 0
        assert "gpt-4o" in ended.output
        assert "128,000 ?" in ended.output
        assert "gpt-5.2" not in ended.output

    run(test())


def test_nothing_is_asked_about_single_models_unless_wanted():
    async def test() -> None:
        server = ModelServer(DOCUMENTS)
        async with serving(server):
            ended = await call("models", "--base-url", server.url, "--no-details", "--limit-policy", "context-window")
        assert "200,000" in ended.output

    run(test())


def test_the_key_comes_from_the_environment_and_is_shown_nowhere():
    async def test() -> None:
        server = ModelServer({}, statuses={LIST: 401})
        async with serving(server):
            ended = await call("models", "--base-url", server.url, PARTSTREAM_API_KEY=KEY)
        assert ended.code == 3
        assert ended.errors.startswith("the server answered HTTP 401")
        assert KEY not in ended.output + ended.errors
        assert server.requests[0].headers["authorization"] == f"Bearer {KEY}"

    run(test())


WRONG = {
    "no URL": ((), "no base URL: give --base-url"),
    "another URL": (("--base-url", "ftp://host"), "setting --base-url: got 'ftp://host'"),
    "no key": (("--base-url", "http://127.0.0.1:9/v1", "--api-key-env", "NO_SUCH_VARIABLE"), "NO_SUCH_VARIABLE"),
}


@pytest.mark.parametrize(("arguments", "message"), WRONG.values(), ids=WRONG)
def test_wrong_use_is_explained_with_exit_code_2(arguments: tuple[str, ...], message: str):
    async def test() -> None:
        ended = await call("models", *arguments)
        assert ended.code == 2
        assert message in ended.errors

    run(test())
