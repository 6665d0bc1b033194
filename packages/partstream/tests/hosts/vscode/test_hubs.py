"""The sidecar joins a hub and says what is left of budgets; a server that is no hub is never asked for them."""

import asyncio
from collections.abc import Callable
from typing import Any

import pytest

from models.server import ModelServer, serving
from partstream.vscode.gateway import GatewaySurroundings
from partstream.vscode.host import join_hub

from .in_process import serving as session

CODE = "k3Jx-92_bQ7vLw0r"
KEY = "psk_ada1_" + "s3cretWord" * 4
MODELS = {"object": "list", "data": [{"id": "gpt-5", "object": "model", "owned_by": "hub"}]}
DAY = {"unit": "money", "period": "day", "limit": 5 * 10**9, "spent": 0, "reserved": 0, "remaining": 32 * 10**8}
ME = {"person": "ada", "team": "engines", "models": ["gpt-5"], "budgets": [{**DAY, "resets_at": 1_795_474_800}]}


def joined(answer: Any, hub: Callable[[str], str] = lambda url: url, code: str = CODE) -> tuple[Any, ModelServer, set]:
    """What joining a hub brings that answers so; the hub, and the secrets that the log was told."""

    async def test() -> tuple[Any, ModelServer, set]:
        server, learnt = ModelServer({"/hub/v1/join": answer}), set()
        surroundings = GatewaySurroundings(learn=learnt.add, environment={"PARTSTREAM_API_KEY": "sk-of-another"})
        async with serving(server):
            address = hub(server.url.removesuffix("/v1"))
            return await join_hub({"hub": address, "code": code}, surroundings), server, learnt

    return asyncio.run(test())


def test_a_code_brings_what_makes_a_group_and_no_log_can_hold_its_key():
    result, server, learnt = joined({"key": KEY, "person": "ada"})
    assert result == {"joined": {"baseUrl": server.url, "apiKey": KEY, "person": "ada"}}
    assert {CODE, KEY} <= learnt
    (request,) = server.requests
    assert "authorization" not in request.headers  # a key of another upstream is not for this one


@pytest.mark.parametrize(
    ("hub", "code", "says"),
    [
        (lambda url: "http://hub.example.com", CODE, "plain http to hub.example.com"),
        (lambda url: f"{url}?x=1", CODE, "? or #"),
        (lambda url: "file:///etc/passwd", CODE, "expected the address of a hub"),
        (lambda url: url, "not a code", "a text of another form"),
    ],
)
def test_what_a_link_says_is_checked_again_before_anything_is_sent(hub: Callable[[str], str], code: str, says: str):
    result, server, _ = joined({"key": KEY}, hub, code)
    assert says in result["problem"]
    assert server.requests == []


def test_a_hub_that_gives_no_key_is_a_sentence_without_the_code():
    result, _, _ = joined({"key": CODE})
    assert "expected a text that begins with psk_" in result["problem"]
    assert CODE not in result["problem"]


def asked(key: str, **documents: Any) -> tuple[Any, Any, ModelServer, str]:
    """The list of a group with this key, its standing, the server, and all that the window was sent."""

    async def test() -> tuple[Any, Any, ModelServer, str]:
        server = ModelServer({"/v1/models": MODELS, **{f"/hub/v1/{name}": value for name, value in documents.items()}})
        async with serving(server), session() as peer:
            group = {"id": "1", "configuration": {"baseUrl": server.url, "protocol": "openresponses", "apiKey": key}}
            listed = await peer.reply(peer.send("languageModels/information", {"group": group, "silent": True}))
            standing = await peer.reply(peer.send("languageModels/hubStanding", {"group": group}))
            assert (listed.error, standing.error) == (None, None)
            return listed.result, standing.result["standing"], server, repr(peer.messages)

    return asyncio.run(test())


def test_the_list_of_a_hub_says_that_it_is_one_and_its_standing_has_what_is_left():
    listed, standing, server, said = asked(KEY, me=ME)
    assert (listed["isHub"], [model["id"] for model in listed["models"]]) == (True, ["gpt-5"])
    hub = server.url.removesuffix("/v1")
    left = {"text": "$3.20 of $5.00 left today", "shareLeft": 0.64, "resetsAt": 1_795_474_800}
    assert standing == {"hub": hub, "page": f"{hub}/hub", "person": "ada", "budgets": [left]}
    assert KEY not in said


def test_a_server_that_is_no_hub_is_not_asked_for_budgets():
    listed, standing, server, _ = asked("sk-0123456789abcdefghij", me=ME)
    assert ("isHub" in listed, standing) == (False, None)
    assert not [path for path in server.paths() if "hub" in path]


@pytest.mark.parametrize(("me", "says"), [({"person": "x" * 100 + KEY}, "field person"), (b"<html>", "a web page")])
def test_a_hub_that_cannot_say_it_now_is_a_problem_and_never_an_error_of_the_window(me: Any, says: str):
    _, standing, _, said = asked(KEY, me=me)
    assert (standing["budgets"], says in standing["problem"]) == ([], True), standing
    assert KEY not in said
