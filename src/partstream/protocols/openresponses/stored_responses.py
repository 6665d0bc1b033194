"""What a server of OpenResponses remembers of its responses; see :mod:`partstream.protocols.serve`."""

from __future__ import annotations

from collections import deque
from collections.abc import Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Final
from urllib.parse import parse_qs

from partstream.codec.json_codec import JSONDecodeError, dumps, loads
from partstream.errors import InvalidRequestError
from partstream.protocols.failures import RefusedRequestError
from partstream.protocols.openresponses.errors import ENCRYPTED_REASONING, error_document
from partstream.protocols.openresponses.output_items import COMPACTION, Identifiers
from partstream.protocols.provider_state import SIGNED, WrongSignatureError, open_signed, sign
from partstream.protocols.read_request import described, optional_text
from partstream.protocols.serve import (
    Effect,
    RequestReferences,
    ResolvedReferences,
    ResolvedRequest,
    ServedSocket,
    ServedState,
    SocketTurn,
    StoredAnswer,
    StoredRoute,
)

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from partstream.protocols.serve import WireRequest


# ---- sealed summary ----
# The summary of a conversation as text that clients carry: signed, and opened again as a message.

SUMMARY: Final = "Summary of the conversation so far, in place of its messages:\n\n"
"""What the message of a summary begins with."""


def sealed_summary(summary: str, secret: bytes) -> str:
    """A summary as the encrypted content of a compaction item, signed with the secret of the installation."""
    return sign({"summary": summary}, secret)


def open_compactions(items: Iterable[Any], secret: bytes) -> list[Any]:
    """The items with each summary of this installation as a message that every model reads.

    Args:
        items: The items of an input.
        secret: The secret of the installation.

    Raises:
        RefusedRequestError: A summary has another signature, or none.
    """
    return [_opened(item, place, secret) if _is_compaction(item) else item for place, item in enumerate(items)]


def _opened(item: Mapping[str, Any], place: int, secret: bytes) -> Any:
    text = item.get("encrypted_content")
    where = f"input[{place}].encrypted_content"
    if not isinstance(text, str) or not text.startswith(SIGNED):
        return item  # of an upstream, which reads it itself
    try:
        summary = open_signed(text, secret)["summary"]
    except (WrongSignatureError, KeyError, TypeError) as error:
        message = "The encrypted content of the compaction item could not be verified: this server has not written it."
        raise RefusedRequestError(message, where, "invalid_encrypted_content") from error
    return {"type": "message", "role": "user", "content": f"{SUMMARY}{summary}"}


def _is_compaction(item: object) -> bool:
    return isinstance(item, Mapping) and item.get("type") == COMPACTION


# ---- served requests ----
# Requests that refer to earlier responses: what they refer to, and the request with it.
#
# The server samples over the input and output of the responses before, then the new input (specification 2026-04-24,
# `previous_response_id`). Instructions and tools are those of the new request alone.
#
# An item of the input may name an item of an earlier response (`item_reference`), as the AI SDK does where responses
# are stored; the item stands there then.

NOT_FOUND_CODE: Final = "previous_response_not_found"

_REFERENCE: Final = "item_reference"

_NOT_OFFERED: Final[dict[str, str]] = {
    "conversation": "this server keeps no conversations; send previous_response_id, or the whole input",
    "background": "this server has no jobs in the background; leave it out and read the stream",
    "prompt": "this server keeps no prompts; send instructions and input",
}
"""What would change the meaning of an answer if it were ignored, and what to do in its place."""


def refuse(request: WireRequest) -> None:
    """Refuses what this server does not offer, by the name of the field.

    Raises:
        RefusedRequestError: The request asks for it.
    """
    for name, advice in _NOT_OFFERED.items():
        if request.body.get(name):
            raise RefusedRequestError(f"got {name}: {advice}", name, "unsupported_parameter")


def wanted(request: WireRequest) -> RequestReferences:
    """What of earlier responses a request refers to.

    Raises:
        InvalidRequestError: `previous_response_id` or `input` has the wrong type.
    """
    previous = optional_text(request.body, "previous_response_id")
    items = input_list(request.body)
    return RequestReferences(previous or None, tuple(item["id"] for item in items if _is_reference(item)))


def join(request: WireRequest, earlier: ResolvedReferences, secret: bytes) -> ResolvedRequest:
    """A request with everything that it refers to.

    Raises:
        RefusedRequestError: A response or an item is not known, an output has no call, or a summary is not one of this
            installation.
        InvalidRequestError: `previous_response_id` or `input` has the wrong type.
    """
    asked = wanted(request)
    items = [_resolved(item, place, earlier) for place, item in enumerate(input_list(request.body))]
    own = replace(request, body={**request.body, "input": items})
    if asked.answer_id is not None:
        if not earlier.chain:
            raise RefusedRequestError(
                f"Previous response with id '{asked.answer_id}' not found.", "previous_response_id", NOT_FOUND_CODE
            )
        before = _said(earlier.chain)
        _refuse_lonely_outputs(items, before)
        items = before + items
    body = {**request.body, "input": open_compactions(items, secret)}
    if keeps(request):  # the next request brings the state of reasoning back through what is kept
        body["include"] = _with_state(body.get("include"))
    return ResolvedRequest(replace(request, body=body), own)


def keeps(request: WireRequest) -> bool:
    """Whether the client wants the response to be kept, as it does unless it says otherwise."""
    return request.body.get("store") is not False


def unkept(request: WireRequest) -> WireRequest:
    """The request for a response that is not kept, and says so."""
    return replace(request, body={**request.body, "store": False})


def whole(chain: Sequence[StoredAnswer], answer: StoredAnswer) -> StoredAnswer:
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
    """The specification lets the type be left out."""
    if not isinstance(item, Mapping) or not isinstance(item.get("id"), str):
        return False
    return item.get("type") == _REFERENCE or (item.get("type") is None and "role" not in item)


def _resolved(item: Any, place: int, earlier: ResolvedReferences) -> Any:
    if not _is_reference(item):
        return item
    found = earlier.items.get(item["id"])
    if found is None:
        raise RefusedRequestError(f"Item with id '{item['id']}' not found.", f"input[{place}].id", status=404)
    return found


def _said(chain: Iterable[StoredAnswer]) -> list[Any]:
    """All input and output of responses."""
    return [item for one in chain for item in (*input_list(one.request), *(one.response.get("output") or ()))]


def _refuse_lonely_outputs(items: Iterable[Any], before: Iterable[Any]) -> None:
    """Refuses outputs of calls that neither the responses before nor the request hold.

    An id that is no text is left to the reader of items, which says so.
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


def _with_state(include: Any) -> Any:
    if include is None:
        return [ENCRYPTED_REASONING]
    if not isinstance(include, list) or ENCRYPTED_REASONING in include:
        return include
    return [*include, ENCRYPTED_REASONING]


# ---- served record ----
# Reads a response as it is sent, and tells what is kept of it.
#
# The bytes of the stream are kept as they are: a stream that is resumed has the same events with the same numbers.
# The first event has number 0 and each has the next, so the place of a frame is its number.

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
        if self._chunks:  # told apart only when somebody looks, and once
            self._frames += frames_in(b"".join(self._chunks))
            self._chunks.clear()
        return self._frames

    @property
    def response(self) -> Mapping[str, Any] | None:
        """The response as its last lifecycle event said it."""
        return self._response

    def add(self, data: bytes) -> bool:
        """Takes the next bytes of the stream; says whether its end is in them."""
        self._keep(data)
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

    def _keep(self, data: bytes) -> None:
        if self._chunks is None:
            return
        self._size += len(data)
        if self._size <= self._limit:
            self._chunks.append(data)
            return
        # From here only what is needed in case the response has no end of its own.
        self._items = list(_done_items(self.frames or ()))
        self._chunks, self._frames = None, []

    def take_document(self, document: Mapping[str, Any]) -> None:
        """Takes the response that is sent in place of a stream; an error is none."""
        if document.get("object") == "response":
            self._response, self._ended, self._chunks = dict(document), True, None

    def cancel(self) -> None:
        """Records that the response was stopped on behalf of its client."""
        self._cancelled = True

    def stored(self, request: WireRequest) -> StoredAnswer | None:
        """What is to be kept: of the request its own input, of the response everything."""
        if self._response is None:
            return None
        response, frames = dict(self._response), self.frames
        if not self._ended:
            response["output"] = list(_done_items(frames or ())) if self._items is None else self._items
        if self._cancelled or not self._ended:
            response |= {"status": CANCELLED, "completed_at": None}
            frames = None if frames is None else _cancelled(frames, response)
        previous = request.body.get("previous_response_id")
        return StoredAnswer(
            id=str(response["id"]),
            previous_id=previous if isinstance(previous, str) and previous else None,
            request={"input": input_list(request.body)},
            response=response,
            frames=None if frames is None else tuple(frames),
        )


def frames_in(data: bytes) -> Iterator[bytes]:
    """The frames of events in whole bytes of a stream; comments and `[DONE]` are none."""
    return (frame + b"\n\n" for frame in data.split(b"\n\n") if frame.startswith(_NAME))


def event_of(frame: bytes) -> dict[str, Any]:
    """The event in a frame."""
    event: dict[str, Any] = loads(frame[frame.index(_DATA) + len(_DATA) : -2])
    return event


def _done_items(frames: Iterable[bytes]) -> Iterator[Any]:
    return (event_of(frame)["item"] for frame in frames if frame.startswith(_ITEM_DONE))


def _cancelled(frames: Sequence[bytes], response: Mapping[str, Any]) -> list[bytes]:
    """The frames of a stopped response, which end with what became of it: the wire has no event of its own for that."""
    kept = [frame for frame in frames if not frame.startswith(_ENDS)]
    event = {"type": "response.incomplete", "sequence_number": len(kept), "response": response}
    return [*kept, b"event: response.incomplete\ndata: " + dumps(event) + b"\n\n"]


# ---- served routes ----
# The routes of stored responses: retrieve and resume, delete, cancel, and the items of their input.
#
# The specification has none of them; they are those of OpenAI's API, as its clients ask them (openai 3.54,
# `responses`).

_MOST_ITEMS: Final = 100
_USUAL_ITEMS: Final = 20
_PREFIXES: Final = {"message": "msg", "function_call": "fc", "function_call_output": "fco", "reasoning": "rs"}


def unknown(answer_id: str) -> RefusedRequestError:
    """The error for a response that is not known: the same, whether there is none or it belongs to somebody else."""
    return RefusedRequestError(f"Response with id '{answer_id}' not found.", "response_id", "not_found", status=404)


def unstreamed(answer_id: str) -> RefusedRequestError:
    """The error for a response whose events were not kept."""
    message = f"Response with id '{answer_id}' has no stream: it was not asked for as one, or is too long to be kept."
    return RefusedRequestError(message, "stream")


def _retrieve(_request: WireRequest, chain: Sequence[StoredAnswer]) -> Mapping[str, Any]:
    return chain[-1].response


def _resumes(request: WireRequest) -> int | None:
    """The number of the first event that a request wants.

    Raises:
        InvalidRequestError: `stream` or `starting_after` is none of what they may be.
    """
    query = parse_qs(request.query)
    stream = query.get("stream", ["false"])[-1].lower()
    if stream not in ("true", "false", "1", "0", ""):
        raise InvalidRequestError("stream", repr(stream[:40]), "true or false")
    if stream not in ("true", "1"):
        return None
    return _number(query, "starting_after", -1, 0, 2**53) + 1


def _deleted(_request: WireRequest, chain: Sequence[StoredAnswer]) -> Mapping[str, Any]:
    return {"id": chain[-1].id, "object": "response", "deleted": True}


def _input_items(request: WireRequest, chain: Sequence[StoredAnswer]) -> Mapping[str, Any]:
    """A page of the items that the model was given, those of earlier responses too; the newest first, unless asked.

    Raises:
        InvalidRequestError: `limit` or `order` is none of what they may be.
        RefusedRequestError: `after` is no item.
    """
    query = parse_qs(request.query)
    limit = _number(query, "limit", _USUAL_ITEMS, 1, _MOST_ITEMS)
    order = query.get("order", ["desc"])[-1]
    if order not in ("asc", "desc"):
        raise InvalidRequestError("order", repr(order[:40]), "asc or desc")
    items = list(_given(chain))
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


def _given(chain: Sequence[StoredAnswer]) -> Iterator[dict[str, Any]]:
    for answer in chain:
        yield from _input_of(answer)
        if answer is not chain[-1]:
            yield from (dict(item) for item in answer.response.get("output") or ())


def _input_of(answer: StoredAnswer) -> Iterator[dict[str, Any]]:
    """The items of the request's own input, in the form of a stored item: each has an id, a type and, as a message, a
    list of content."""
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


def items_of(answer: StoredAnswer) -> dict[str, Mapping[str, Any]]:
    """The items of a response and of its own input, by their ids."""
    said = [item for item in answer.response.get("output") or () if isinstance(item, Mapping)]
    return {item["id"]: item for item in (*_input_of(answer), *said) if isinstance(item.get("id"), str)}


def _number(query: Mapping[str, Sequence[str]], name: str, default: int, least: int, most: int) -> int:
    """A whole number of the query.

    Raises:
        InvalidRequestError: It is none, or outside the limits.
    """
    values = query.get(name)
    if not values:
        return default
    text = values[-1]
    if not (text.isascii() and text.isdigit() and len(text) <= 16 and least <= int(text) <= most):
        raise InvalidRequestError(name, repr(text[:40]), f"a whole number from {least} to {most}")
    return int(text)


ROUTES: Final = (
    StoredRoute("GET", "/responses/{id}", _retrieve, resumes=_resumes),
    StoredRoute("DELETE", "/responses/{id}", _deleted, Effect.DELETE),
    StoredRoute("POST", "/responses/{id}/cancel", _retrieve, Effect.CANCEL),
    StoredRoute("GET", "/responses/{id}/input_items", _input_items),
)


# ---- served state ----

STATE: Final = ServedState(
    refuse=refuse,
    wanted=wanted,
    join=join,
    keeps=keeps,
    unkept=unkept,
    record=ResponseRecord,
    items=items_of,
    whole=whole,
    unknown=unknown,
    unstreamed=unstreamed,
    routes=ROUTES,
    fields=frozenset({"previous_response_id", "store"}),
)


# ---- served socket ----
# The WebSocket at the path of responses, without I/O: messages in, requests and messages out.
#
# A client says `response.create` with the body of a request. The events of the response are the messages back, one
# JSON object each. Responses do not overlap: a request waits for its turn. A socket remembers its last response, also
# one that is not stored; a turn that fails forgets the response that it continued (specification 2026-04-24,
# "WebSocket mode").

_CREATE: Final = "response.create"
_MOST_WAITING: Final = 8

_MOST_REMEMBERED: Final = 64 * 1024 * 1024
"""The most bytes of a conversation that a socket remembers: more than any model takes."""

_NOT_OF_THE_REQUEST: Final = frozenset({"type", "generate", "stream", "stream_options"})
"""Fields of a message that are no fields of a response's body, or are not the client's to choose here."""

_ERROR_EVENT: Final = b"event: error\n"


class ResponsesSocket:
    """What is said on one socket; see :class:`partstream.protocols.serve.SocketConversation`.

    Args:
        handshake: The request that opened it.
    """

    def __init__(self, handshake: WireRequest) -> None:
        self._handshake = handshake
        self._waiting: deque[SocketTurn] = deque()
        self._turn: SocketTurn | None = None
        self._last: StoredAnswer | None = None

    def receive(self, message: str | bytes) -> list[str]:
        """Takes a message; returns the error for one that is no request."""
        try:
            said = loads(message if isinstance(message, bytes) else message.encode())
        except (JSONDecodeError, UnicodeEncodeError):
            return [_error(400, "got a message that is not JSON", "invalid_json")]
        kind = said.get("type") if isinstance(said, dict) else None
        if kind != _CREATE:
            shown = f"{kind!r:.60}" if isinstance(kind, str) else "no type"
            return [_error(400, f"got {shown}, expected {_CREATE}: this server takes no other event", _UNKNOWN, "type")]
        if len(self._waiting) >= _MOST_WAITING:
            return [_error(429, f"{_MOST_WAITING} requests wait for their turn already", "rate_limit_exceeded")]
        body = {name: value for name, value in said.items() if name not in _NOT_OF_THE_REQUEST}
        request = replace(self._handshake, method="POST", query="", body={**body, "stream": True})
        self._waiting.append(SocketTurn(request, generates=said.get("generate") is not False))
        return []

    def next_turn(self) -> SocketTurn | None:
        """The next request, unless one is being answered or none waits."""
        if self._turn is not None or not self._waiting:
            return None
        self._turn = self._waiting.popleft()
        return self._turn

    def recall(self, wanted: RequestReferences) -> ResolvedReferences:
        """The last response of the socket, where a request names it or its items."""
        last = self._last
        if last is None:
            return ResolvedReferences()
        items = items_of(last) if wanted.item_ids else {}
        found = {item_id: items[item_id] for item_id in wanted.item_ids if item_id in items}
        return ResolvedReferences((last,) if last.id == wanted.answer_id else (), found)

    def messages(self, data: bytes) -> list[str]:
        """The events in the bytes of a stream.

        An `error` event of a stream is left out: here it would say that the turn is over, and `response.failed` with
        the same error follows it.
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

    def ended(self, earlier: ResolvedReferences, stored: StoredAnswer | None) -> None:
        """Ends the turn, and remembers its response with the whole conversation before it."""
        if stored is None or stored.response.get("status") == "failed":
            self._forget()
        else:
            self._remember(whole(earlier.chain, stored))
        self._turn = None

    def _remember(self, answer: StoredAnswer) -> None:
        is_small = len(dumps(answer.request)) <= _MOST_REMEMBERED
        self._last = answer if is_small else None

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


def _error(status: int, message: str, code: str, param: str | None = None) -> str:
    error = {**error_document(status, message)["error"], "code": code, "param": param}
    return dumps({"type": "error", "status": status, "error": error}).decode()


SOCKET: Final = ServedSocket(open=ResponsesSocket)
