"""The sidecar joins a hub and says what is left of budgets; a server that is no hub is never asked for them."""

import asyncio
import re
from collections.abc import Callable
from typing import Any

import pytest

from models.server import ModelServer, serving
from partstream.errors import LanguageModelError
from partstream.settings.kinds import ConfigurationError
from partstream.tokens.amounts import BudgetUnit
from partstream.upstream.endpoint import Secret
from partstream.upstream.hub import HubBudget, JoinLink
from partstream.vscode.add_models import joined_hub
from partstream.vscode.budgets import HubBudgets, Standing
from partstream.vscode.gateway import GatewaySurroundings

from .in_process import serving as session

CODE = "k3Jx-92_bQ7vLw0r"
KEY = "psk_ada1_" + "s3cretWord" * 4
MODELS = {"object": "list", "data": [{"id": "gpt-5", "object": "model", "owned_by": "hub"}]}
DAY = {"unit": "money", "period": "day", "limit": 5 * 10**9, "spent": 0, "reserved": 0, "remaining": 32 * 10**8}
ME = {
    "person": "ada",
    "team": "engines",
    "models": ["gpt-5"],
    "budgets": [{**DAY, "resets_at": "2026-11-23T23:00:00Z"}],
}


def joined(answer: Any, hub: Callable[[str], str] = lambda url: url, code: str = CODE) -> tuple[Any, ModelServer, set]:
    """What joining a hub brings that answers so, or its error; the hub, and the secrets that the log was told."""

    async def test() -> tuple[Any, ModelServer, set]:
        server, learnt = ModelServer({"/hub/v1/join": answer}), set()
        surroundings = GatewaySurroundings(learn=learnt.add, environment={"PARTSTREAM_API_KEY": "sk-of-another"})
        async with serving(server):
            address = hub(server.url.removesuffix("/v1"))
            try:
                return await joined_hub(JoinLink(address, Secret(code)), surroundings), server, learnt
            except (ConfigurationError, LanguageModelError) as error:
                return str(error), server, learnt

    return asyncio.run(test())


def test_a_code_brings_what_makes_a_group_and_no_log_can_hold_its_key():
    (base_url, result), server, learnt = joined({"key": KEY, "person": "ada"})
    assert (base_url, result.key.reveal(), result.person) == (server.url, KEY, "ada")
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
    assert says in result
    assert server.requests == []


def test_a_hub_that_gives_no_key_is_a_sentence_without_the_code():
    result, _, _ = joined({"key": CODE})
    assert "expected a text that begins with psk_" in result
    assert CODE not in result


def listed(key: str, acts: Any = None, **documents: Any) -> tuple[list[Any], ModelServer, str]:
    """What the window shows of a group with this key, one after the other, the server, and all that it was sent."""

    async def test() -> tuple[list[Any], ModelServer, str]:
        server = ModelServer({"/v1/models": MODELS, **{f"/hub/v1/{name}": value for name, value in documents.items()}})
        async with serving(server), session() as peer:
            group = {"id": "1", "configuration": {"baseUrl": server.url, "protocol": "openresponses", "apiKey": key}}
            listing = await peer.reply(peer.send("languageModels/information", {"group": group, "silent": True}))
            assert [model["id"] for model in listing.result["models"]] == ["gpt-5"]
            if documents.get("me") is not None and key == KEY:
                await peer.until(lambda message: getattr(message, "method", "") == BUDGETS)
            if acts is not None:
                await acts(peer, group, server)
            shown = [message.params for message in peer.messages if getattr(message, "method", "") == BUDGETS]
            return shown, server, repr(peer.messages)

    return asyncio.run(test())


BUDGETS = "ui/budgetsDidChange"


def test_what_is_left_at_a_hub_is_told_as_soon_as_its_models_are_listed():
    (shown,), server, said = listed(KEY, me=ME)
    hub = server.url.removesuffix("/v1")
    left = "$3.20 of $5.00 left today"
    assert (shown["page"], shown["texts"]) == (f"{hub}/hub", {"1": left})
    assert (shown["item"]["text"], shown["item"]["fullness"]) == (f"$(credit-card) {left}", "normal")
    first, person, budget, link = shown["item"]["tooltip"].split("\n\n")
    assert first == f"**Budget at {hub.removeprefix('http://')}**"
    assert person == "You are ada on this hub."
    assert budget.startswith("\\$3.20 of \\$5.00 left today, resets ")
    assert link == "[Open the Hub's Page](command:partstream.openHubPage)"
    assert KEY not in said


def test_a_server_that_is_no_hub_is_not_asked_for_budgets():
    async def acts(peer: Any, group: Any, server: ModelServer) -> None:
        peer.notify("ui/focus", {"isFocused": True})

    shown, server, _ = listed("sk-0123456789abcdefghij", acts, me=ME)
    assert shown == []
    assert not [path for path in server.paths() if "hub" in path]


def test_a_window_that_gets_the_focus_asks_at_once_and_one_that_loses_its_group_shows_nothing():
    async def acts(peer: Any, group: Any, server: ModelServer) -> None:
        server.documents["/hub/v1/me"] = {**ME, "budgets": [{**ME["budgets"][0], "remaining": 10**8}]}
        peer.notify("ui/focus", {"isFocused": True})
        low = await peer.until(lambda one: getattr(one, "method", "") == BUDGETS and "0.10" in repr(one))
        assert low.params["item"]["fullness"] == "warning"
        peer.notify("languageModels/forgetGroup", {"group": "1"})
        await peer.until(lambda one: getattr(one, "params", None) == {"item": None, "texts": {}})

    assert len(listed(KEY, acts, me=ME)[0]) == 3


@pytest.mark.parametrize(("me", "says"), [({"person": "x" * 100 + KEY}, "field person"), (b"<html>", "a web page")])
def test_a_hub_that_cannot_say_it_now_is_a_problem_and_never_an_error_of_the_window(me: Any, says: str):
    async def test() -> tuple[Any, str]:
        server = ModelServer({"/v1/models": MODELS, "/hub/v1/me": me})
        async with serving(server), session() as peer:
            group = {"id": "1", "configuration": {"baseUrl": server.url, "protocol": "openresponses", "apiKey": KEY}}
            await peer.information(group)
            standing = await peer.session._host._standing(group)
            return standing, repr(peer.messages)

    standing, said = asyncio.run(test())
    assert (standing.budgets, says in standing.problem) == ((), True), standing
    assert KEY not in said


# ---- The rules by which the item changes, without a hub ----


def standing_of(left: float, **changes: Any) -> Any:
    budgets = (HubBudget(BudgetUnit.MONEY, "day", 5 * 10**9, round(left * 10**9)),)
    return Standing("https://hub.example.com", **{"person": "ada", "budgets": budgets, **changes})


class World:
    """Hubs that say what the test says, by the ids of their groups."""

    def __init__(self, **standings: Any) -> None:
        self.standings = standings
        self.asked: list[str] = []
        self.shown: list[Any] = []
        self.budgets = HubBudgets(self._ask, self.shown.append)

    async def _ask(self, group: Any) -> Any:
        self.asked.append(group["id"])
        await asyncio.sleep(0)
        said = self.standings[group["id"]]
        if isinstance(said, Exception):
            raise said
        return said

    async def joined(self, *ids: str) -> None:
        for group_id in ids:
            self.budgets.listed({"id": group_id, "configuration": {}}, is_hub=True)
        await self.settled()

    async def settled(self) -> None:
        async with asyncio.timeout(5):
            while tasks := [one for one in asyncio.all_tasks() if one.get_name() == "the budgets at a hub"]:
                await asyncio.wait(tasks)

    @property
    def text(self) -> str:
        item = self.shown[-1]["item"]
        return "" if item is None else item["text"]


def test_of_several_hubs_the_one_of_the_last_answer_is_shown_at_first_the_one_with_the_least_left():
    async def test() -> None:
        world = World(one=standing_of(3.2), two=standing_of(0.4))
        await world.joined("one", "two")
        assert "0.40" in world.text
        world.budgets.answered("one")
        assert "3.20" in world.text
        world.budgets.forgotten("one")
        assert "0.40" in world.text
        world.budgets.listed({"id": "two", "configuration": {}}, is_hub=False)
        assert world.text == ""

    asyncio.run(test())


def test_answers_that_end_together_ask_once_and_one_that_ends_meanwhile_asks_again(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr("partstream.vscode.budgets.AFTER_ANSWER", 0)

    async def test() -> None:
        world = World(one=standing_of(3.2))
        await world.joined("one")
        for _ in range(5):
            world.budgets.answered("one")
        await asyncio.sleep(0.01)
        await world.settled()
        assert (world.asked, len(world.shown)) == (["one"] * 2, 1)
        world.budgets.focused(is_focused=True)
        world.budgets.focused(is_focused=False)
        world.budgets.focused(is_focused=True)
        await world.settled()
        assert world.asked == ["one"] * 4
        world.budgets.close()

    asyncio.run(test())


def test_a_hub_that_is_away_leaves_what_was_known():
    async def test() -> None:
        world = World(one=standing_of(3.2))
        await world.joined("one")
        world.standings["one"] = standing_of(0, budgets=(), person="", problem="there is no connection")
        world.budgets.focused(is_focused=True)
        await world.settled()
        assert "3.20" in world.text
        assert "Currently unknown; last known: there is no connection" in world.shown[-1]["item"]["tooltip"]
        world.standings["one"] = LanguageModelError("the provider is gone")
        world.budgets.focused(is_focused=False)
        world.budgets.focused(is_focused=True)
        await world.settled()
        assert "3.20" in world.text
        world.budgets.close()

    asyncio.run(test())


EDGES = {0.51: "normal", 0.5: "normal", 0.49: "warning", 0.01: "warning", 0.0: "error"}


@pytest.mark.parametrize(("left", "fullness"), EDGES.items())
def test_the_colour_warns_below_a_tenth_and_says_when_nothing_is_left(left: float, fullness: str):
    async def test() -> None:
        world = World(one=standing_of(left))
        await world.joined("one")
        assert world.shown[-1]["item"]["fullness"] == fullness

    asyncio.run(test())


def test_nothing_that_a_hub_says_is_markup_or_an_icon_and_who_has_no_budget_sees_nothing():
    async def test() -> None:
        evil = HubBudget(BudgetUnit.MONEY, "$(bug) **1**", 10**9, 10**9)
        world = World(one=standing_of(1, person="[x](command:evil)", budgets=(evil,)))
        await world.joined("one")
        item = world.shown[-1]["item"]
        assert item["text"] == "$(credit-card) $1.00 of $1.00 left ($ (bug) **1**)"
        assert not re.search(r"\]\(command:evil|\$\(bug|[^\\]\*\*1", item["tooltip"])
        free = World(one=standing_of(1, budgets=()))
        await free.joined("one")
        assert [one["item"] for one in free.shown] == [None]

    asyncio.run(test())
