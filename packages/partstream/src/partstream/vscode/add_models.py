"""*Add Models* and *Join a Hub*: what makes a group of models, page by page, and writes nothing before the end.

The wizard asks for the server, its key, its models and their name. Each page is a method of :class:`AddModels` that
returns the name of the next one; a table at its end has them in the order in which they come, and says to which of them
the arrow back leads: to pages that ask, and from a page never to a later one, as where a key was refused and the
address is changed. A page changes the answers when it is left forwards, and a change of the server forgets all others.

A hub is joined by a link, `vscode://partstream.partstream/join?hub=https://hub.example.com#CODE`, or by the address of
the hub's own page. Anybody can write such a link: nothing is sent before the person has agreed to the address, and no
second question comes while one is open, so that a page that opens many links cannot wear anybody down.
"""

from __future__ import annotations
import asyncio
import json
import os
import re
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, Final, NamedTuple, cast
from urllib.parse import SplitResult, urlsplit

from partstream.codec.checks import dataclass, field
from partstream.errors import LanguageModelError
from partstream.runtime import local_model
from partstream.settings.kinds import ConfigurationError
from partstream.settings.known_servers import KeyRequirement
from partstream.upstream.endpoint import ANOTHER_ADDRESS, Preset, is_loopback, likely_scheme, presets, with_scheme
from partstream.vscode.first_steps import announce
from partstream.vscode.window import VENDOR, Button, DialogClosedError, Item, WentBackError, Window, WindowError, alone

if TYPE_CHECKING:
    from partstream.upstream.hub import JoinLink, JoinResult
    from partstream.vscode import rpc_types as wire
    from partstream.vscode.examining import ServerProblem, Trial, TriedModel
    from partstream.vscode.gateway import GatewaySurroundings

FEW: Final = 12
"""Up to so many models are all shown in the picker, unless the person takes some out."""

PROBE_SECONDS: Final = 0.3
"""The seconds that a server on this machine has to say that it is there: one needs a few thousandths."""

_STEPS: Final = 4
_MOST_OF_HEADER: Final = 16 * 1024
_OPEN_CHAT: Final = "Open Chat"
_EVERYWHERE: Final = "Use Everywhere…"
_ANOTHER: Final = "Add Another"
_TAKEN: Final = "A group of this name already exists."
_FROM_VARIABLE: Final = Button("symbol-variable", "Read it from an environment variable")
_FROM_FILE: Final = Button("file", "Read it from a file")
_OPEN_PAGE: Final = Button("link-external", "Open the page for API keys")


async def add_models(window: Window, _: Mapping[str, Any]) -> wire.RunResult | None:
    """The wizard, and what is said after it."""
    while True:
        wizard = AddModels(window)
        await wizard.run()
        if wizard.source is not None:
            # Has a provider of the person's own, or the model in the process, named in the settings.
            source = wizard.source
            key = "partstream.providers"
            if not source:
                source = await window.file("A provider in Python", "Use", [{"name": "Python", "endings": ["py"]}])
            before: object = (await window.settings(key))[key].get("value", [])
            if not isinstance(before, list) or source in before:
                return None
            return {"change": {"key": key, "value": [*before, source], "isOfWorkspace": False}}
        if not wizard.is_added:
            await _handed_over(window, wizard)
            return None
        chosen = await _told(window, wizard)
        if chosen == _OPEN_CHAT:
            await window.run("workbench.action.chat.open")
        if chosen == _EVERYWHERE:
            await window.run("partstream.useEverywhere")
        if chosen != _ANOTHER:
            return None


async def _told(window: Window, wizard: AddModels) -> str | None:
    name, shown = wizard.name, wizard.shown
    if shown == 0:
        said = f"{name} is added. Its models appear in the picker as soon as it responds."
    else:
        said = f"{shown} model{'s' if shown > 1 else ''} of {name} {'are' if shown > 1 else 'is'} in the picker."
    is_first = len((await window.facts())["groups"]) <= 1
    return await announce(window, said, _OPEN_CHAT, *([_EVERYWHERE] if is_first else []), _ANOTHER)


async def _handed_over(window: Window, wizard: AddModels) -> None:
    """Opens VS Code's file of groups, with the group in the clipboard; a key in clear text has no effect there."""
    configuration = {key: value for key, value in wizard.configuration.items() if key != "apiKey"}
    await window.copy(json.dumps({"name": wizard.name, "vendor": VENDOR, **configuration}, indent=2))
    await window.run("workbench.action.openLanguageModelsJson")
    await window.message(
        "This VS Code does not let extensions add a group. The group is in the clipboard: paste it into the list, and "
        "save. Enter its key with Update API Key, in the gear menu of the group in Partstream: Manage Models."
    )


class _Elsewhere(NamedTuple):
    """A row of the first page that is no known server; `source` is that of a provider, empty where a file is chosen."""

    source: str | None


@dataclass(slots=True)
class _Answers:
    """What the person has answered about one server."""

    preset: Preset | None = None  # the known server that was chosen; None for any other
    base_url: str = ""
    allows_http: bool = False
    key: Mapping[str, str] = field(default_factory=dict)  # the setting that says where the key is, or is the key
    result: Trial | None = None  # what the server said to these answers
    problem: ServerProblem | None = None
    chosen: Sequence[str] | None = None  # the ids of the models for the picker; None before they were chosen
    named: Sequence[str] = ()  # the models that the person names, of a server that lists none
    name: str = ""
    refusal: str = ""  # why the group could not be added under that name


class AddModels:
    """The wizard."""

    def __init__(self, window: Window) -> None:
        self._window = window
        self._answers = _Answers()
        self._has_back = False
        self.is_added = False
        self.source: str | None = None  # of the provider that is wanted instead; empty where a file is chosen

    async def run(self) -> None:
        """Shows one page after the other until a group is added, or cannot be, or a provider is wanted instead."""
        order = list(self._PAGES)
        before: list[str] = []
        page = order[0]
        while True:
            self._has_back = bool(before)
            show, is_place = self._PAGES[page]
            try:
                following = await show(self)
            except WentBackError:
                page = before.pop() if before else order[0]
                continue
            if following is None:
                return
            if is_place:
                before.append(page)
            page = following
            before = [one for one in before if order.index(one) < order.index(page)]

    @property
    def name(self) -> str:
        """The name of the new group."""
        return self._answers.name

    @property
    def configuration(self) -> dict[str, Any]:
        """The keys and values of the new group, with its key in clear text where the person has entered it."""
        answers, hidden = self._answers, self._hidden()
        configuration = self._connection()
        if answers.named:
            configuration |= {"discover": False, "models": [{"id": one} for one in answers.named]}
        return configuration | ({"hiddenModels": hidden} if hidden else {})

    @property
    def shown(self) -> int:
        """How many models of the new group the picker shows."""
        return len(self._answers.named) or len(self._found) - len(self._hidden())

    @property
    def _found(self) -> list[TriedModel]:
        result = self._answers.result
        return [] if result is None else result["models"]

    def _hidden(self) -> list[str]:
        chosen = self._answers.chosen
        return [] if chosen is None else [one["id"] for one in self._found if one["id"] not in chosen]

    def _connection(self) -> dict[str, Any]:
        answers = self._answers
        permission = {"allowInsecureHttp": True} if answers.allows_http else {}
        return {"baseUrl": answers.base_url, **answers.key, **permission}

    @property
    def _server_name(self) -> str:
        preset = self._answers.preset
        return _host_of(self._answers.base_url) if preset is None else preset.title

    def _heading(self, step: int) -> wire.Heading:
        return {"title": "Add Models", "step": step, "steps": _STEPS, "hasBack": self._has_back}

    def _of_server(self, preset: Preset | None, base_url: str) -> None:
        """Another server: what was answered about the one before is forgotten, its key first of all."""
        if (self._answers.preset, self._answers.base_url) != (preset, base_url):
            self._answers = _Answers(preset, base_url)

    def _with_key(self, key: Mapping[str, str]) -> str:
        """Another key, with which the server is asked anew."""
        self._answers.key, self._answers.result, self._answers.problem = key, None, None
        return "trial"

    # ---- The server ----

    async def _server(self) -> str | None:
        known = [one for one in presets() if one is not ANOTHER_ADDRESS]
        local = [one for one in known if one.is_local]
        answers = await asyncio.gather(*(_answers(_usual_address(one)) for one in local))
        rows: list[Item[Preset | _Elsewhere]] = []
        if local_model.is_installed():
            says = "a small model in Partstream itself: no server, no key"
            rows.append(Item(local_model.TITLE, _Elsewhere(local_model.SOURCE), says))
        for preset, is_there in sorted(zip(local, answers, strict=True), key=lambda one: not one[1]):
            address = _usual_address(preset)
            rows.append(Item(preset.title, preset, f"{address}  $(check) answers" if is_there else address))
        rows[0] = rows[0]._replace(section="On this machine")
        cloud = [
            Item[Preset | _Elsewhere](one.title, one, _host_of(_usual_address(one)))
            for one in known
            if not one.is_local
        ]
        rows += [
            # Before the many, so that it is easy to find.
            Item("Another server…", _Elsewhere(None), "by its address", section="Anywhere"),
            Item("A Python file…", _Elsewhere(""), "a provider of your own"),
            cloud[0]._replace(section="In the cloud"),
            *cloud[1:],
        ]
        chosen = await self._window.choose(self._heading(1), "Where are the models?", rows)
        if isinstance(chosen, _Elsewhere):
            if chosen.source is None:
                self._answers.preset = None
                return "address"
            self.source = chosen.source
            return None
        if chosen.asks_address:
            self._of_server(chosen, chosen.address_example if chosen.is_local else "")
            return "address"
        self._of_server(chosen, chosen.base_url)
        return "region" if chosen.regions else "trial" if chosen.is_local else "key"

    async def _region(self) -> str:
        preset = cast("Preset", self._answers.preset)
        rows = [Item(one.title, one.base_url, _host_of(one.base_url)) for one in preset.regions]
        asked = f"In which region is your account at {preset.title}?"
        self._of_server(preset, await self._window.choose(self._heading(1), asked, rows))
        return "key"

    async def _address(self) -> str:
        preset = self._answers.preset
        example = "" if preset is None else preset.address_example
        text = await self._window.text(
            self._heading(1),
            f"The address of {'the server' if preset is None else preset.title}, its base URL",
            placeholder=example or "https://api.example.com/v1",
            value=self._answers.base_url,
            refuse=wrong_address,
        )
        self._of_server(preset, with_scheme(str(text).strip()))
        if _is_unprotected(self._answers.base_url) and not self._answers.allows_http:
            return "unprotected"
        # A server on this machine rarely wants a key; it says so when it does.
        return "trial" if is_loopback(urlsplit(self._answers.base_url).hostname or "") else "key"

    async def _unprotected(self) -> str:
        host = _host_of(self._answers.base_url)
        rows = (
            Item("Change the address", False, "", "Use https:// if the server supports it"),
            Item("Allow HTTP for this server", True, "", "For trusted networks only"),
        )
        prompt = (
            f"{host} is another machine, and http:// is not encrypted: anyone on the network can read keys and prompts."
        )
        if not await self._window.choose(self._heading(1), "Allow unencrypted HTTP?", rows, prompt):
            return "address"
        self._answers.allows_http = True
        return "key"

    # ---- Its key ----

    async def _key(self) -> str:
        preset, name = self._answers.preset, self._server_name
        is_needed = preset is not None and preset.key is KeyRequirement.REQUIRED
        keys_page = "" if preset is None else preset.keys_page
        prompt = f"API key of {name}. VS Code keeps it in its secret storage."
        if not is_needed:
            prompt += " Leave it empty if the server needs none."

        def refuse(text: str) -> str | None:
            written = text.strip()
            if not written:
                return f"{name} needs a key." if is_needed else None
            # What a header of HTTP cannot hold; a key that was copied with its line, for the most part.
            is_key = re.fullmatch(r"[\x21-\x7e]+", written)
            return None if is_key else "A key has no spaces or line breaks: copy only the key."

        given = await self._window.text(
            self._heading(2),
            prompt,
            value=self._answers.key.get("apiKey", ""),
            is_secret=True,
            buttons=[*([_OPEN_PAGE] if keys_page else []), _FROM_VARIABLE, _FROM_FILE],
            refuse=refuse,
        )
        if given == _OPEN_PAGE:
            await self._window.open_page(keys_page)
            return "key"
        if isinstance(given, Button):
            return "variable" if given == _FROM_VARIABLE else "file"
        return self._with_key({"apiKey": given.strip()} if given.strip() else {})

    async def _variable(self) -> str:
        preset = self._answers.preset
        usual = () if preset is None else preset.key_variables
        present = next((one for one in usual if os.environ.get(one)), usual[0] if usual else "")

        def refuse(text: str) -> str | None:
            # A key that was pasted here must not be repeated.
            if not re.fullmatch(r"[A-Za-z_][A-Za-z0-9_]*", text.strip()):
                return "Write the name of a variable: letters, digits and _."
            is_there = os.environ.get(text.strip())
            return None if is_there else "VS Code was started without such a variable: set it and start VS Code again."

        name = await self._window.text(
            self._heading(2),
            f"The environment variable with the key of {self._server_name}",
            placeholder="EXAMPLE_API_KEY",
            value=self._answers.key.get("apiKeyEnv", present),
            refuse=refuse,
        )
        return self._with_key({"apiKeyEnv": str(name).strip()})

    async def _file(self) -> str:
        path = await self._window.text(
            self._heading(2),
            f"The file that holds the key of {self._server_name} and nothing else",
            placeholder="~/keys/example.txt",
            value=self._answers.key.get("apiKeyFile", ""),
            refuse=lambda text: (
                None
                if re.match(r"~?[/\\]|[A-Za-z]:[/\\]", text.strip())
                else "Write the full path, starting with / or ~/."
            ),
        )
        return self._with_key({"apiKeyFile": str(path).strip()})

    # ---- Its models ----

    async def _trial(self) -> str:
        from partstream.vscode.examining import try_server  # noqa: PLC0415 - takes 0.1 s to import

        answers, redactor, configuration = self._answers, self._window.redactor, self._connection()
        redactor.learn({"id": "", "configuration": configuration})  # no group has an empty id
        says = f"Asking {_host_of(answers.base_url)} for its models…"
        asking = try_server(configuration, self._window.host.surroundings)
        result: Trial = redactor.redact_values(await self._window.work(self._heading(2), says, asking))
        answers.problem = result.get("problem") or (None if result["models"] else _no_models())
        if answers.problem is not None:
            answers.result = None
            return "trouble"
        # The server may be found at another address than was written; with a query, the address stays as it was.
        if "spoken" in result and "?" not in answers.base_url:
            answers.base_url = result["spoken"]["baseUrl"]
        answers.result, answers.named = result, ()
        if answers.chosen is not None:
            answers.chosen = [one["id"] for one in result["models"] if one["id"] in answers.chosen]
        return "models"

    async def _trouble(self) -> str:
        problem, answers = self._answers.problem or _no_models(), self._answers
        said = problem["message"]
        if problem["kind"] != "key":
            said = said[:1].upper() + said[1:]
        else:
            said = f"The API key is refused: {said}" if answers.key else f"This server needs an API key: {said}"
        rows = [
            Item(label, (way, following), "", problem["baseUrl"] if way == "suggested" else detail)
            for way in _WAYS_BY_KIND[problem["kind"]]
            if way != "suggested" or "baseUrl" in problem
            for label, following, detail in (_WAYS_OUT[way],)
        ]
        way, following = await self._window.choose(self._heading(2), "Choose an action", rows, said)
        if way == "suggested":
            answers.base_url = problem["baseUrl"]
        answers.problem = None
        return following

    async def _models(self) -> str:
        found, answers = self._found, self._answers
        usable = [one for one in found if one["isUsable"]] or found
        at_first = [one["id"] for one in (found if len(found) <= FEW else usable[:FEW])]
        spoken = None if answers.result is None else answers.result.get("spoken")
        answers.chosen = await self._window.choose_many(
            self._heading(3),
            "Which models should the picker show?",
            [
                Item(one["name"], one["id"], "" if one["name"] == one["id"] else one["id"], one["details"])
                for one in found
            ],
            at_first if answers.chosen is None else answers.chosen,
            prompt=""
            if spoken is None
            else f"{self._server_name} speaks {spoken['protocol']} at {spoken['baseUrl']}: {spoken['reason']}.",
            refusal="Choose at least one model.",
        )
        return "name"

    async def _ids(self) -> str:
        text = await self._window.text(
            self._heading(3),
            f"The models of {self._server_name}, as its documentation names them, separated by commas",
            placeholder="model-a, model-b",
            value=", ".join(self._answers.named),
            refuse=lambda text: None if _ids_in(text) else "Name at least one model.",
        )
        self._answers.named, self._answers.chosen = _ids_in(str(text)), None
        return "name"

    # ---- Their name ----

    async def _name(self) -> str:
        taken = (await self._window.facts())["groups"]

        def refuse(text: str) -> str | None:
            if not text.strip():
                return "Write a name."
            return _TAKEN if text.strip() in taken else None

        text = await self._window.text(
            self._heading(4),
            self._answers.refusal or "Group name shown in the model picker",
            value=self._answers.name or free_name(self._server_name, taken),
            refuse=refuse,
        )
        self._answers.name, self._answers.refusal = str(text).strip(), ""
        return "adding"

    async def _adding(self) -> str | None:
        adding = asyncio.ensure_future(add_group(self._window, self._answers.name, self.configuration))
        try:
            try:
                await self._window.work(self._heading(4), f"Adding {self._answers.name}…", asyncio.shield(adding))
            except DialogClosedError:
                await adding  # too late: the group is being written
        except WindowError as error:
            self._answers.refusal = str(error)
            return "name"
        self.is_added = adding.result()
        return None

    _PAGES: Final = {
        "server": (_server, True),
        "region": (_region, True),
        "address": (_address, True),
        "unprotected": (_unprotected, False),
        "key": (_key, True),
        "variable": (_variable, True),
        "file": (_file, True),
        "trial": (_trial, False),
        "trouble": (_trouble, False),
        "models": (_models, True),
        "ids": (_ids, True),
        "name": (_name, True),
        "adding": (_adding, False),
    }
    """All pages in their order, and whether a person who goes back comes to them."""


_WAYS_OUT: Final = {
    "suggested": ("Use that address", "trial", ""),
    "key": ("Enter a key", "key", ""),
    "address": ("Change the address", "address", ""),
    "again": ("Try again", "trial", ""),
    "ids": ("Name the models myself…", "ids", "For a server that responds but lists no models"),
    "anyway": ("Add it anyway", "name", "Its models appear once the server responds"),
}
"""What a person can do about a server that cannot be used: in words, the page that follows, and what to know."""

_WAYS_BY_KIND: Final[Mapping[str, Sequence[str]]] = {
    "address": ("suggested", "address", "key", "again", "ids", "anyway"),
    "list": ("ids", "address", "key", "again", "anyway"),
    "key": ("key", "again", "address", "anyway"),
    "connection": ("suggested", "again", "address", "anyway"),
    "other": ("suggested", "again", "key", "address", "anyway"),
}
"""What helps most comes first."""


def _no_models() -> ServerProblem:
    return {"kind": "list", "message": "The server answers, and lists no models."}


def _ids_in(text: str) -> list[str]:
    return list(dict.fromkeys(one for one in map(str.strip, text.split(",")) if one))


def _usual_address(preset: Preset) -> str:
    """Where it mostly is: of a server that everybody has at another address, an example."""
    return preset.base_url or preset.address_example


async def add_group(window: Window, name: str, configuration: Mapping[str, Any]) -> bool:
    """Adds a group, whose key VS Code keeps in its secret storage; False where this VS Code has no way to.

    Raises:
        WindowError: VS Code did not add it; the message is for the person.
    """
    is_done: bool = (await window.ask("ui/addGroup", {"name": name, "configuration": configuration}))["isDone"]
    return is_done


def free_name(wanted: str, taken: Sequence[str]) -> str:
    """The name, or the name with the first number that no group has."""
    name, number = wanted, 1
    while name in taken:
        number += 1
        name = f"{wanted} {number}"
    return name


async def _answers(base_url: str) -> bool:
    """Whether something answers with JSON there when it is asked for its models; asks no other machine.

    A server that wants a key answers with JSON too; a web page is another program at the same port.
    """
    address = urlsplit(base_url)
    request = f"GET {address.path}/models HTTP/1.1\r\nHost: {address.netloc}\r\nConnection: close\r\n\r\n"
    try:
        async with asyncio.timeout(PROBE_SECONDS):
            reader, writer = await asyncio.open_connection(address.hostname, address.port or 80, limit=_MOST_OF_HEADER)
            try:
                writer.write(request.encode())
                header = await reader.readuntil(b"\r\n\r\n")
            finally:
                writer.close()
    except (OSError, TimeoutError, asyncio.IncompleteReadError, asyncio.LimitOverrunError):
        return False  # nothing listens there, or not in time: which is why it was asked
    return re.search(rb"(?im)^content-type:.*json", header) is not None


# ---- Addresses ----


def wrong_address(text: str) -> str | None:
    """What is wrong with an address as it is written, and what helps; None for one that can be tried."""
    address = with_scheme(text.strip())
    if not re.fullmatch(r"(?i)[a-z][a-z0-9+.-]*://\S*", address):
        if not address:
            return "Write the address of the server, such as https://api.example.com/v1."
        if re.search(r"\s", address):
            return "An address has no spaces."
        try:
            scheme = likely_scheme(address)
        except ValueError:
            scheme = "https"
        return f"Write {scheme}:// before it."
    url = _read(address)
    if url is None:
        return "This is not an address. Enter one like https://api.example.com/v1."
    is_of_hub = url.path.endswith("/hub/join")
    mistakes = (
        (url.scheme not in {"http", "https"}, f"Use http:// or https://, not {url.scheme}://."),
        ("@" in url.netloc, "Leave out the name and password: the next step asks for the key."),
        (url.fragment and is_of_hub, "That is a link to a hub: use Partstream: Join a Hub…"),
        (url.fragment, f"Leave #{url.fragment} out: a server never sees it."),
    )
    return next((says for is_made, says in mistakes if is_made), None)


def _read(address: str) -> SplitResult | None:
    """The parts of an address; None for what names no host."""
    try:
        url = urlsplit(address)
        is_whole = url.hostname and url.port != 0
    except ValueError:
        return None
    return url if is_whole else None


def _is_unprotected(address: str) -> bool:
    """Whether everybody on the way can read what is sent there: plain http to another machine."""
    url = urlsplit(address)
    return url.scheme == "http" and not is_loopback(url.hostname or "")


def _host_of(address: str) -> str:
    """What an address is called in a sentence: its host and port."""
    url = _read(address)
    return address if url is None else url.netloc.rpartition("@")[2]


# ---- Join a Hub ----


def read_link(text: str) -> JoinLink:
    """Reads a link to a hub that a person pasted, or that VS Code was opened with.

    Raises:
        WindowError: It joins no hub; the sentence has no code.
    """
    from partstream.upstream.hub import join_link  # noqa: PLC0415 - with the client of HTTP

    try:
        link = join_link(text)
    except ConfigurationError as error:
        raise WindowError(f"This link joins no hub: it has {error.got}, and not {error.expected}.") from None
    if link.code is None:
        raise WindowError("The link has no join code: copy the whole link.")
    return link


async def join_hub(window: Window, given: Mapping[str, Any]) -> None:
    """Joins a hub by the link that VS Code was opened with, or by one that the person pastes."""

    def refuse(text: str) -> str | None:
        try:
            read_link(text)
        except WindowError as error:
            return str(error)
        return None

    if "path" in given:
        link = read_link(f"vscode://{given['path']}?{given['query']}#{given['fragment']}")
    else:
        text = await window.text(
            alone("Join a Hub"),
            "The join link that you were sent. Nothing is sent before you have seen its address.",
            placeholder="https://hub.example.com/hub/join#…",
            is_secret=True,
            refuse=refuse,
        )
        link = read_link(str(text))
    if not (await window.facts())["isTrusted"]:
        raise WindowError("This window is in Restricted Mode: trust its folder, or open the link in another window.")
    if not await window.has_command("lm.addLanguageModelsProviderGroup"):
        # Before a code is spent that is good once.
        raise WindowError(
            "This VS Code does not let extensions add a group, so the join code was not sent. "
            'Run "partstream add hub" with the address of the hub in a terminal.'
        )
    happens = (
        f"The join code of the link is sent to {link.hub}, which exchanges it for a key. "
        "VS Code keeps the key in its secret storage. "
        "When you choose a model of this hub, your conversation and the files in it go there, and the person who runs "
        "the hub can see who asks and what it costs. "
        "Join only if you know them."
    )
    if await window.message(f"Join the hub at {link.hub}?", "Join", detail=happens, level="warning"):
        await _join(window, link)


async def joined_hub(link: JoinLink, surroundings: GatewaySurroundings) -> tuple[str, JoinResult]:
    """Gives the code of a link for a key, at the address that the person has confirmed and at no other.

    Args:
        link: The address and the code, both checked again: a link may come from anybody.
        surroundings: The other things that a gateway needs; learns the code and the key, so that no log shows them.

    Returns:
        The base URL of the hub, and what it gave.

    Raises:
        ConfigurationError: The link names no hub, or holds no code.
        LanguageModelError: The hub gave no key.
    """
    from partstream.upstream import hub  # noqa: PLC0415 - with httpx2, which takes 0.1 s
    from partstream.vscode.gateway import GatewayLoader  # noqa: PLC0415 - the same

    code = hub.join_code("" if link.code is None else link.code.reveal())
    surroundings.learn(code.reveal())
    base_url = hub.base_url_of(hub.hub_address(link.hub))
    result = await hub.join(GatewayLoader({"baseUrl": base_url}, surroundings).configuration(), code)
    surroundings.learn(result.key.reveal())
    return base_url, result


async def _join(window: Window, link: JoinLink) -> None:
    title = f"Joining the hub at {link.hub}…"
    try:
        base_url, joined = await window.progress(title, joined_hub(link, window.host.surroundings))
    except (LanguageModelError, ConfigurationError) as error:
        raise WindowError(f"The hub at {link.hub} did not issue a key: {error}") from error
    key = joined.key.reveal()
    name = free_name(_host_of(link.hub), (await window.facts())["groups"])
    try:
        await add_group(window, name, {"baseUrl": base_url, "apiKey": key})
    except WindowError as error:
        # The hub gives a key once: without this, the person would have to ask for another link.
        said = f"The hub issued a key, but VS Code did not add it: {error}"
        if await window.message(said, "Copy Key"):
            await window.copy(key)
        return
    who = f" as {joined.person}" if joined.person else ""
    if await window.message(f"You have joined {name}{who}. Its models are in the picker.", _OPEN_CHAT):
        await window.run("workbench.action.chat.open")
