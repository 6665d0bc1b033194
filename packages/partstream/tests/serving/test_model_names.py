"""The names by which a server knows a model: its own, an alias, and one with a slash in it."""

from __future__ import annotations
import asyncio
from typing import Any

import pytest

from partstream.lm.parts import TextPart
from partstream.server.application import app
from rows import one_test_for
from serving.asgi import ask
from serving.providers import Driven
from serving.wires import WIRES, Wire

VERSION = {"anthropic-version": "2023-06-01"}


async def hello(progress: Any, token: Any) -> None:
    progress.report(TextPart("Hello."))


@one_test_for("name", ["acme/large", "anthropic/acme/large"])
@one_test_for("wire", WIRES, ids=lambda wire: wire.name)
def test_a_model_answers_on_every_wire_by_its_name_and_by_its_alias(wire: Wire, name: str) -> None:
    arguments, more = wire.asking(name)
    reply = asyncio.run(ask(app(Driven(hello, model_id="acme/large")), *arguments, **more))
    assert reply.status == 200, reply.body
    assert "".join(part.value for part in wire.read(reply.body)[0]) == "Hello."


@pytest.mark.parametrize("base", ["", "/v1"])
def test_the_list_is_one_document_with_aliases_for_clients_of_messages(base: str) -> None:
    application = app(Driven(hello, model_id="acme/large"))

    async def listed(**headers: str) -> Any:
        return (await ask(application, f"{base}/models", headers=headers, query="client_version=0.169.0")).json

    usual, messages = asyncio.run(listed()), asyncio.run(listed(**VERSION))
    assert usual.keys() == messages.keys()
    assert [one["id"] for one in usual["data"]] == ["acme/large"]
    assert [one["id"] for one in messages["data"]] == ["acme/large", "anthropic/acme/large"]
    assert usual["models"] == messages["models"]


def test_clients_of_google_get_their_list_below_each_of_its_versions() -> None:
    application = app(Driven(hello, model_id="acme/large"))
    for path in ("/v1beta/models", "/v1/models"):
        listed = asyncio.run(ask(application, path, headers={"x-goog-api-key": "k"})).json
        assert [one["name"] for one in listed["models"]] == ["models/acme/large"]
    assert "models" in asyncio.run(ask(application, "/v1beta/models")).json


@pytest.mark.parametrize("headers", [{}, VERSION], ids=["openai", "anthropic"])
@pytest.mark.parametrize("name", ["acme%2Flarge", "acme/large"])
def test_one_model_is_found_with_its_slash_encoded_or_not(name: str, headers: dict[str, str]) -> None:
    application = app(Driven(hello, model_id="acme/large"))
    assert asyncio.run(ask(application, f"/v1/models/{name}", headers=headers)).json["id"] == "acme/large"
    unknown = asyncio.run(ask(application, "/v1/models/nobody", headers=headers))
    assert unknown.status == 404
