"""The extension's end of a dialog, and the person before it: answers come in order, one for each page that wants one.

An answer is the label of a row or of a button, a list of labels where several rows can have a tick, the text for a box
or the path for a file; :data:`BACK` and :data:`CLOSED` leave a page. A text that is refused stays in the box, and the
next answer is for the same box, as in VS Code.
"""

from __future__ import annotations
from base64 import b64decode
from pathlib import Path
from typing import Any

from partstream.vscode.rpc import Notification, Request, Response

from .sidecar import frame

BACK = {"end": "back"}
CLOSED = {"end": "closed"}
FACTS = {
    "isTrusted": True,
    "hasFolder": True,
    "folder": None,
    "remoteName": None,
    "isWeb": False,
    "groups": [],
    "isSignedOut": False,
    "isChatOn": True,
    "asksForAccount": False,
}


class Person:
    """Answers what a session asks; `peer` is the test's end of its connection."""

    def __init__(self, peer: Any, *answers: Any, settings: Any = None, lists: Any = None, **facts: Any) -> None:
        self._peer = peer
        self._answers = list(answers)
        self._boxes: dict[object, tuple[object, Any]] = {}
        self._goes_on: set[object] = set()
        self.facts = {**FACTS, **facts}
        self.settings = dict(settings or {})  # by their keys; VS Code knows these and no others
        self.own = {}  # what the person or a dialog wrote
        self.memory: dict[str, Any] = {}
        self.models: list[Any] = []
        self.lists = lists or {"lists": [], "loads": []}
        self.missing: set[str] = set()  # the commands that this VS Code lacks
        self.fails: dict[str, str] = {}  # the errors of the window for requests that it cannot do
        self.pages: list[Any] = []  # every page and message, as it was asked for
        self.refused: list[str] = []
        self.done: list[Any] = []  # everything else that was done, in order
        peer.hearers.append(self._heard)

    @property
    def is_over(self) -> bool:
        """Whether every answer was wanted."""
        return not self._answers

    def texts(self) -> list[str]:
        """What the messages said."""
        return [page["text"] for page in self.pages if "text" in page]

    def labels(self, number: int = -1) -> list[str]:
        """The rows of a page."""
        return [item["label"] for item in self.pages[number]["items"]]

    def _heard(self, message: Any) -> None:
        if isinstance(message, Request):
            self._asked(message.id, message.method.removeprefix("ui/"), message.params)
        elif isinstance(message, Notification) and message.method == "$/cancelRequest":
            if message.params["id"] in self._goes_on:
                self._goes_on.discard(message.params["id"])
                self._say(message.params["id"], CLOSED)
        elif isinstance(message, Response) and message.id in self._boxes:
            self._checked(message)

    def _asked(self, request_id: object, method: str, params: Any) -> None:
        if method in self.fails:
            error = {"code": -32001, "message": self.fails[method]}
            self._peer.write(frame({"jsonrpc": "2.0", "id": request_id, "error": error}))
        elif method == "progress" or (method == "list" and params.get("isBusy")):
            self.pages.append(params)
            self._goes_on.add(request_id)
        elif method == "box":
            self.pages.append(params)
            self._write(request_id, params)
        else:
            self._say(request_id, getattr(self, "_write_file" if method == "write" else f"_{method}")(params))

    def _say(self, request_id: object, result: object) -> None:
        self._peer.write(frame({"jsonrpc": "2.0", "id": request_id, "result": result}))

    def _next(self) -> Any:
        assert self._answers, f"nothing is answered to {self.pages[-1]}"
        return self._answers.pop(0)

    def _write(self, request_id: object, params: Any) -> None:
        answer = self._next()
        buttons = [button["tooltip"] for button in params["buttons"]]
        if not isinstance(answer, str):
            self._say(request_id, answer)
        elif answer in buttons:
            self._say(request_id, {"end": "answered", "chosen": [buttons.index(answer)]})
        else:
            check = self._peer.send("ui/check", {"box": params["box"], "text": answer})
            self._boxes[check] = (request_id, {**params, "text": answer})

    def _checked(self, response: Response) -> None:
        request_id, params = self._boxes.pop(response.id)
        refusal = response.result["refusal"]
        if refusal is None:
            self._say(request_id, {"end": "answered", "text": params["text"]})
        else:
            self.refused.append(refusal)
            self._write(request_id, params)

    def _list(self, params: Any) -> Any:
        self.pages.append(params)
        answer = self._next()
        if isinstance(answer, dict):
            return answer
        labels = [item["label"] for item in params["items"]]
        if "chosen" in params and answer is None:  # takes it as it is
            return {"end": "answered", "chosen": params["chosen"]}
        return {
            "end": "answered",
            "chosen": [labels.index(one) for one in ([answer] if isinstance(answer, str) else answer)],
        }

    def _message(self, params: Any) -> Any:
        self.pages.append(params)
        if not params["buttons"] or not self._answers:
            return {"button": None}
        answer = self._next()
        return {"button": None if answer is None else params["buttons"].index(answer)}

    def _path(self, params: Any) -> Any:
        self.pages.append(params)
        path = self._next()
        if path is None:
            return {"uri": None, "path": "", "name": ""}
        return {"uri": Path(path).as_uri(), "path": str(path), "name": Path(path).name}

    def _command(self, params: Any) -> Any:
        is_there = params["command"] not in self.missing
        if is_there and params["given"] is not None:
            self.done.append((params["command"], *params["given"]))
        return {"isThere": is_there, "said": None}

    def _settings(self, params: Any) -> Any:
        found = []
        for key in params["keys"]:
            own = {"own": self.own[key], "value": self.own[key]} if key in self.own else {}
            default = {"value": self.settings[key]} if key in self.settings else {}
            found.append({"isKnown": key in self.settings, **default, **own})
        return {"settings": found}

    def _change(self, params: Any) -> None:
        if "value" in params:
            self.own[params["key"]] = params["value"]
        else:
            del self.own[params["key"]]

    def _memory(self, params: Any) -> Any:
        if "value" in params:
            self.memory[params["key"]] = params["value"]
        return {"value": self.memory.get(params["key"])}

    def _facts(self, _: Any) -> Any:
        return self.facts

    def _models(self, _: Any) -> Any:
        return {"models": self.models}

    def _lists(self, _: Any) -> Any:
        return self.lists

    def _addGroup(self, params: Any) -> Any:  # noqa: N802 - a method of the protocol
        self.done.append(("addGroup", params))
        return {"isDone": "lm.addLanguageModelsProviderGroup" not in self.missing}

    def _setUpChat(self, _: Any) -> Any:  # noqa: N802 - as above
        self.done.append(("setUpChat",))
        return {"isDone": "setUpChat" not in self.missing}

    def _debugInformation(self, _: Any) -> Any:  # noqa: N802 - as above
        return {"text": "the versions", "reporter": None if "reporter" in self.missing else "partstream.partstream"}

    def _write_file(self, params: Any) -> Any:
        name = params.get("beside", params["uri"].rpartition("/")[2])
        self.done.append(("write", name, b64decode(params["content"])))
        return {"path": f"/chosen/{name}"}

    def _copy(self, params: Any) -> None:
        self.done.append(("copy", params["text"]))

    def _open(self, params: Any) -> None:
        self.done.append(("open", *params.values()))

    def _page(self, params: Any) -> None:
        self.done.append(("page", *params.values()))
