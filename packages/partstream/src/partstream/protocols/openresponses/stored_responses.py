"""Stored responses of an OpenResponses server; :mod:`partstream.protocols.serve` defines the interfaces.

A request may continue a stored response (`previous_response_id`): the model gets the input and output of all responses
before, then the new input. Instructions and tools are those of the new request alone. An item of the input may name an
item of an earlier response (`item_reference`), as the AI SDK does, and is replaced by it.

A record keeps the bytes of the stream unchanged: a resumed stream has the same events with the same numbers. The first
event has number 0, so the place of a frame is its number.

The routes (retrieve and resume, delete, cancel, input items) are those of OpenAI's API, in the form of its clients
(openai 3.54, `responses`); the specification has none of them.

On the WebSocket at the path of responses, a `response.create` message holds the body of a request; the events of the
response are the messages back, one JSON object each. Responses do not overlap: a request waits for its turn. A socket
remembers its last response, even if it is not stored; a failed turn forgets the response that it continued ("WebSocket
mode" of the specification).

Summaries of compacted conversations are signed (:func:`sealed_summary`), and become messages in the next request.
"""

from __future__ import annotations
from collections import deque
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, Final
from urllib.parse import parse_qs

from partstream.codec.checks import replace
from partstream.codec.json_codec import JSONDecodeError, dumps, loads, loads_finite, loads_or_none, nests_too_deeply
from partstream.codec.sse import SSEDecoder
from partstream.conversation.provider_state import SIGNED, WrongSignatureError, open_signed, sign
from partstream.errors import InvalidRequestError, PartstreamError, UnsupportedParameterError
from partstream.protocols import serve
from partstream.protocols.failures import RefusedRequestError, UnknownReferenceError, common_reply, failure_of
from partstream.protocols.openresponses.errors import ENCRYPTED_REASONING
from partstream.protocols.openresponses.output_items import is_own_id, make_id
from partstream.protocols.read_request import described, optional_text

# ---- Summaries ----

COMPACTION: Final = "compaction"
"""The type of the item with the summary that replaces a conversation, ours or an upstream's."""

SUMMARY: Final = "Summary of the conversation so far, in place of its messages:\n\n"
"""The beginning of a message that holds a summary."""


def sealed_summary(summary: str, secret: bytes, body: Mapping[str, Any]) -> str:
    """A summary as the encrypted content of a compaction item: signed with the secret of its owner, it names what it is
    and the model of the request."""
    return sign({"kind": COMPACTION, "model": body.get("model"), "summary": summary}, secret)


def open_compactions(items: Iterable[Any], secret: bytes, body: Mapping[str, Any] | None = None) -> list[Any]:
    """The items with each summary of this owner as a message that every model reads.

    Args:
        secret: The secret of the owner.
        body: The request whose client sends the items; None for those of the store, where the model may change.

    Raises:
        RefusedRequestError: A summary has another signature, or none, or was made for another model.
    """
    opened: list[Any] = []
    for place, item in enumerate(items):
        text = item.get("encrypted_content") if _is(item, COMPACTION) else None
        if not isinstance(text, str) or not text.startswith(SIGNED):
            opened.append(item)  # also the summary of an upstream, which reads it itself
            continue
        try:
            said = open_signed(text, secret)
        except WrongSignatureError:
            said = None
        wanted = {} if body is None else {"model": body.get("model")}
        if not isinstance(said, dict) or not said.items() >= ({"kind": COMPACTION} | wanted).items():
            why = (
                "The encrypted content of the compaction item could not be verified: this server has not written it "
                "for this caller and this model."
            )
            raise RefusedRequestError(why, f"input[{place}].encrypted_content", "invalid_encrypted_content")
        opened.append({"type": "message", "role": "user", "content": f"{SUMMARY}{said['summary']}"})
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
            items = [*kept_items(items[: place - 1], ""), *items[place:]]
            break
    return [item for item in items if not _is(item, TRIGGER)]


_KEPT_CHARACTERS: Final = 60_000
"""The most characters of messages that stay as JSON, from the newest back; about 15,000 tokens."""


def kept_items(value: object, identity: str) -> list[dict[str, Any]]:
    """The items that no summary replaces: the newest messages of users and of the system, and calls without an
    output."""
    items = value if isinstance(value, list) else [{"role": "user", "content": value}]
    outputs = [item for item in items if isinstance(item, Mapping) and str(item.get("type")).endswith("_output")]
    answered = {item.get("call_id") or item.get("id") for item in outputs}  # a local shell has only an id
    kept: list[dict[str, Any]] = []
    room = _KEPT_CHARACTERS
    for place in range(len(items) - 1, -1, -1):
        item = items[place]
        if isinstance(item, Mapping) and str(item.get("type")).endswith("_call"):
            if item.get("call_id") and item["call_id"] not in answered:
                kept.append({"status": "completed", **item, "id": item.get("id") or make_id(identity, "fc", place)})
            continue
        content = item.get("content") if isinstance(item, Mapping) else None
        if isinstance(content, str) and len(content) > room:
            room = -1
        message = _kept_message(item, make_id(identity, "msg", place)) if room >= 0 else None
        if message is not None:
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
    return [item for one in chain for item in (*input_list(one.request), *(one.response.get("output") or ()))]


def _refuse_lonely_outputs(items: Iterable[Any], before: Iterable[Any]) -> None:
    """Refuses outputs of calls that neither the responses before nor the request hold."""
    calls = [item.get("call_id") for item in (*before, *items) if _is(item, "function_call")]
    known = {one for one in calls if isinstance(one, str)}
    for place, item in enumerate(items):
        call_id = item.get("call_id") if _is(item, "function_call_output") else None
        if isinstance(call_id, str) and call_id not in known:
            said = f"No tool call found for function call output with call_id {call_id}."
            raise RefusedRequestError(said, f"input[{place}].call_id")


def _is(item: object, kind: str) -> bool:
    return isinstance(item, Mapping) and item.get("type") == kind


# ---- The record of one response ----

_ENDS: Final = (b"event: response.completed\n", b"event: response.incomplete\n", b"event: response.failed\n")
_ITEM_DONE: Final = b"event: response.output_item.done\n"
_NAME: Final = b"event: "
_DATA: Final = b"\ndata: "


class _Record(serve.AnswerRecord):
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
        answer_id = None if self._response is None else self._response.get("id")
        return answer_id if isinstance(answer_id, str) else None

    @property
    def frames(self) -> Sequence[bytes] | None:
        if self._chunks is None:
            return None
        if self._chunks:  # split when they are needed, and once
            self._frames += frames_in(b"".join(self._chunks))
            self._chunks.clear()
        return self._frames

    @property
    def response(self) -> Mapping[str, Any] | None:
        return self._response

    def add(self, data: bytes) -> bool:
        data = _named(data)
        if self._chunks is not None:
            self._size += len(data)
            if self._size <= self._limit:
                self._chunks.append(data)
            else:  # from here only the items are kept, in case the response has no end of its own
                self._items = list(_done_items(self.frames or ()))
                self._chunks, self._frames = None, []
        if self._response is None:
            begun = (event_of(frame).get("response") for frame in frames_in(data))
            self._response = next((one for one in begun if isinstance(one, dict)), None)
        if self._items is not None and _ITEM_DONE in data:
            self._items += _done_items(frames_in(data))
        if any(end in data for end in _ENDS):
            for frame in frames_in(data):
                response = event_of(frame).get("response") if frame.startswith(_ENDS) else None
                if isinstance(response, dict):
                    self._response, self._ended = response, True
        return self._ended

    def take_document(self, document: Mapping[str, Any]) -> None:
        if document.get("object") == "response":
            self._response, self._ended, self._chunks = dict(document), True, None

    def cancel(self) -> None:
        self._cancelled = True

    def unkept(self, data: bytes) -> bytes:
        frames = data.split(b"\n\n")
        for place, frame in enumerate(frames):
            head = frame.partition(b"{")[0]
            document = loads_or_none(frame[len(head) :])
            response = document.get("response", document) if isinstance(document, dict) else None
            if isinstance(response, dict) and response.get("store") is True:
                response["store"] = False
                frames[place] = head + dumps(document)
        return b"\n\n".join(frames)

    def stored(self, request: serve.WireRequest) -> serve.StoredAnswer | None:
        if self._response is None or self.answer_id is None:
            return None
        response, frames = dict(self._response), self.frames
        if not self._ended:
            response["output"] = list(_done_items(frames or ())) if self._items is None else self._items
        if self._cancelled or not self._ended:
            response |= {"status": "cancelled", "completed_at": None}
            frames = None if frames is None else _cancelled(frames, response)
        previous = request.body.get("previous_response_id")
        return serve.StoredAnswer(
            id=self.answer_id,
            previous_id=previous if isinstance(previous, str) and previous else None,
            request={"input": input_list(request.body)},
            response=response,
            frames=None if frames is None else tuple(frames),
        )


def frames_in(data: bytes) -> Iterator[bytes]:
    """The frames of events in the bytes of a stream, without comments and `[DONE]`."""
    return (frame + b"\n\n" for frame in data.split(b"\n\n") if frame.startswith(_NAME))


def _named(data: bytes) -> bytes:
    """Whole frames with the names and line ends of this server's; others name an event in its JSON alone."""
    if b"data:" not in data or (b"\r" not in data and (data.startswith(_NAME) or b"\n" + _NAME in data)):
        return data
    decoder, named = SSEDecoder(), b""
    for name, said in (*decoder.feed(data), *decoder.end()):
        kind = name.decode(errors="replace") or event_of(_DATA + said).get("type")
        if isinstance(kind, str):
            named += _NAME + kind.encode(errors="replace") + _DATA + said.replace(b"\n", b" ") + b"\n\n"
    return named


def event_of(frame: bytes) -> dict[str, Any]:
    """The event in a frame; empty for one that holds none."""
    _, found, data = frame.partition(_DATA)
    try:
        event = loads(data) if found else None
    except JSONDecodeError:
        event = None
    return event if isinstance(event, dict) else {}


def _done_items(frames: Iterable[bytes]) -> Iterator[Any]:
    done = (event_of(frame) for frame in frames if frame.startswith(_ITEM_DONE))
    return (event["item"] for event in done if isinstance(event.get("item"), dict))


def _cancelled(frames: Sequence[bytes], response: Mapping[str, Any]) -> list[bytes]:
    """The frames of a stopped response, which end with `response.incomplete`: the wire has no event of cancellation."""
    kept = [frame for frame in frames if not frame.startswith(_ENDS)]
    event = {"type": "response.incomplete", "sequence_number": len(kept), "response": response}
    return [*kept, b"event: response.incomplete\ndata: " + dumps(event) + b"\n\n"]


# ---- Routes ----

_PREFIXES: Final = {"message": "msg", "function_call": "fc", "function_call_output": "fco", "reasoning": "rs"}


def _resumes(request: serve.WireRequest) -> int | None:
    """The number of the first event that a request wants; None for a request that wants no stream."""
    query = parse_qs(request.query)
    stream = query.get("stream", ["false"])[-1].lower()
    if stream not in ("true", "false", "1", "0", ""):
        raise InvalidRequestError("stream", repr(stream[:40]), "true or false")
    if stream not in ("true", "1"):
        return None
    return _number(query, "starting_after", -1, 0, 2**53) + 1


def _input_items(request: serve.WireRequest, chain: Sequence[serve.StoredAnswer]) -> Mapping[str, Any]:
    """A page of the items that the model was given, also in earlier responses; by default the newest first."""
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
            raise RefusedRequestError(f"Item with id '{after[:200]}' not found.", "after", status=404)
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
    for place, item in enumerate(input_list(answer.request)):
        if not isinstance(item, Mapping):
            continue
        kind = item.get("type") or "message"
        made = make_id(answer.id, _PREFIXES.get(kind, "item"), f"input/{place}")
        stored = {**item, "type": kind, "id": item.get("id") or made}
        if kind == "message":
            stored = {"status": "completed", **stored}
            if isinstance(item.get("content"), str):
                spoken = item.get("role") == "assistant"
                text = {"type": "output_text", "annotations": []} if spoken else {"type": "input_text"}
                stored["content"] = [{**text, "text": item["content"]}]
        yield stored


def _number(query: Mapping[str, Sequence[str]], name: str, default: int, least: int, most: int) -> int:
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

# ---- State ----

_NOT_OFFERED: Final[dict[str, str]] = {
    "stream_id": "this server has no lanes; leave it out, and open a socket for each response that runs beside others",
    "conversation": "this server keeps no conversations; send previous_response_id, or the whole input",
    "background": "this server has no jobs in the background; leave it out and read the stream",
    "prompt": "this server keeps no prompts; send instructions and input",
}
"""Fields that cannot be ignored without changing the response, with advice."""


class _StoredResponses(serve.ServedState):
    routes: tuple[serve.StoredRoute, ...] = ROUTES
    fields = frozenset({"previous_response_id", "store"})
    of_upstream = frozenset({"previous_response_id", "conversation", "prompt", "input", "background"})
    query = frozenset(
        {"include", "include[]", "stream", "starting_after", "include_obfuscation", "limit", "order", "after"}
    )

    def refuse(self, request: serve.WireRequest) -> None:
        for name, advice in _NOT_OFFERED.items():
            if request.body.get(name):
                raise UnsupportedParameterError(name, described(request.body[name]), f"nothing: {advice}")

    def wanted(self, request: serve.WireRequest) -> serve.RequestReferences:
        previous = optional_text(request.body, "previous_response_id")
        items = input_list(request.body)
        return serve.RequestReferences(previous or None, tuple(item["id"] for item in items if _is_reference(item)))

    def join(
        self, request: serve.WireRequest, earlier: serve.ResolvedReferences, secret: bytes
    ) -> serve.ResolvedRequest:
        items = list(input_list(request.body))
        for place, item in enumerate(items):
            if _is_reference(item):
                items[place] = earlier.items.get(item["id"])
                if items[place] is None:
                    said = f"Item with id '{item['id'][:200]}' not found."
                    raise UnknownReferenceError(said, f"input[{place}].id", status=404)
        own = replace(request, body={**request.body, "input": items})
        previous, before = optional_text(request.body, "previous_response_id"), list[Any]()
        if previous:
            if not earlier.chain:
                said = f"Previous response with id '{previous[:200]}' not found."
                raise UnknownReferenceError(said, "previous_response_id", "previous_response_not_found")
            before = _uncompacted(_said(earlier.chain))
            _refuse_lonely_outputs(items, before)
        body = {
            **request.body,
            "input": open_compactions(before, secret) + open_compactions(items, secret, request.body),
        }
        if self.keeps(request):
            body |= _with_state(request.body)
        return serve.ResolvedRequest(replace(request, body=body), own)

    def changed(self, request: serve.WireRequest, joined: serve.WireRequest, *, is_kept: bool) -> dict[str, Any]:
        fields = _with_state(request.body) if is_kept else {}
        is_continued = bool(request.body.get("previous_response_id"))
        if joined is not request and (is_continued or input_list(joined.body) != input_list(request.body)):
            fields |= {"input": joined.body["input"], "previous_response_id": None}
        return fields

    def keeps(self, request: serve.WireRequest) -> bool:
        return request.body.get("store") is not False

    def unkept(self, request: serve.WireRequest) -> serve.WireRequest:
        return replace(request, body={**request.body, "store": False})

    def record(self, limit: int) -> _Record:
        return _Record(limit)

    def items(self, answer: serve.StoredAnswer) -> dict[str, Mapping[str, Any]]:
        said = [item for item in answer.response.get("output") or () if isinstance(item, Mapping)]
        return {item["id"]: item for item in (*_input_of(answer), *said) if isinstance(item.get("id"), str)}

    def whole(self, chain: Sequence[serve.StoredAnswer], answer: serve.StoredAnswer) -> serve.StoredAnswer:
        return replace(answer, previous_id=None, request={"input": [*_said(chain), *input_list(answer.request)]})

    def unknown(self, answer_id: str) -> RefusedRequestError:
        return RefusedRequestError(
            f"Response with id '{answer_id[:200]}' not found.", "response_id", "not_found", status=404
        )

    def unstreamed(self, answer_id: str) -> RefusedRequestError:
        why = "it was not asked for as one, or is too long to be kept"
        return RefusedRequestError(f"Response with id '{answer_id[:200]}' has no stream: {why}.", "stream")


def _with_state(body: Mapping[str, Any]) -> dict[str, Any]:
    """The field by which the stored response brings the state of reasoning into the next request."""
    include = [] if body.get("include") is None else body["include"]
    if not isinstance(include, list) or ENCRYPTED_REASONING in include:
        return {}
    return {"include": [*include, ENCRYPTED_REASONING]}


def names_reasoning(body: Mapping[str, Any]) -> bool:
    """Whether an input names reasoning by its id alone, which the server that has made it looks up: no server of ours
    does so."""
    items = body.get("input")
    return isinstance(items, list) and any(
        _is(item, "reasoning")
        and not (item.get("encrypted_content") or item.get("content") or is_own_id(item.get("id")))
        for item in items
    )


class _Compactions(_StoredResponses):
    """Compacted conversations, which no server keeps."""

    routes = ()

    def keeps(self, _request: serve.WireRequest) -> bool:
        return False


STATE: Final = _StoredResponses()
COMPACTIONS: Final = _Compactions()

# ---- WebSocket ----

_CREATE: Final = "response.create"
_STEER: Final = "response.steer"
_MOST_WAITING: Final = 8

_MOST_REMEMBERED: Final = 64 * 1024 * 1024
"""The most bytes of a conversation that a socket remembers: more than any model takes."""

_NOT_OF_THE_REQUEST: Final = frozenset({"type", "generate", "stream"})
"""Fields of a message that are no fields of a response's body, or are not the client's to choose here."""

_ERROR_EVENT: Final = b"event: error\n"


class _Socket(serve.SocketConversation):
    def __init__(self, handshake: serve.WireRequest) -> None:
        self._handshake = handshake
        self._waiting: deque[serve.SocketTurn | bytes] = deque()
        self._turn: serve.SocketTurn | bytes | None = None
        self._last: serve.StoredAnswer | None = None
        self._error: dict[str, Any] | None = None  # of the answer that runs, while no end has followed it
        self.remembered_bytes = 0

    def receive(self, message: bytes, *, is_large: bool = False) -> list[str]:
        if is_large:
            return self._wait(message)
        try:
            said = None if nests_too_deeply(message) else loads_finite(message)
        except ValueError:  # of JSON, and of a number that no event could repeat
            said = None
        if said is None:
            return [_error(RefusedRequestError("got a message that is not JSON", code="invalid_json"))]
        if _is(said, _STEER):
            return [_not_steered(said)]
        try:
            turn = replace(self.opened(said), size=len(message))
        except PartstreamError as error:  # on its lane, so that no client takes it for an error of another one
            lane = said.get("stream_id") if isinstance(said, dict) else None
            return [_error(error, **({"stream_id": lane} if lane else {}))]
        return self._wait(turn)

    def _wait(self, turn: serve.SocketTurn | bytes) -> list[str]:
        if len(self._waiting) >= _MOST_WAITING:
            return [_error(RefusedRequestError(f"{_MOST_WAITING} requests wait for their turn already", status=429))]
        self._waiting.append(turn)
        return []

    def opened(self, document: Any) -> serve.SocketTurn:
        kind = document.get("type") if isinstance(document, dict) else None
        if kind != _CREATE:
            shown = f"{kind!r:.60}" if isinstance(kind, str) else "no type"
            said = f"got {shown}, expected {_CREATE}: this server takes no other event"
            raise RefusedRequestError(said, "type", _UNKNOWN)
        if lane := document.get("stream_id"):
            raise UnsupportedParameterError("stream_id", described(lane), f"nothing: {_NOT_OFFERED['stream_id']}")
        body = {name: value for name, value in document.items() if name not in _NOT_OF_THE_REQUEST}
        request = replace(self._handshake, method="POST", query="", body={**body, "stream": True})
        turn = serve.SocketTurn(request, generates=document.get("generate") is not False)
        if isinstance(self._turn, bytes):  # it was large
            self._turn = turn
        return turn

    def next_turn(self) -> serve.SocketTurn | bytes | None:
        if self._turn is not None or not self._waiting:
            return None
        self._turn = self._waiting.popleft()
        return self._turn

    def recall(self, wanted: serve.RequestReferences) -> serve.ResolvedReferences:
        last = self._last
        if last is None:
            return serve.ResolvedReferences()
        items = STATE.items(last) if wanted.item_ids else {}
        found = {item_id: items[item_id] for item_id in wanted.item_ids if item_id in items}
        return serve.ResolvedReferences((last,) if last.id == wanted.answer_id else (), found)

    def messages(self, data: bytes) -> list[str]:
        said = []
        for frame in frames_in(_named(data)):
            if frame.startswith(_ERROR_EVENT):  # on a socket it would end the turn, and mostly the end follows it
                self._error = event_of(frame)
                continue
            if frame.startswith(_ENDS):
                self._error = None
            said.append(frame[frame.index(_DATA) + len(_DATA) : -2].decode())
        return said

    def refused(self, status: int, document: Mapping[str, Any]) -> list[str]:
        self._forget()
        self._turn = None
        return self.refused_at_once(status, document)

    def refused_at_once(self, status: int, document: Mapping[str, Any]) -> list[str]:
        error = {"code": None, **document.get("error", {})}
        error["code"] = error["code"] or error.get("type") or _UNKNOWN
        return [_error_event(status, error)]

    def ended(self, earlier: serve.ResolvedReferences, stored: serve.StoredAnswer | None) -> list[str]:
        error, self._error = self._error, None
        if error is not None or stored is None or stored.response.get("status") == "failed":
            self._forget()
        elif stored.previous_id is not None and not earlier.chain:
            self.forget()  # the upstream alone knows what it continues
        else:
            self._remember(STATE.whole(earlier.chain, stored))
        self._turn = None
        return [] if error is None else [_error_event(500, error, **error)]

    def _remember(self, answer: serve.StoredAnswer) -> None:
        size = 0
        for item in (*input_list(answer.request), *(answer.response.get("output") or ())):
            size += len(dumps(item))
            if size > _MOST_REMEMBERED:
                self.forget()
                return
        self._last, self.remembered_bytes = answer, size

    def forget(self) -> None:
        self._last, self.remembered_bytes = None, 0

    def _forget(self) -> None:
        """Forgets the response that the failed turn continued."""
        body = self._turn.request.body if isinstance(self._turn, serve.SocketTurn) else {}
        if self._last is not None and self._last.id == body.get("previous_response_id"):
            self.forget()

    def too_old(self) -> list[str]:
        message = "this connection has been open for as long as it may; open another one"
        return [_error(RefusedRequestError(message, code="websocket_connection_limit_reached"))]


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


def _error(error: PartstreamError, **fields: Any) -> str:
    reply = common_reply(failure_of(error))
    return _error_event(reply.status, reply.body["error"], **fields)


def _error_event(status: int, error: Mapping[str, Any], **fields: Any) -> str:
    return dumps({**fields, "type": "error", "status": status, "error": error}).decode()


SOCKET: Final = _Socket
