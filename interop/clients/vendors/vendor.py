"""A vendor on loopback: takes requests on one wire, refuses what the real one refuses, and answers as a script says.

A request passes three checks, and the first that fails is the reply, in the form and with the status of the vendor:

1. the types of the official package, field by field (:mod:`interop.clients.vendors.official_types`);
2. the rules of the vendor: :mod:`partstream_devtools.testing.vendors` has those of most wires, the wires here the rest;
3. what this vendor remembers: a signature or an encrypted text that it never gave, or that belongs to another text.

The script is asked for the parts of each answer. A call names a tool as a model sees it, by the end of its name, and is
made in the form in which the request offers the tool: so one script serves every wire. Nothing here reads or writes
with the code that is tried, except the second check.
"""

from __future__ import annotations
import asyncio
import json
from abc import ABC, abstractmethod
from collections.abc import AsyncIterator, Callable, Iterator, Mapping, Sequence
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass, field
from itertools import count
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, Final
from urllib.parse import unquote

import uvicorn

from interop.freshness.census import read_kept
from partstream.protocols.failures import RefusedRequestError
from partstream.protocols.serve import WireRequest
from partstream_devtools.testing.vendors import VENDORS

if TYPE_CHECKING:
    from uvicorn._types import ASGIReceiveCallable, ASGISendCallable, Scope

__all__ = ["Answer", "Asked", "Call", "Item", "Offered", "Say", "Think", "Vendor", "VendorWire", "text_in"]

# ---- what a script says ----


@dataclass(frozen=True, slots=True)
class Say:
    """Text for the person."""

    text: str


@dataclass(frozen=True, slots=True)
class Think:
    """Thinking, which has to come back as it was."""

    text: str


@dataclass(frozen=True, slots=True)
class Call:
    """A call of a tool that the request offers.

    Attributes:
        tool: The name, or the end of it where the client puts something before.
        arguments: The arguments; a text for a tool that takes one.
    """

    tool: str
    arguments: Mapping[str, Any] | str


@dataclass(frozen=True, slots=True)
class Item:
    """An item of the wire itself, in its own words; what is in `encrypted_content` of one of Responses is signed."""

    fields: Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class Answer:
    """One answer.

    Attributes:
        parts: What it says.
        input_tokens: The usage that it reports.
    """

    parts: Sequence[Say | Think | Call | Item]
    input_tokens: int = 1_000


# ---- what was asked ----


@dataclass(frozen=True, slots=True)
class Offered:
    """A tool that a request offers.

    Attributes:
        name: Its name.
        form: `function`, or `custom` for one that takes a text.
        namespace: The namespace that it is in; empty for none.
        fields: The names of its arguments.
    """

    name: str
    form: str = "function"
    namespace: str = ""
    fields: tuple[str, ...] = ()

    @property
    def whole_name(self) -> str:
        """The name with its namespace."""
        return self.namespace + self.name


@dataclass(slots=True)
class Asked:
    """A request, and what the vendor said of it.

    Attributes:
        number: From 1, in the order of arrival.
        path: The path, without the query.
        headers: Names in lower case; of several, the last.
        body: The JSON.
        purpose: What it is for, in the words of :attr:`VendorWire.paths`.
        is_on_socket: Whether it came over a WebSocket.
        refused: The sentence with which it was refused; empty if it was answered.
    """

    number: int
    path: str
    headers: Mapping[str, str]
    body: dict[str, Any]
    purpose: str
    is_on_socket: bool = False
    refused: str = ""


class VendorWire(ABC):
    """What vendors of one wire refuse, and the bytes of their answers.

    Attributes:
        name: The name of the protocol.
        base_path: The path of its base URL.
        paths: The ends of the paths, each with what it is for: `answer`, or something that :meth:`document` knows.
        has_socket: Whether requests come over a WebSocket too.
        beyond: Fields that the vendor takes and the types do not have, by the name of their object.
    """

    name: str
    base_path: str
    paths: Mapping[str, str]
    has_socket: bool = False
    beyond: Mapping[str, Mapping[str, Any]] = MappingProxyType({})

    @property
    def types(self) -> Mapping[str, Any]:
        """The objects of the official types, with what the vendor takes beyond them."""
        types: dict[str, Any] = dict(read_kept(self.name)["types"])
        for name, fields in self.beyond.items():
            types[name] = {**types[name], "fields": {**types[name]["fields"], **fields}}
        return types

    def check(self, asked: Asked, models: Sequence[str], given: Mapping[str, str]) -> None:
        """Refuses a request.

        Args:
            asked: The request.
            models: The models that there are.
            given: What was signed, by the signature.

        Raises:
            RefusedRequestError: It is refused.
        """
        self.check_types(asked)
        named = self.model_in(asked)
        if named not in models:
            raise self.no_model(named)
        if asked.purpose == "answer" and self.name in VENDORS:
            path = asked.path.removeprefix(self.base_path)
            VENDORS[self.name].refuse(WireRequest(path, asked.body, asked.headers))
        self.check_memory(asked, given)

    def model_in(self, asked: Asked) -> str:
        """The model that a request names."""
        return str(asked.body.get("model", ""))

    @abstractmethod
    def no_model(self, name: str) -> RefusedRequestError:
        """The refusal of a model that there is not."""

    @abstractmethod
    def check_types(self, asked: Asked) -> None:
        """Holds a request against the official types, and against the rules for headers and limits."""

    def check_memory(self, asked: Asked, given: Mapping[str, str]) -> None:
        """Refuses what the vendor has not given, or not so."""
        del asked, given

    def over_socket(self, message: dict[str, Any], kept: Mapping[str, Any]) -> dict[str, Any]:
        """The body of a request that came as a message.

        Args:
            message: The message.
            kept: What :meth:`keep` has remembered on this connection.
        """
        del kept
        return message

    def keep(self, kept: dict[str, Any], asked: Asked, events: Sequence[Any]) -> None:
        """Remembers an answer on its connection."""
        del kept, asked, events

    @abstractmethod
    def refusal(self, refused: RefusedRequestError) -> Mapping[str, Any]:
        """The body of a refusal."""

    @abstractmethod
    def tools_in(self, body: Mapping[str, Any]) -> Iterator[Offered]:
        """The tools that a request offers."""

    @abstractmethod
    def events(self, answer: Answer, asked: Asked, sign: Callable[[str], str]) -> Iterator[tuple[str, Any]]:
        """The events of an answer: the name of each, empty for none, and its JSON.

        Args:
            answer: The answer.
            asked: The request.
            sign: Signs a text.
        """

    @abstractmethod
    def document(self, answer: Answer, asked: Asked, sign: Callable[[str], str]) -> Mapping[str, Any]:
        """The answer as one document, or another document for another purpose."""

    def wants_stream(self, asked: Asked) -> bool:
        """Whether the answer is to come in events."""
        return asked.body.get("stream") is True

    def call_of(self, call: Call, body: Mapping[str, Any]) -> tuple[Offered, str]:
        """The tool that a call means, and its arguments as text."""
        offered = list(self.tools_in(body))
        exact = [tool for tool in offered if call.tool in {tool.name, tool.whole_name}]
        found = (exact or [tool for tool in offered if tool.whole_name.endswith(call.tool)] or [Offered(call.tool)])[0]
        if isinstance(call.arguments, str):
            is_text = found.form == "custom"
            name = found.fields[0] if found.fields else "input"
            return found, call.arguments if is_text else json.dumps({name: call.arguments})
        return found, json.dumps(call.arguments)


def text_in(body: Any) -> Iterator[str]:
    """All texts of a JSON value."""
    match body:
        case str():
            yield body
        case dict():
            for one in body.values():
                yield from text_in(one)
        case list():
            for one in body:
                yield from text_in(one)


# ---- the server ----

Script = Callable[[Asked], Answer]
_LONGEST_END: Final = 10


@dataclass(slots=True)
class Vendor:
    """A running vendor.

    Attributes:
        wire: Its wire.
        models: Its models.
        script: What it answers.
        log: All requests.
        url: The base URL.
        given: What was signed, by the signature.
    """

    wire: VendorWire
    models: Sequence[str]
    script: Script
    log: list[Asked] = field(default_factory=list)
    url: str = ""
    given: dict[str, str] = field(default_factory=dict)
    _numbers: Iterator[int] = field(default_factory=lambda: count(1))

    @asynccontextmanager
    async def listening(self) -> AsyncIterator[Vendor]:
        """Listens on a free port of loopback, for the duration of a block."""
        server = uvicorn.Server(
            uvicorn.Config(self, host="127.0.0.1", port=0, log_level="error", lifespan="off", ws="websockets-sansio")
        )
        server.install_signal_handlers = lambda: None  # type: ignore[attr-defined]
        task = asyncio.create_task(server.serve())
        while not server.started:
            await asyncio.sleep(0.01)
        port = server.servers[0].sockets[0].getsockname()[1]
        self.url = f"http://127.0.0.1:{port}{self.wire.base_path}"
        try:
            yield self
        finally:
            server.should_exit = server.force_exit = True
            with suppress(TimeoutError):
                await asyncio.wait_for(task, _LONGEST_END)

    async def __call__(self, scope: Scope, receive: ASGIReceiveCallable, send: ASGISendCallable) -> None:
        """Answers one connection of ASGI."""
        if scope["type"] not in {"http", "websocket"}:
            return
        headers = {name.decode().lower(): value.decode() for name, value in scope["headers"]}
        path = unquote(scope["path"])
        purpose = next((said for end, said in self.wire.paths.items() if path.endswith(end)), "")
        if scope["type"] == "websocket":
            await self._socket(path, headers, purpose, receive, send)
            return
        body = b""
        while True:
            message: Any = await receive()
            body += message.get("body", b"")
            if not message.get("more_body"):
                break
        if scope["method"] != "POST" or not purpose:
            await _reply(send, 404, json.dumps(self.wire.refusal(RefusedRequestError(f"no {path}", status=404))))
            return
        asked = Asked(next(self._numbers), path, headers, json.loads(body or b"{}"), purpose)
        answer = self._answered(asked)
        if isinstance(answer, RefusedRequestError):
            await _reply(send, answer.status, json.dumps(self.wire.refusal(answer)))
        elif purpose == "answer" and self.wire.wants_stream(asked):
            framed = (
                f"event: {name}\ndata: {json.dumps(event)}\n\n" if name else f"data: {_json(event)}\n\n"
                for name, event in self.wire.events(answer, asked, self._sign)
            )
            await _reply(send, 200, "".join(framed), "text/event-stream")
        else:
            await _reply(send, 200, json.dumps(self.wire.document(answer, asked, self._sign)))

    async def _socket(
        self,
        path: str,
        headers: Mapping[str, str],
        purpose: str,
        receive: ASGIReceiveCallable,
        send: ASGISendCallable,
    ) -> None:
        """A connection on which requests come one after the other; the vendor knows the last answer of each."""
        await receive()
        if not purpose or not self.wire.has_socket:
            await send({"type": "websocket.close", "code": 1000, "reason": ""})
            return
        await send({"type": "websocket.accept", "subprotocol": None, "headers": []})
        kept: dict[str, Any] = {}
        while (message := await receive())["type"] == "websocket.receive":
            body = self.wire.over_socket(json.loads(message.get("text") or "{}"), kept)
            asked = Asked(next(self._numbers), path, headers, body, purpose, is_on_socket=True)
            answer = self._answered(asked)
            if isinstance(answer, RefusedRequestError):
                events: list[Any] = [{"type": "error", "status": answer.status, **self.wire.refusal(answer)}]
            else:
                events = [event for _, event in self.wire.events(answer, asked, self._sign)]
                self.wire.keep(kept, asked, events)
            for event in events:
                await send({"type": "websocket.send", "text": json.dumps(event), "bytes": None})

    def _answered(self, asked: Asked) -> Answer | RefusedRequestError:
        self.log.append(asked)
        try:
            self.wire.check(asked, self.models, self.given)
        except RefusedRequestError as error:
            asked.refused = str(error)
            return error
        is_warm_up = asked.body.get("generate") is False  # the connection learns the request, and no answer follows
        return Answer(()) if is_warm_up else self.script(asked)

    def _sign(self, text: str) -> str:
        signature = f"signed-{len(self.given) + 1}-" + "0" * 40
        self.given[signature] = text
        return signature


def _json(event: Any) -> str:
    return event if isinstance(event, str) else json.dumps(event)


async def _reply(send: ASGISendCallable, status: int, body: str, media_type: str = "application/json") -> None:
    head = [(b"content-type", media_type.encode()), (b"content-length", str(len(body.encode())).encode())]
    await send({"type": "http.response.start", "status": status, "headers": head, "trailers": False})
    await send({"type": "http.response.body", "body": body.encode(), "more_body": False})
