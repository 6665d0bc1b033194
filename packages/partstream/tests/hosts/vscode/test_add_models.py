"""*Add Models* and *Join a Hub*, at the door of the protocol and against servers that listen."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest

from listening import accepting
from models.server import ModelServer
from models.server import serving as listening
from partstream.conversation.preparation import Fact, Source
from partstream.upstream.endpoint import Secret
from partstream.upstream.model_information import ModelRecord, Pricing
from partstream.vscode import add_models
from partstream.vscode.examining import details
from partstream.vscode.window import WindowError
from partstream_devtools.testing.upstream import ReplayUpstream

from .in_process import Peer, run, serving
from .person import BACK, CLOSED, Person

KEY = "sk-harbour-0123456789"
WRONG = "sk-of-somebody-else-0123"
NOBODY = "http://127.0.0.1:1/v1"
ANOTHER = "Another server…"
PLACES = ("Another server…", "A Python file…")


@asynccontextmanager
async def at(server: ModelServer) -> AsyncIterator[ModelServer]:
    async with listening(server):
        yield server


def added(
    *answers: Any, beside: AbstractAsyncContextManager[Any] | None = None, **window: Any
) -> tuple[Any, Person, Peer]:
    """The outcome of the wizard, the person before it, and the peer; an answer may be made of the server's address."""
    got: list[Any] = []
    change = window.pop("change", lambda person: None)

    async def with_server(url: str) -> None:
        async with serving() as peer:
            person = Person(peer, *(one(url) if callable(one) else one for one in answers), **window)
            change(person)
            got.extend((await peer.run("addModels"), person, peer))

    async def test() -> None:
        if beside is None:
            await with_server("")
        else:
            async with beside as server:
                await with_server(getattr(server, "base_url", None) or server.url)

    run(test())
    return tuple(got)


def group_of(person: Person) -> Any:
    (group,) = [one[1] for one in person.done if one[0] == "addGroup"]
    return group


def test_four_pages_make_a_group_of_a_server_that_wants_a_key_which_no_log_and_no_message_holds():
    url = lambda server: server.removeprefix("http://")  # noqa: E731 - as a person writes it
    answers = (ANOTHER, "my machine", url, "Enter a key", KEY, None, "Harbour", "Open Chat")
    _, person, peer = added(*answers, beside=ReplayUpstream(token=KEY))
    group = group_of(person)
    assert group["name"] == "Harbour"
    assert group["configuration"]["apiKey"] == KEY
    assert group["configuration"]["baseUrl"].startswith("http://127.0.0.1:")
    assert person.refused == ["An address has no spaces."]
    titles = [page["heading"]["step"] for page in person.pages if "heading" in page]
    assert titles == [1, 1, 2, 2, 2, 2, 3, 4, 4]
    assert person.pages[3]["prompt"].startswith("This server needs an API key: ")
    assert person.texts() == [f"{len(person.pages[6]['items'])} models of Harbour are in the picker."]
    assert person.done[-1] == ("workbench.action.chat.open",)
    said = [one for one in peer.messages if getattr(one, "method", "") != "ui/addGroup"]
    assert KEY not in repr(said)


def test_a_key_that_is_refused_can_be_written_anew_and_models_be_left_out():
    upstream = ReplayUpstream(token=KEY)

    def but_one(person: Person) -> None:
        known = person._list

        def chosen(params: Any) -> Any:
            if "chosen" not in params:
                return known(params)
            person.pages.append(params)
            return {"end": "answered", "chosen": params["chosen"][1:]}

        person._list = chosen  # type: ignore[method-assign]

    answers = (ANOTHER, str, "Enter a key", WRONG, "Enter a key", KEY, "Harbour", None)
    _, person, peer = added(*answers, beside=upstream, change=but_one)
    assert person.pages[6]["prompt"].startswith("The API key is refused: ")
    assert person.pages[7]["value"] == WRONG
    (hidden,) = group_of(person)["configuration"]["hiddenModels"]
    assert hidden
    assert WRONG not in repr([one for one in peer.messages if getattr(one, "method", "") != "ui/box"])


def test_going_back_leads_to_the_page_before_that_asks_and_another_server_forgets_the_key():
    first, second = "https://a.invalid/v1", "https://b.invalid/v1"
    answers = (ANOTHER, first, "Read it from a file", BACK, BACK, second, CLOSED)
    _, person, _ = added(*answers)
    assert [page.get("value") for page in person.pages] == [None, "", "", "", "", first, ""]
    assert [page["heading"]["hasBack"] for page in person.pages] == [False, True, True, True, True, True, True]
    assert person.is_over


def test_a_server_that_does_not_answer_can_be_added_anyway_with_models_of_its_documentation():
    answers = (ANOTHER, NOBODY, "Change the address", BACK, PLACES[0], NOBODY, "Add it anyway", "Lamp", None)
    _, person, _ = added(*answers)
    assert group_of(person) == {"name": "Lamp", "configuration": {"baseUrl": NOBODY}}
    assert person.texts() == ["Lamp is added. Its models appear in the picker as soon as it responds."]
    assert "othing listens at 127.0.0.1:1" in person.pages[3]["prompt"]
    assert person.labels(3) == ["Try again", "Change the address", "Add it anyway"]


def test_models_that_a_server_does_not_list_are_named():
    silent = ModelServer({"/v1/models": {"object": "list", "data": []}})
    answers = (ANOTHER, str, "Name the models myself…", " , ", "a, b ,a", "Lamp", None)
    _, person, _ = added(*answers, beside=at(silent))
    named = group_of(person)["configuration"]
    assert (named["discover"], named["models"]) == (False, [{"id": "a"}, {"id": "b"}])
    assert person.refused == ["Name at least one model."]
    assert person.texts() == ["2 models of Lamp are in the picker."]


def test_plain_http_to_another_machine_wants_a_permission():
    address = "http://lamps.invalid/v1"
    answers = (
        ANOTHER,
        address,
        "Change the address",
        address,
        "Allow HTTP for this server",
        "",
        "Add it anyway",
        "L",
        None,
    )
    _, person, _ = added(*answers)
    assert group_of(person)["configuration"] == {"baseUrl": address, "allowInsecureHttp": True}


def test_the_key_can_stay_in_a_variable_or_a_file(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("LAMP_KEY", KEY)
    address = "https://lamps.invalid/v1"
    variable = "Read it from an environment variable"
    answers = (ANOTHER, address, variable, KEY, "NO_SUCH_LAMP", "LAMP_KEY", "Add it anyway", "L", None)
    _, person, _ = added(*answers)
    assert group_of(person)["configuration"] == {"baseUrl": address, "apiKeyEnv": "LAMP_KEY"}
    assert person.refused[0] == "Write the name of a variable: letters, digits and _."
    assert person.refused[1].startswith("VS Code was started without such a variable")
    answers = (ANOTHER, address, "Read it from a file", "key.txt", "~/key.txt", "Add it anyway", "L", None)
    _, person, _ = added(*answers)
    assert group_of(person)["configuration"] == {"baseUrl": address, "apiKeyFile": "~/key.txt"}


def test_a_known_server_brings_its_address_its_region_and_the_page_of_its_keys():
    regional = next(one for one in add_models.presets() if one.regions)
    answers = (regional.title, regional.regions[0].title, "Open the page for API keys", CLOSED)
    _, person, _ = added(*answers)
    assert person.done == [("open", regional.keys_page)]
    assert person.pages[1]["placeholder"] == f"In which region is your account at {regional.title}?"
    assert "VS Code keeps it in its secret storage" in person.pages[2]["prompt"]


def test_servers_on_this_machine_that_answer_come_first(monkeypatch: pytest.MonkeyPatch):
    local = [one for one in add_models.presets() if one.is_local]
    wanted = local[-1]

    async def answers(base_url: str) -> bool:
        return base_url == (wanted.base_url or wanted.address_example)

    monkeypatch.setattr(add_models, "_answers", answers)
    _, person, _ = added(CLOSED)
    rows = [one for one in person.pages[0]["items"] if one["label"] in {preset.title for preset in local}]
    assert (rows[0]["label"], rows[0]["description"].endswith("$(check) answers")) == (wanted.title, True)
    sections = [one["section"] for one in person.pages[0]["items"] if "section" in one]
    assert sections == ["On this machine", "Anywhere", "In the cloud"]


def test_a_server_is_looked_for_by_its_list_of_models_and_a_web_page_is_none():
    async def test() -> None:
        for kind, is_there in (("application/json", True), ("text/html", False)):

            async def answer(_: asyncio.StreamReader, writer: asyncio.StreamWriter, kind: str = kind) -> None:
                writer.write(f"HTTP/1.1 401 No\r\nContent-Type: {kind}\r\nContent-Length: 0\r\n\r\n".encode())

            async with accepting(answer) as url:
                assert await add_models._answers(f"{url}/v1") is is_there
        assert not await add_models._answers(NOBODY)

    run(test())


@pytest.mark.parametrize("is_installed", [False, True])
def test_the_model_of_the_process_itself_is_offered_where_it_is_installed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, is_installed: bool
):
    monkeypatch.setenv("PARTSTREAM_CACHE", str(tmp_path))
    (tmp_path / "models").mkdir()
    if is_installed:
        (tmp_path / "models/SmolLM2-135M-Instruct.Q4_1.gguf").write_text("not loaded for this")
        (tmp_path / "xllamacpp.py").write_text("raise ImportError('nor this')")
    monkeypatch.syspath_prepend(tmp_path)
    result, person, _ = added("SmolLM2 135M" if is_installed else CLOSED, settings={"partstream.providers": ["a.py"]})
    assert ("SmolLM2 135M" in person.labels(0)) is is_installed
    named = ["a.py", "partstream.runtime.local_model"]
    change = {"key": "partstream.providers", "value": named, "isOfWorkspace": False}
    assert result == ({"change": change} if is_installed else {})


def test_a_python_file_is_named_in_the_settings_once():
    change = {"key": "partstream.providers", "value": ["/lamps/own.py"], "isOfWorkspace": False}
    assert added("A Python file…", "/lamps/own.py", settings={"partstream.providers": []})[0] == {"change": change}
    assert added("A Python file…", "/lamps/own.py", settings={"partstream.providers": ["/lamps/own.py"]})[0] == {}
    assert added("A Python file…", None)[0] == {}


def test_a_name_that_another_group_has_is_refused_and_so_is_one_that_vs_code_refuses():
    def refuses(person: Person) -> None:
        person.fails["addGroup"] = "A group of this name already exists."

    answers = (ANOTHER, NOBODY, "Add it anyway", "", "Lamp", "Buoy", CLOSED)
    _, person, _ = added(*answers, change=refuses, groups=["Lamp", "127.0.0.1:1"])
    assert person.refused == ["Write a name.", "A group of this name already exists."]
    boxes = [page for page in person.pages if "box" in page]
    assert (boxes[1]["value"], boxes[2]["prompt"]) == ("127.0.0.1:1 2", "A group of this name already exists.")
    assert boxes[2]["value"] == "Buoy"


def test_where_vs_code_lets_no_extension_add_a_group_the_person_pastes_it_without_its_key():
    address = "https://lamps.invalid/v1"
    answers = (ANOTHER, address, KEY, "Add it anyway", "Lamp")
    _, person, _ = added(*answers, change=lambda one: one.missing.add("lm.addLanguageModelsProviderGroup"))
    (copied,) = [one[1] for one in person.done if one[0] == "copy"]
    assert ('"baseUrl"' in copied, "apiKey" in copied) == (True, False)
    assert "paste it into the list" in person.texts()[-1]


def test_the_button_of_the_notification_begins_anew():
    answers = (ANOTHER, NOBODY, "Add it anyway", "Lamp", "Add Another", CLOSED)
    _, person, _ = added(*answers)
    assert person.labels(-1)[-1] == person.labels(0)[-1]


ADDRESSES = {
    "": "Write the address of the server",
    "api.example.com/v1": None,
    "localhost:8080": None,
    "api example": "has no spaces",
    "harbour": "Write https:// before it.",
    "https://": "This is not an address",
    "https://[::1": "This is not an address",
    "ftp://lamps.example": "not ftp://",
    "https://ada:secret@lamps.example": "Leave out the name and password",
    "https://lamps.example/v1#lamp": "Leave #lamp out",
    "https://lamps.example/hub/join#abc": "Join a Hub",
}


@pytest.mark.parametrize(("text", "says"), ADDRESSES.items())
def test_an_address_is_checked_as_it_is_written(text: str, says: str | None):
    wrong = add_models.wrong_address(text)
    assert wrong is None if says is None else says in (wrong or "")


def _priced(*per_million: str) -> Pricing:
    return Pricing(*(Decimal(price) / 1_000_000 for price in per_million))


MODELS = {
    "nothing known": ({}, ""),
    "all": ({"context_window": 128_000, "tool_calling": True, "image_input": True, "pricing": _priced("1", "2.5")},
            "128K · tools · images · $1 / $2.5"),
    "no tools": ({"context_window": 1_048_576, "tool_calling": False}, "1M · no tools: not in agent mode"),
    "free": ({"context_window": 512, "pricing": _priced("0", "0")}, "512 · free"),
    "one price": ({"context_window": 999_500, "pricing": _priced("0.15")}, "1M · $0.15"),
}  # fmt: skip


@pytest.mark.parametrize(("facts", "says"), MODELS.values(), ids=MODELS)
def test_what_is_known_of_a_model_is_said_in_a_few_words(facts: Any, says: str):
    assert details(ModelRecord("m", **{name: Fact(value, Source.LIST, name) for name, value in facts.items()})) == says


# ---- Hubs ----

CODE = "k3Jx-92_bQ7vLw0r"
HUB_KEY = "psk_ada1_" + "s3cretWord" * 4
LINKS = {
    "https://hub.example.com/hub/join#" + CODE: "https://hub.example.com",
    "https://hub.example.com/v1/#" + CODE: "https://hub.example.com",
    "vscode://partstream.partstream/join?hub=https%3A%2F%2Fhub.example.com#" + CODE: "https://hub.example.com",
    "http://localhost:8080#" + CODE: "http://localhost:8080",
    "https://hub.example.com/lamps/hub#" + CODE: "https://hub.example.com/lamps",
}
WRONG_LINKS = {
    "": "the address of a hub",
    "hub": "the address of a hub",
    "https://hub.example.com/hub/join": "no join code",
    "https://hub.example.com#short": "letters, digits, - and _",
    "http://hub.example.com#" + CODE: "begins with https://",
    "https://ada@hub.example.com#" + CODE: "a user name or password",
    "https://hub.example.com?a=b#" + CODE: "[?] or # in it",
    "vscode://partstream.partstream/leave#" + CODE: "names no hub",
    "vscode://partstream.partstream/join#" + CODE: "names no hub",
    "vscode://partstream.partstream/join?hub=a&hub=b#" + CODE: "names no hub",
    "vscode://partstream.partstream/join?hub=file:///etc#" + CODE: "the address of a hub",
    "vscode://partstream.partstream/join?hub=https://hub.example.com/" + "a" * 300 + "#" + CODE: "long",
}


@pytest.mark.parametrize(("link", "hub"), LINKS.items())
def test_a_link_names_the_address_of_a_hub(link: str, hub: str):
    read = add_models.read_link(f" {link}\n")
    assert (read.hub, read.code) == (hub, Secret(CODE))


@pytest.mark.parametrize(("link", "says"), WRONG_LINKS.items(), ids=range(len(WRONG_LINKS)))
def test_a_link_that_joins_no_hub_says_why_without_its_code(link: str, says: str):
    with pytest.raises(WindowError, match=says) as caught:
        add_models.read_link(link)
    assert CODE not in str(caught.value)


def joined(*answers: Any, answer: Any = None, change: Any = lambda person: None, link: str = "", **facts: Any) -> Any:
    """The person after joining a hub, the hub, its address, and what was said to the window."""
    got: list[Any] = []

    async def test() -> None:
        server = ModelServer({"/hub/v1/join": answer or {"key": HUB_KEY, "person": "ada"}})
        async with listening(server), serving() as peer:
            hub = server.url.removesuffix("/v1")
            person = Person(peer, *(one(hub) if callable(one) else one for one in answers), **facts)
            change(person)
            query = link or f"hub={hub}"
            await peer.run(
                "joinHub", **({} if link == "pasted" else {"path": "/join", "query": query, "fragment": CODE})
            )
            got.extend((person, server, hub, peer.messages))

    run(test())
    return tuple(got)


def test_a_link_joins_a_hub_after_a_question_and_the_key_goes_to_vs_code_alone():
    person, server, hub, messages = joined("Join", "Open Chat")
    name = hub.removeprefix("http://")
    assert person.pages[0]["text"] == f"Join the hub at {hub}?"
    assert "Join only if you know them." in person.pages[0]["detail"]
    assert person.pages[1]["title"] == f"Joining the hub at {hub}…"
    assert group_of(person) == {"name": name, "configuration": {"baseUrl": f"{hub}/v1", "apiKey": HUB_KEY}}
    assert person.texts()[1:] == [f"You have joined {name} as ada. Its models are in the picker."]
    assert len(server.requests) == 1
    said = repr([one for one in messages if getattr(one, "method", "") != "ui/addGroup"])
    assert (HUB_KEY in said, CODE in said) == (False, False)


def test_a_link_can_be_pasted_into_a_box_that_hides_it():
    person, server, hub, _ = joined("not a link", lambda hub: f"{hub}/hub/join#{CODE}", "Join", None, link="pasted")
    assert (person.pages[0]["isSecret"], len(person.refused), len(server.requests)) == (True, 1, 1)
    assert group_of(person)["name"] == hub.removeprefix("http://")


NOT_JOINED = {
    "who does not agree": ((None,), {}, {}, None),
    "a folder that is not trusted": ((), {"isTrusted": False}, {}, "Restricted Mode"),
    "a VS Code that adds no groups": ((), {}, {"missing": "lm.addLanguageModelsProviderGroup"}, "partstream add hub"),
    "a link of another person": ((), {}, {"link": "hub=http://lamps.example"}, "begins with https://"),
}


@pytest.mark.parametrize(("answers", "facts", "window", "says"), NOT_JOINED.values(), ids=NOT_JOINED)
def test_nothing_is_sent_for(answers: Any, facts: Any, window: Any, says: str | None):
    def change(person: Person) -> None:
        person.missing.update(filter(None, [window.get("missing")]))

    person, server, _, _ = joined(*answers, change=change, link=window.get("link", ""), **facts)
    assert (server.requests, [one for one in person.done if one[0] == "addGroup"]) == ([], [])
    assert says is None or says in person.texts()[-1]


def test_a_key_that_vs_code_does_not_add_can_be_copied():
    def refuses(person: Person) -> None:
        person.fails["addGroup"] = "the storage is locked"

    person, *_ = joined("Join", "Copy Key", change=refuses)
    assert person.texts()[-1] == "The hub issued a key, but VS Code did not add it: the storage is locked"
    assert person.done == [("copy", HUB_KEY)]


def test_a_hub_that_gives_no_key_says_why():
    person, *_ = joined("Join", answer={"key": CODE})
    assert "did not issue a key: " in person.texts()[-1]
    assert CODE not in repr(person.pages)
