"""Stored responses of an OpenResponses server; :mod:`partstream.protocols.serve` defines the interfaces.

A request may continue a stored response (`previous_response_id`): the model gets the input and output of all responses
before, then the new input. Instructions and tools are those of the new request alone. An item of the input may name an
item of an earlier response (`item_reference`), as the AI SDK does, and is replaced by it. :func:`join` resolves both.

:class:`ResponseRecord` reads a response as it is sent. The bytes of the stream are kept unchanged: a resumed stream has
the same events with the same numbers. The first event has number 0, so the place of a frame is its number.

The routes (retrieve and resume, delete, cancel, input items) are those of OpenAI's API, in the form of its clients
(openai 3.54, `responses`); the specification has none of them.

:class:`ResponsesSocket` is the WebSocket at the path of responses, without I/O: messages in, requests and messages out.
A `response.create` message holds the body of a request; the events of the response are the messages back, one JSON
object each. Responses do not overlap: a request waits for its turn. A socket remembers its last response, even if it is
not stored; a failed turn forgets the response that it continued ("WebSocket mode").

Summaries of compacted conversations are signed with the secret of the installation (:func:`sealed_summary`), and become
messages again in the next request.

Source: OpenResponses specification 2026-04-24.
"""

from __future__ import annotations
from collections import deque
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any, Final
from urllib.parse import parse_qs

from partstream.codec.json_codec import JSONDecodeError, dumps, loads
from partstream.errors import InvalidRequestError, UnsupportedParameterError
from partstream.protocols import serve
from partstream.protocols.failures import RefusedRequestError, common_reply, failure_of
from partstream.protocols.openresponses.errors import ENCRYPTED_REASONING, error_document
from partstream.protocols.openresponses.output_items import COMPACTION, Identifiers
from partstream.protocols.provider_state import SIGNED, WrongSignatureError, open_signed, sign
from partstream.protocols.read_request import described, optional_text

# ---- Summaries ----

SUMMARY: Final = "Summary of the conversation so far, in place of its messages:\n\n"
"""The beginning of a message that holds a summary."""


def sealed_summary(summary: str, secret: bytes) -> str:
    """A summary as the encrypted content of a compaction item, signed with the secret of the installation."""
    return sign({"summary": summary}, secret)


def open_compactions(items: Iterable[Any], secret: bytes) -> list[Any]:
    """The items with each summary of this installation as a message that every model reads.

    Raises:
        RefusedRequestError: A summary has another signature, or none.
    """
    opened: list[Any] = []
    for place, item in enumerate(items):
        text = item.get("encrypted_content") if _is(item, COMPACTION) else None
        if not isinstance(text, str) or not text.startswith(SIGNED):
            opened.append(item)  # also the summary of an upstream, which reads it itself
            continue
        try:
            summary = open_signed(text, secret)["summary"]
        except (WrongSignatureError, KeyError, TypeError) as error:
            message = (
                "The encrypted content of the compaction item could not be verified: this server has not written it."
            )
            where = f"input[{place}].encrypted_content"
            raise RefusedRequestError(message, where, "invalid_encrypted_content") from error
        opened.append({"type": "message", "role": "user", "content": f"{SUMMARY}{summary}"})
    return opened


TRIGGER: Final = "compaction_trigger"
"""The type of the item that asks for a compaction, as the last one of an input (docs/wires/serving.md#compaction)."""


def wants_compaction(body: Mapping[str, Any]) -> bool:
    """Whether a request for a response asks for the summary of its input in place of an answer."""
    items = body.get("input")
    return isinstance(items, list) and bool(items) and _is(items[-1], TRIGGER)


def _uncompacted(items: list[Any]) -> list[Any]:
    """The items of a chain without those that a compaction of the chain has replaced."""
    for place in range(len(items) - 1, 0, -1):
        if _is(items[place], COMPACTION) and _is(items[place - 1], TRIGGER):
            items = [*kept_items(items[: place - 1], Identifiers("")), *items[place:]]
            break
    return [item for item in items if not _is(item, TRIGGER)]


_KEPT_CHARACTERS: Final = 60_000
"""The most characters of messages that stay as JSON, from the newest back; about 15,000 tokens."""


def kept_items(value: object, identifiers: Identifiers) -> list[dict[str, Any]]:
    """The items that no summary replaces: the newest messages of users and of the system, and calls without an
    output."""
    items = value if isinstance(value, list) else [{"role": "user", "content": value}]
    answered = {item.get("call_id") for item in items if _is(item, "function_call_output")}
    kept: list[dict[str, Any]] = []
    room = _KEPT_CHARACTERS
    for place in range(len(items) - 1, -1, -1):
        item = items[place]
        if _is(item, "function_call"):
            if item.get("call_id") not in answered:
                kept.append({"status": "completed", **item, "id": item.get("id") or identifiers.make("fc", place)})
            continue
        message = _kept_message(item, identifiers.make("msg", place))
        if message is not None and room >= 0:
            room -= len(dumps(message))
            if room >= 0:
                kept.append(message)
    return kept[::-1]


def _kept_message(item: Any, item_id: str) -> dict[str, Any] | None:
    """A message in the form of an output item; None for an item that the summary replaces."""
    is_message = isinstance(item, Mapping) and item.get("type") in ("message", None) and "role" in item
    if not is_message or item["role"] not in ("user", "system", "developer"):
        return None
    content = item.get("content")
    parts = [{"type": "input_text", "text": content}] if isinstance(content, str) else list(content or ())
    if parts and str(parts[0].get("text", "")).startswith(SUMMARY):
        return None
    return {
        "type": "message",
        "id": item.get("id") or item_id,
        "status": "completed",
        "role": item["role"],
        "content": [{"detail": "auto", **part} if part.get("type") == "input_image" else part for part in parts],
    }


# ---- Requests that refer to earlier responses ----

NOT_FOUND_CODE: Final = "previous_response_not_found"

_NOT_OFFERED: Final[dict[str, str]] = {
    "stream_id": "this server has no lanes; leave it out, and open a socket for each response that runs beside others",
    "conversation": "this server keeps no conversations; send previous_response_id, or the whole input",
    "background": "this server has no jobs in the background; leave it out and read the stream",
    "prompt": "this server keeps no prompts; send instructions and input",
}
"""Fields that cannot be ignored without changing the response, with advice."""


def refuse(request: serve.WireRequest) -> None:
    """Refuses a request with a field that this server does not support.

    Raises:
        UnsupportedParameterError: The request asks for it.
    """
    for name, advice in _NOT_OFFERED.items():
        if request.body.get(name):
            raise UnsupportedParameterError(name, described(request.body[name]), f"nothing: {advice}")


def wanted(request: serve.WireRequest) -> serve.RequestReferences:
    """The response and the items that a request refers to.

    Raises:
        InvalidRequestError: `previous_response_id` or `input` has the wrong type.
    """
    previous = optional_text(request.body, "previous_response_id")
    items = input_list(request.body)
    return serve.RequestReferences(previous or None, tuple(item["id"] for item in items if _is_reference(item)))


def join(request: serve.WireRequest, earlier: serve.ResolvedReferences, secret: bytes) -> serve.ResolvedRequest:
    """A request with all items that it refers to.

    Raises:
        RefusedRequestError: A response or an item is not known, an output has no call, or a summary is not one of this
            installation.
        InvalidRequestError: `previous_response_id` or `input` has the wrong type.
    """
    asked = wanted(request)
    items = list(input_list(request.body))
    for place, item in enumerate(items):
        if _is_reference(item):
            items[place] = earlier.items.get(item["id"])
            if items[place] is None:
                raise RefusedRequestError(f"Item with id '{item['id']}' not found.", f"input[{place}].id", status=404)
    own = replace(request, body={**request.body, "input": items})
    if asked.answer_id is not None:
        if not earlier.chain:
            raise RefusedRequestError(
                f"Previous response with id '{asked.answer_id}' not found.", "previous_response_id", NOT_FOUND_CODE
            )
        before = _uncompacted(_said(earlier.chain))
        _refuse_lonely_outputs(items, before)
        items = before + items
    body = {**request.body, "input": open_compactions(items, secret)}
    if keeps(request):  # the stored response brings the state of reasoning into the next request
        include = [] if body.get("include") is None else body["include"]
        if isinstance(include, list) and ENCRYPTED_REASONING not in include:
            body["include"] = [*include, ENCRYPTED_REASONING]
    return serve.ResolvedRequest(replace(request, body=body), own)


def keeps(request: serve.WireRequest) -> bool:
    """Whether the response is to be kept: the default."""
    return request.body.get("store") is not False


def whole(chain: Sequence[serve.StoredAnswer], answer: serve.StoredAnswer) -> serve.StoredAnswer:
    """A response with the conversation before it as the input of its own request."""
    return replace(answer, previous_id=None, request={"input": [*_said(chain), *input_list(answer.request)]})


def input_list(body: Mapping[str, Any]) -> list[Any]:
    """The items of an input; a text is one message of the user.

    Raises:
        InvalidRequestError: It is neither.
    """
    value = body.get("input")
    if value is None:
        return []
    if isinstance(value, str):
        return [{"type": "message", "role": "user", "content": value}]
    if not isinstance(value, list):
        raise InvalidRequestError("input", described(value), "a string or a list of items")
    return value


def _is_reference(item: object) -> bool:
    """In the specification, the type of a reference is optional."""
    if not isinstance(item, Mapping) or not isinstance(item.get("id"), str):
        return False
    return item.get("type") == "item_reference" or (item.get("type") is None and "role" not in item)


def _said(chain: Iterable[serve.StoredAnswer]) -> list[Any]:
    """All input and output of responses."""
    return [item for one in chain for item in (*input_list(one.request), *(one.response.get("output") or ()))]


def _refuse_lonely_outputs(items: Iterable[Any], before: Iterable[Any]) -> None:
    """Refuses outputs of calls that neither the responses before nor the request hold.

    The reader of items refuses an id that is no text.
    """
    calls = [item.get("call_id") for item in (*before, *items) if _is(item, "function_call")]
    known = {one for one in calls if isinstance(one, str)}
    for place, item in enumerate(items):
        call_id = item.get("call_id") if _is(item, "function_call_output") else None
        if isinstance(call_id, str) and call_id not in known:
            raise RefusedRequestError(
                f"No tool call found for function call output with call_id {call_id}.",
                f"input[{place}].call_id",
            )


def _is(item: object, kind: str) -> bool:
    return isinstance(item, Mapping) and item.get("type") == kind


# ---- The record of one response ----

CANCELLED: Final = "cancelled"

_ENDS: Final = (b"event: response.completed\n", b"event: response.incomplete\n", b"event: response.failed\n")
_ITEM_DONE: Final = b"event: response.output_item.done\n"
_NAME: Final = b"event: "
_DATA: Final = b"\ndata: "


class ResponseRecord:
    """One response; see :class:`partstream.protocols.serve.AnswerRecord`.

    Args:
        limit: The most bytes of frames.
    """

    def __init__(self, limit: int) -> None:
        self._limit = limit
        self._size = 0
        self._chunks: list[bytes] | None = []
        self._frames: list[bytes] = []
        self._items: list[Any] | None = None
        self._response: dict[str, Any] | None = None
        self._ended = False
        self._cancelled = False

    @property
    def answer_id(self) -> str | None:
        """The id of the response, as its first event said it."""
        return None if self._response is None else self._response.get("id")

    @property
    def frames(self) -> Sequence[bytes] | None:
        """The frames so far; None once they are more than the limit."""
        if self._chunks is None:
            return None
        if self._chunks:  # split when they are needed, and once
            self._frames += frames_in(b"".join(self._chunks))
            self._chunks.clear()
        return self._frames

    @property
    def response(self) -> Mapping[str, Any] | None:
        """The response as its last lifecycle event said it."""
        return self._response

    def add(self, data: bytes) -> bool:
        """Reads the next bytes of the stream; returns whether the stream has ended."""
        if self._chunks is not None:
            self._size += len(data)
            if self._size <= self._limit:
                self._chunks.append(data)
            else:  # from here only the items are kept, in case the response has no end of its own
                self._items = list(_done_items(self.frames or ()))
                self._chunks, self._frames = None, []
        if self._response is None:
            self._response = next((event_of(frame)["response"] for frame in frames_in(data)), None)
        if self._items is not None and _ITEM_DONE in data:
            self._items += _done_items(frames_in(data))
        if any(end in data for end in _ENDS):
            last = [frame for frame in frames_in(data) if frame.startswith(_ENDS)]
            if last:
                self._response = event_of(last[-1])["response"]
                self._ended = True
        return self._ended

    def take_document(self, document: Mapping[str, Any]) -> None:
        """Reads a document that is sent in place of a stream; an error document holds no response."""
        if document.get("object") == "response":
            self._response, self._ended, self._chunks = dict(document), True, None

    def cancel(self) -> None:
        """Records that the response was stopped on behalf of its client."""
        self._cancelled = True

    def stored(self, request: serve.WireRequest) -> serve.StoredAnswer | None:
        """The request's own input, and the whole response."""
        if self._response is None:
            return None
        response, frames = dict(self._response), self.frames
        if not self._ended:
            response["output"] = list(_done_items(frames or ())) if self._items is None else self._items
        if self._cancelled or not self._ended:
            response |= {"status": CANCELLED, "completed_at": None}
            frames = None if frames is None else _cancelled(frames, response)
        previous = request.body.get("previous_response_id")
        return serve.StoredAnswer(
            id=str(response["id"]),
            previous_id=previous if isinstance(previous, str) and previous else None,
            request={"input": input_list(request.body)},
            response=response,
            frames=None if frames is None else tuple(frames),
        )


def frames_in(data: bytes) -> Iterator[bytes]:
    """The frames of events in the bytes of a stream, without comments and `[DONE]`."""
    return (frame + b"\n\n" for frame in data.split(b"\n\n") if frame.startswith(_NAME))


def event_of(frame: bytes) -> dict[str, Any]:
    """The event in a frame."""
    event: dict[str, Any] = loads(frame[frame.index(_DATA) + len(_DATA) : -2])
    return event


def _done_items(frames: Iterable[bytes]) -> Iterator[Any]:
    return (event_of(frame)["item"] for frame in frames if frame.startswith(_ITEM_DONE))


def _cancelled(frames: Sequence[bytes], response: Mapping[str, Any]) -> list[bytes]:
    """The frames of a stopped response, which end with `response.incomplete`: the wire has no event of cancellation."""
    kept = [frame for frame in frames if not frame.startswith(_ENDS)]
    event = {"type": "response.incomplete", "sequence_number": len(kept), "response": response}
    return [*kept, b"event: response.incomplete\ndata: " + dumps(event) + b"\n\n"]


# ---- Routes ----

_PREFIXES: Final = {"message": "msg", "function_call": "fc", "function_call_output": "fco", "reasoning": "rs"}


def unknown(answer_id: str) -> RefusedRequestError:
    """The error for a response that does not exist or belongs to another client."""
    return RefusedRequestError(f"Response with id '{answer_id}' not found.", "response_id", "not_found", status=404)


def unstreamed(answer_id: str) -> RefusedRequestError:
    """The error for a response whose events were not kept."""
    message = f"Response with id '{answer_id}' has no stream: it was not asked for as one, or is too long to be kept."
    return RefusedRequestError(message, "stream")


def _resumes(request: serve.WireRequest) -> int | None:
    """The number of the first event that a request wants; None for a request that wants no stream.

    Raises:
        InvalidRequestError: `stream` or `starting_after` has an invalid value.
    """
    query = parse_qs(request.query)
    stream = query.get("stream", ["false"])[-1].lower()
    if stream not in ("true", "false", "1", "0", ""):
        raise InvalidRequestError("stream", repr(stream[:40]), "true or false")
    if stream not in ("true", "1"):
        return None
    return _number(query, "starting_after", -1, 0, 2**53) + 1


def _input_items(request: serve.WireRequest, chain: Sequence[serve.StoredAnswer]) -> Mapping[str, Any]:
    """A page of the items that the model was given, including those of earlier responses; by default the newest first.

    Raises:
        InvalidRequestError: `limit` or `order` has an invalid value.
        RefusedRequestError: `after` is no item.
    """
    query = parse_qs(request.query)
    limit = _number(query, "limit", 20, 1, 100)
    order = query.get("order", ["desc"])[-1]
    if order not in ("asc", "desc"):
        raise InvalidRequestError("order", repr(order[:40]), "asc or desc")
    items: list[dict[str, Any]] = []
    for answer in chain:
        items += _input_of(answer)
        if answer is not chain[-1]:
            items += (dict(item) for item in answer.response.get("output") or ())
    if order == "desc":
        items.reverse()
    start = 0
    if after := query.get("after", [""])[-1]:
        places = [place for place, item in enumerate(items) if item["id"] == after]
        if not places:
            raise RefusedRequestError(f"Item with id '{after}' not found.", "after", status=404)
        start = places[0] + 1
    page = items[start : start + limit]
    return {
        "object": "list",
        "data": page,
        "first_id": page[0]["id"] if page else "",
        "last_id": page[-1]["id"] if page else "",
        "has_more": start + limit < len(items),
    }


def _input_of(answer: serve.StoredAnswer) -> Iterator[dict[str, Any]]:
    """The items of the request's own input in the form of stored items: with an id, a type and, for a message, a list
    of content."""
    identifiers = Identifiers(answer.id)
    for place, item in enumerate(input_list(answer.request)):
        if not isinstance(item, Mapping):
            continue
        kind = item.get("type") or "message"
        made = identifiers.make(_PREFIXES.get(kind, "item"), f"input/{place}")
        stored = {**item, "type": kind, "id": item.get("id") or made}
        if kind == "message":
            stored = {"status": "completed", **stored}
            if isinstance(item.get("content"), str):
                spoken = item.get("role") == "assistant"
                text = {"type": "output_text", "annotations": []} if spoken else {"type": "input_text"}
                stored["content"] = [{**text, "text": item["content"]}]
        yield stored


def items_of(answer: serve.StoredAnswer) -> dict[str, Mapping[str, Any]]:
    """The items of a response and of its own input, by their ids."""
    said = [item for item in answer.response.get("output") or () if isinstance(item, Mapping)]
    return {item["id"]: item for item in (*_input_of(answer), *said) if isinstance(item.get("id"), str)}


def _number(query: Mapping[str, Sequence[str]], name: str, default: int, least: int, most: int) -> int:
    """A whole number of the query.

    Raises:
        InvalidRequestError: It is no whole number, or outside the limits.
    """
    values = query.get(name)
    if not values:
        return default
    text = values[-1]
    if not (text.isascii() and text.isdigit() and len(text) <= 16 and least <= int(text) <= most):
        raise InvalidRequestError(name, repr(text[:40]), f"a whole number from {least} to {most}")
    return int(text)


ROUTES: Final = (
    serve.StoredRoute("GET", "/responses/{id}", lambda _request, chain: chain[-1].response, resumes=_resumes),
    serve.StoredRoute(
        "DELETE",
        "/responses/{id}",
        lambda _request, chain: {"id": chain[-1].id, "object": "response", "deleted": True},
        serve.Effect.DELETE,
    ),
    serve.StoredRoute(
        "POST", "/responses/{id}/cancel", lambda _request, chain: chain[-1].response, serve.Effect.CANCEL
    ),
    serve.StoredRoute("GET", "/responses/{id}/input_items", _input_items),
)

STATE: Final = serve.ServedState(
    refuse=refuse,
    wanted=wanted,
    join=join,
    keeps=keeps,
    unkept=lambda request: replace(request, body={**request.body, "store": False}),
    record=ResponseRecord,
    items=items_of,
    whole=whole,
    unknown=unknown,
    unstreamed=unstreamed,
    routes=ROUTES,
    fields=frozenset({"previous_response_id", "store"}),
)


# ---- WebSocket ----

_CREATE: Final = "response.create"
_STEER: Final = "response.steer"
_MOST_WAITING: Final = 8

_MOST_REMEMBERED: Final = 64 * 1024 * 1024
"""The most bytes of a conversation that a socket remembers: more than any model takes."""

_NOT_OF_THE_REQUEST: Final = frozenset({"type", "generate", "stream", "stream_options"})
"""Fields of a message that are no fields of a response's body, or are not the client's to choose here."""

_ERROR_EVENT: Final = b"event: error\n"


class ResponsesSocket:
    """The conversation on one socket; see :class:`partstream.protocols.serve.SocketConversation`."""

    def __init__(self, handshake: serve.WireRequest) -> None:
        self._handshake = handshake
        self._waiting: deque[serve.SocketTurn] = deque()
        self._turn: serve.SocketTurn | None = None
        self._last: serve.StoredAnswer | None = None

    def receive(self, message: str | bytes) -> list[str]:
        """Reads a message; returns the error if it is no request."""
        try:
            said = loads(message if isinstance(message, bytes) else message.encode())
        except (JSONDecodeError, UnicodeEncodeError):
            return [_error(400, "got a message that is not JSON", "invalid_json")]
        kind = said.get("type") if isinstance(said, dict) else None
        if kind == _STEER:
            return [_not_steered(said)]
        if kind != _CREATE:
            shown = f"{kind!r:.60}" if isinstance(kind, str) else "no type"
            return [_error(400, f"got {shown}, expected {_CREATE}: this server takes no other event", _UNKNOWN, "type")]
        if len(self._waiting) >= _MOST_WAITING:
            return [_error(429, f"{_MOST_WAITING} requests wait for their turn already", "rate_limit_exceeded")]
        if said.get("stream_id"):  # in words of its own lane, so that no client takes it for an error of another one
            return [_no_lane(said["stream_id"])]
        body = {name: value for name, value in said.items() if name not in _NOT_OF_THE_REQUEST}
        request = replace(self._handshake, method="POST", query="", body={**body, "stream": True})
        self._waiting.append(serve.SocketTurn(request, generates=said.get("generate") is not False))
        return []

    def next_turn(self) -> serve.SocketTurn | None:
        """The next request, unless one is being answered or none waits."""
        if self._turn is not None or not self._waiting:
            return None
        self._turn = self._waiting.popleft()
        return self._turn

    def recall(self, wanted: serve.RequestReferences) -> serve.ResolvedReferences:
        """The last response of the socket, if a request names it or its items."""
        last = self._last
        if last is None:
            return serve.ResolvedReferences()
        items = items_of(last) if wanted.item_ids else {}
        found = {item_id: items[item_id] for item_id in wanted.item_ids if item_id in items}
        return serve.ResolvedReferences((last,) if last.id == wanted.answer_id else (), found)

    def messages(self, data: bytes) -> list[str]:
        """The events in the bytes of a stream.

        An `error` event is omitted: on a socket it would end the turn, and `response.failed` with the same error
        follows it.
        """
        return [
            frame[frame.index(_DATA) + len(_DATA) : -2].decode()
            for frame in frames_in(data)
            if not frame.startswith(_ERROR_EVENT)
        ]

    def refused(self, status: int, document: Mapping[str, Any]) -> list[str]:
        """The error for a request that was refused before its response began."""
        self._forget()
        self._turn = None
        error = {"code": None, **document.get("error", {})}
        error["code"] = error["code"] or error.get("type") or _UNKNOWN
        return [dumps({"type": "error", "status": status, "error": error}).decode()]

    def ended(self, earlier: serve.ResolvedReferences, stored: serve.StoredAnswer | None) -> None:
        """Ends the turn, and remembers its response with the whole conversation before it."""
        if stored is None or stored.response.get("status") == "failed":
            self._forget()
        else:
            answer = whole(earlier.chain, stored)
            self._last = answer if len(dumps(answer.request)) <= _MOST_REMEMBERED else None
        self._turn = None

    def _forget(self) -> None:
        """Forgets the response that the failed turn continued."""
        named = None if self._turn is None else self._turn.request.body.get("previous_response_id")
        if self._last is not None and self._last.id == named:
            self._last = None

    def too_old(self) -> list[str]:
        """The error for a socket that has been open for too long."""
        message = "this connection has been open for as long as it may; open another one"
        return [_error(400, message, "websocket_connection_limit_reached")]


_UNKNOWN: Final = "invalid_request"


def _not_steered(message: Mapping[str, Any]) -> str:
    """The refusal of input for a response that runs: an `error` would end that response
    (docs/wires/serving.md#websocket)."""
    target = message.get("previous_response_id")
    said = (
        f"{_STEER}: got input for the response {target!r:.80}, expected {_CREATE}: this server steers no response; "
        "send the input with previous_response_id when the response has ended"
    )
    error = {"type": "invalid_request_error", "code": "steering_not_supported", "message": said}
    steer = {"previous_response_id": target, "input": message.get("input")}
    return dumps({"type": f"{_STEER}.failed", "sequence_number": 0, "error": error, "steer": steer}).decode()


def _no_lane(stream_id: object) -> str:
    said = UnsupportedParameterError("stream_id", described(stream_id), f"nothing: {_NOT_OFFERED['stream_id']}")
    reply = common_reply(failure_of(said))
    return dumps({"type": "error", "status": reply.status, "stream_id": stream_id, **reply.body}).decode()


def _error(status: int, message: str, code: str, param: str | None = None) -> str:
    error = {**error_document(status, message)["error"], "code": code, "param": param}
    return dumps({"type": "error", "status": status, "error": error}).decode()


SOCKET: Final = serve.ServedSocket(open=ResponsesSocket)
