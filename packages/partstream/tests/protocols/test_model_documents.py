"""The models of a server are one document that OpenAI's clients, Anthropic's and Codex read."""

import asyncio
from typing import Any

import pytest

from partstream.protocols.model_documents import ALIAS_OF
from partstream.protocols.protocol import PROTOCOLS
from partstream.protocols.serve import ServedDocument, ServedModel, WireRequest
from partstream_devtools.testing.upstream import ReplayUpstream
from rows import one_test_for

IDS = ["acme/large", "claude-own", "small"]
VERSION = {"anthropic-version": "2023-06-01"}

REQUIRED_BY_CODEX = {
    "slug": str,
    "display_name": str,
    "supported_reasoning_levels": list,
    "shell_type": str,
    "visibility": str,
    "supported_in_api": bool,
    "priority": int,
    "base_instructions": str,
    "supports_reasoning_summaries": bool,
    "support_verbosity": bool,
    "truncation_policy": dict,
    "supports_parallel_tool_calls": bool,
    "context_window": int,
    "experimental_supported_tools": list,
}
"""`ModelInfo` of Codex; a list of which one entry lacks one of them is not taken (tried with 0.169.0)."""


def _model(model_id: str, *, thinking: bool = True) -> ServedModel:
    return ServedModel(
        model_id,
        model_id.title(),
        100_000,
        8_000,
        image_input=False,
        tool_calling=True,
        thinking=thinking,
        input_price=None,
        output_price="0.5",
    )


def _documents(wire: str) -> dict[str, ServedDocument]:
    corner = PROTOCOLS[wire].write_response
    assert corner is not None
    return {one.path: one for one in corner().documents if one.method == "GET"}


def _listed(wire: str, query: str = "", models: tuple[str, ...] = tuple(IDS)) -> dict[str, Any]:
    request = WireRequest("/models", {}, {}, query, "GET")
    status, document = _documents(wire)["/models"].answer(request, [_model(one) for one in models], 0)
    assert status == 200
    return dict(document)


WIRES = ("openresponses", "chat-completions", "anthropic-messages")


@pytest.mark.parametrize("wire", WIRES)
def test_a_list_has_the_fields_of_every_client(wire: str) -> None:
    document = _listed(wire)
    assert (document["object"], document["has_more"], document["first_id"]) == ("list", False, "acme/large")
    assert document["last_id"] == document["data"][-1]["id"]
    for entry in document["data"]:
        assert (entry["object"], entry["created"], entry["owned_by"]) == ("model", 0, "partstream")
        assert (entry["created_at"][-1], entry["max_input_tokens"], entry["max_tokens"]) == ("Z", 100_000, 8_000)
    for entry in document["models"]:
        assert {name: type(entry[name]) for name in REQUIRED_BY_CODEX} == REQUIRED_BY_CODEX
    assert [entry["slug"] for entry in document["models"]] == IDS
    assert document["models"][0]["context_window"] == 108_000


def test_codex_gets_instructions_because_it_takes_them_in_place_of_its_own() -> None:
    assert all(len(entry["base_instructions"]) > 500 for entry in _listed("openresponses")["models"])


@pytest.mark.parametrize("wire", WIRES)
def test_a_list_without_entries_for_codex_leaves_it_its_own_instructions(wire: str) -> None:
    left_out = _listed(wire, "models=none&client_version=0.169.0")
    assert left_out == _listed(wire) | {"models": []}
    assert [entry["slug"] for entry in _listed(wire, "client_version=0.169.0")["models"]] == IDS


def test_clients_of_messages_see_each_model_once_more_under_an_id_that_claude_code_shows() -> None:
    entries = _listed("anthropic-messages")["data"]
    assert [one["id"] for one in entries] == [*IDS, "anthropic/acme/large", "anthropic/small"]
    assert [one.get(ALIAS_OF) for one in entries] == [None, None, None, "acme/large", "small"]
    for wire in WIRES[:2]:
        assert [one["id"] for one in _listed(wire)["data"]] == IDS


def test_a_list_comes_in_pages_to_who_asks_for_them() -> None:
    page = _listed("anthropic-messages", "limit=2&after_id=claude-own")
    assert ([one["id"] for one in page["data"]], page["has_more"]) == (["small", "anthropic/acme/large"], True)
    whole = _listed("openresponses", models=tuple(f"m{number}" for number in range(1500)))
    assert (len(whole["data"]), whole["has_more"]) == (1500, False)
    assert _listed("openresponses", models=()) | {"models": []} == {
        "object": "list",
        "data": [],
        "has_more": False,
        "first_id": None,
        "last_id": None,
        "models": [],
        "etag": "",
    }


@one_test_for("path", ["/models/acme%2Flarge", "/models/acme/large"])
@one_test_for("wire", WIRES)
def test_a_model_whose_id_has_a_slash_is_found_encoded_or_not(wire: str, path: str) -> None:
    document = _documents(wire)["/models/{model}"]
    status, entry = document.answer(WireRequest(path, {}, {}, "", "GET"), [_model(one) for one in IDS], 0)
    assert (status, entry["id"]) == (200, "acme/large")


def test_an_alias_is_found_by_clients_of_messages() -> None:
    document = _documents("anthropic-messages")["/models/{model}"]
    entry = document.answer(WireRequest("/models/anthropic%2Fsmall", {}), [_model("small")], 0)[1]
    assert (entry["id"], entry[ALIAS_OF]) == ("anthropic/small", "small")


def test_the_official_clients_read_the_list_and_a_single_model() -> None:
    from anthropic import AsyncAnthropic
    from openai import AsyncOpenAI

    async def ask() -> None:
        async with ReplayUpstream() as upstream:
            async with AsyncOpenAI(base_url=upstream.base_url, api_key="k") as client:
                models = [one async for one in client.models.list()]
                assert (models[0].id, models[0].object, models[0].owned_by) == ("text", "model", "partstream")
                assert (await client.models.retrieve("tools")).id == "tools"
            root = upstream.base_url.removesuffix("/v1")
            async with AsyncAnthropic(base_url=root, api_key="k") as other:
                listed = [one async for one in other.models.list(limit=7)]
                assert (listed[0].id, listed[0].type, listed[0].created_at.year) == ("text", "model", 1970)
                assert [one.id for one in listed] == [*(m.id for m in models), *(f"anthropic/{m.id}" for m in models)]
                assert (await other.models.retrieve("anthropic/tools")).id == "anthropic/tools"

    asyncio.run(ask())
