"""The editor's window as a dialog has it: lists, boxes, questions, files, settings. The extension shows them all.

A dialog is a coroutine that awaits a :class:`Window`, as one reads what a person does with it: each method sends one
request to the extension and returns the person's answer. A person who closes a page ends the dialog by a
:class:`DialogClosedError`, and the arrow back raises a :class:`WentBackError`, so that no dialog asks after every page
whether there is an answer. A dialog whose request is cancelled, because the window closes or the process ends, takes
its open page along. The extension asks `ui/check` whether it may take a text while the box is open: the box stays.

Texts that the extension shows come without the secrets of groups. The module is loaded with the first dialog.
"""

from __future__ import annotations
import asyncio
import logging
from base64 import b64encode
from collections.abc import Awaitable, Callable, Coroutine, Mapping, Sequence
from itertools import count
from typing import TYPE_CHECKING, Any, Final, Generic, NamedTuple, TypeVar, cast

from partstream.codec.checks import dataclass
from partstream.errors import CallerError, PartstreamError
from partstream.vscode.methods import METHODS, check
from partstream.vscode.rpc import encode_notification, encode_request

if TYPE_CHECKING:
    from pathlib import Path

    from partstream.config.examination import Finding
    from partstream.vscode import rpc_types as wire
    from partstream.vscode.failures import GroupSecrets
    from partstream.vscode.host import ProviderHost
    from partstream.vscode.recordings import Recordings
    from partstream.vscode.rpc import Outbox, Response

VENDOR: Final = "partstream"

SHOW_LOG: Final = "Show Log"

_Value = TypeVar("_Value")
_logger = logging.getLogger("partstream.hosts.vscode")


class DialogClosedError(CallerError):
    """The person has closed a page, or has stopped what went on."""


class WentBackError(DialogClosedError):
    """The person wants the page before."""


class WindowError(PartstreamError):
    """The window could not do what a dialog asked for; the message is for the person."""


@dataclass(frozen=True, slots=True)
class Target:
    """What a person can test: a group, or a provider in the settings."""

    name: str
    place: str  # the host of the server or the name of the file, without anything secret
    state: str  # what is known of it now
    group: wire.Group | None
    provider: str | None  # the name of a provider in the settings
    model: wire.ShownModel | None  # the one that can be asked for an answer; None where none was ever listed


class Tested(NamedTuple):
    """What was tested, and what was found."""

    target: Target
    findings: list[Finding]
    report: str


class Item(NamedTuple, Generic[_Value]):
    """A row of a list, and its value. `section` begins rows under a heading of that text."""

    label: str
    value: _Value
    description: str = ""
    detail: str = ""
    section: str = ""


class Button(NamedTuple):
    """A button above a box, which leads to another page."""

    icon: str
    tooltip: str


def alone(title: str) -> wire.Heading:
    """The heading of a page that has no other one before or after it."""
    return {"title": title, "hasBack": False}


def place(uri: str) -> dict[str, str]:
    """A place among what a command of VS Code is given."""
    return {"uri": uri}


def file_place(path: Path) -> dict[str, str]:
    """The place of a file on this machine."""
    return place(path.as_uri())


class Window:
    """One window, and what runs in the background."""

    def __init__(
        self, outbox: Outbox, redactor: GroupSecrets, host: ProviderHost, recordings: Callable[[], Recordings]
    ) -> None:
        self._outbox = outbox
        self.redactor = redactor
        self.host = host
        self.recordings = recordings
        self._numbers = count(1)
        self._waiting: dict[str, asyncio.Future[Response]] = {}
        self._boxes: dict[int, Callable[[str], str | None]] = {}
        self._open: set[str] = set()
        self._later: set[asyncio.Task[wire.RunResult]] = set()
        self.tested: Tested | None = None  # what was tested last

    def answered(self, response: Response) -> bool:
        """Takes a response; False for one that no request waits for."""
        answer = self._waiting.pop(cast("str", response.id), None)
        if answer is None:
            return False
        if not answer.done():
            answer.set_result(response)
        return True

    def refusal(self, box: int, text: str) -> str | None:
        """Why a text cannot be taken from a box; None if it can, or if the box is gone."""
        refuse = self._boxes.get(box)
        return None if refuse is None else refuse(text)

    async def once(self, name: str, dialog: Callable[[], Awaitable[wire.RunResult | None]]) -> wire.RunResult:
        """Runs a dialog, unless one of this name is open; a notification says what went wrong."""
        if name in self._open:
            return {}
        self._open.add(name)
        try:
            return await dialog() or {}
        except DialogClosedError:
            return {}
        except (PartstreamError, OSError, ValueError) as error:
            _logger.warning("the dialog %s failed: %s", name, error)
            await self.fail(str(error))
            return {}
        finally:
            self._open.discard(name)

    def later(self, name: str, dialog: Callable[[], Awaitable[wire.RunResult | None]]) -> None:
        """Runs a dialog beside the one that goes on, such as a notification whose button may be pressed any time."""
        task = asyncio.create_task(self.once(name, dialog), name=name)
        self._later.add(task)
        task.add_done_callback(self._later.discard)

    def close(self) -> None:
        """Ends what runs beside other dialogs."""
        for task in self._later:
            task.cancel()

    async def ask(self, method: str, params: object = None) -> Any:
        """The result of one request to the extension.

        Raises:
            WindowError: The extension, or VS Code, cannot do it.
        """
        request_id = f"ui-{next(self._numbers)}"
        answer: asyncio.Future[Response] = asyncio.get_running_loop().create_future()
        self._waiting[request_id] = answer
        self._outbox.post(encode_request(request_id, method, params))
        try:
            response = await answer
        except asyncio.CancelledError:
            self._outbox.post(encode_notification("$/cancelRequest", {"id": request_id}))  # which is answered, too
            raise
        if response.error is not None:
            said = response.error.get("message") if isinstance(response.error, dict) else None
            raise WindowError(str(said or f"{method} failed"))
        shape = METHODS[method].result
        if shape is not None:
            check(response.result, shape, f"the result of {method}")
        return response.result

    # ---- Pages ----

    async def choose(
        self, heading: wire.Heading, placeholder: str, items: Sequence[Item[_Value]], prompt: str = ""
    ) -> _Value:
        """The value of the row that the person chooses."""
        (chosen,) = await self._list(
            {"heading": heading, "placeholder": placeholder, "prompt": prompt, "items": [*map(_row, items)]}
        )
        return items[chosen].value

    async def choose_many(
        self,
        heading: wire.Heading,
        placeholder: str,
        items: Sequence[Item[_Value]],
        ticked: Sequence[_Value],
        *,
        prompt: str = "",
        refusal: str = "",
    ) -> list[_Value]:
        """The values of the rows that have a tick in the end; `refusal` says why not none, and is empty if they may."""
        params: wire.ListParams = {
            "heading": heading,
            "placeholder": placeholder,
            "prompt": prompt,
            "items": [*map(_row, items)],
            "chosen": [number for number, item in enumerate(items) if item.value in ticked],
        }
        if refusal:
            params["refusal"] = refusal
        return [items[number].value for number in await self._list(params)]

    async def text(
        self,
        heading: wire.Heading,
        prompt: str,
        *,
        placeholder: str = "",
        value: str = "",
        is_secret: bool = False,
        buttons: Sequence[Button] = (),
        refuse: Callable[[str], str | None] = lambda text: None,
    ) -> str | Button:
        """The text that the person writes, or the button that they press; `refuse` says why a text cannot be taken."""
        box = next(self._numbers)
        self._boxes[box] = refuse
        params: wire.BoxParams = {
            "box": box,
            "heading": heading,
            "prompt": self.redactor.redact(prompt),
            "placeholder": placeholder,
            "value": value,
            "isSecret": is_secret,
            "buttons": [{"icon": icon, "tooltip": tooltip} for icon, tooltip in buttons],
        }
        try:
            reply = _answer(await self.ask("ui/box", params))
        finally:
            del self._boxes[box]
        if chosen := reply.get("chosen"):
            return buttons[chosen[0]]
        text = reply.get("text", "")
        if is_secret:
            self.redactor.learn_secret(text.strip())
        return text

    async def work(self, heading: wire.Heading, placeholder: str, work: Awaitable[_Value]) -> _Value:
        """What comes of some work; a page says meanwhile what goes on, and a person who leaves it cancels the work."""
        params: wire.ListParams = {
            "heading": heading, "placeholder": placeholder, "prompt": "", "items": [], "isBusy": True,
        }  # fmt: skip
        return await self._first_of(work, self._list(params))

    async def progress(self, title: str, work: Awaitable[_Value], *, is_cancellable: bool = False) -> _Value:
        """The same below a notification; a person who stops it ends the dialog."""

        async def shown() -> None:
            await self.ask("ui/progress", {"title": title, "isCancellable": is_cancellable})
            if is_cancellable:
                raise DialogClosedError(f"{title}: stopped")
            await asyncio.get_running_loop().create_future()  # shown until the work ends

        return await self._first_of(work, shown())

    async def _first_of(self, work: Awaitable[_Value], page: Coroutine[Any, Any, object]) -> _Value:
        working, showing = asyncio.ensure_future(work), asyncio.ensure_future(page)
        try:
            await asyncio.wait({working, showing}, return_when=asyncio.FIRST_COMPLETED)
            if not working.done():
                showing.result()  # the person has left the page
            return await working
        finally:
            for task in (working, showing):
                task.cancel()
            await asyncio.gather(working, showing, return_exceptions=True)

    async def _list(self, params: wire.ListParams) -> Sequence[int]:
        params["prompt"] = self.redactor.redact(params["prompt"])
        chosen = _answer(await self.ask("ui/list", params)).get("chosen", [])
        if not all(0 <= number < len(params["items"]) for number in chosen):
            raise WindowError("the window chose a row that the list does not have")
        return chosen

    # ---- Messages ----

    async def message(self, text: str, *buttons: str, detail: str | None = None, level: str = "info") -> str | None:
        """Shows a notification, or with `detail` a question that stops everything else; returns the button that was
        pressed, or None."""
        params: dict[str, Any] = {"level": level, "text": self.redactor.redact(text), "buttons": list(buttons)}
        if detail is not None:
            params["detail"] = self.redactor.redact(detail)
        pressed: int | None = (await self.ask("ui/message", params))["button"]
        return None if pressed is None else buttons[pressed]

    async def fail(self, text: str) -> None:
        """Says what went wrong, with a button for the log."""
        if await self.message(text, SHOW_LOG, level="error") == SHOW_LOG:
            await self.run("partstream.showLog")

    # ---- What the window does and knows ----

    async def run(self, command: str, *given: object) -> str | bool | None:
        """Runs a command of VS Code, if it has it; returns what it says, as far as that is a text or true."""
        said: str | bool | None = (await self.ask("ui/command", {"command": command, "given": list(given)}))["said"]
        return said

    async def has_command(self, command: str) -> bool:
        """Whether this VS Code has a command."""
        is_there: bool = (await self.ask("ui/command", {"command": command, "given": None}))["isThere"]
        return is_there

    async def open_file(self, path: str) -> None:
        """Opens a file in an editor."""
        await self.ask("ui/open", {"file": path})

    async def open_page(self, url: str) -> None:
        """Opens a page in the browser."""
        await self.ask("ui/open", {"page": url})

    async def copy(self, text: str) -> None:
        """Puts a text into the clipboard."""
        await self.ask("ui/copy", {"text": text})

    async def facts(self) -> wire.WindowFacts:
        """What the window is like."""
        facts: wire.WindowFacts = await self.ask("ui/facts")
        return facts

    async def settings(self, *keys: str) -> Mapping[str, wire.SettingState]:
        """Settings by their whole names."""
        found = (await self.ask("ui/settings", {"keys": list(keys)}))["settings"]
        return dict(zip(keys, found, strict=True))

    async def change(self, key: str, **value: object) -> None:
        """Writes the person's own value of a setting; without a `value` the setting is removed."""
        await self.ask("ui/change", {"key": key, "isOfWorkspace": False, **value})

    async def remembered(self, key: str) -> Any:
        """What outlives the window under a key; None for nothing."""
        return (await self.ask("ui/memory", {"key": key}))["value"]

    async def remember(self, key: str, value: object) -> None:
        """Has something outlive the window."""
        await self.ask("ui/memory", {"key": key, "value": value})

    async def save(self, title: str, proposed: str, forms: Sequence[wire.ShareForm]) -> wire.PathResult:
        """The place where the person wants a file; they may want none, which ends the dialog."""
        params: wire.PathParams = {"title": title, "proposed": proposed, "forms": list(forms)}
        return _place(await self.ask("ui/path", params))

    async def file(self, title: str, button: str, forms: Sequence[wire.ShareForm]) -> str:
        """The path of the file that the person chooses; they may choose none, which ends the dialog."""
        params: wire.PathParams = {"title": title, "button": button, "forms": list(forms)}
        return _place(await self.ask("ui/path", params))["path"]

    async def write(self, target: wire.PathResult, content: bytes, *, beside: str | None = None) -> str:
        """Writes a file where the person wants it, or another one of the name `beside` there; returns its path."""
        params = {"uri": target["uri"], "content": b64encode(content).decode("ascii")}
        written: str = (await self.ask("ui/write", params if beside is None else {**params, "beside": beside}))["path"]
        return written


def _row(item: Item[Any]) -> wire.ListItem:
    row: wire.ListItem = {"label": item.label}
    for name in ("description", "detail", "section"):
        if text := getattr(item, name):
            row[name] = text
    return row


def _answer(reply: wire.PageReply) -> wire.PageReply:
    if reply["end"] == "back":
        raise WentBackError("the page before is wanted")
    if reply["end"] == "closed":
        raise DialogClosedError("the page was closed")
    return reply


def _place(result: wire.PathResult) -> wire.PathResult:
    if result["uri"] is None:
        raise DialogClosedError("no file was chosen")
    return result
