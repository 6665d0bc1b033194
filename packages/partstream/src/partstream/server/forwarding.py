"""A reply that is the upstream's own: where client and upstream speak the same wire, its bytes reach the client.

A :class:`ForwardingCase` decides what the server knows. What the upstream knows, it decides itself
(:func:`partstream.upstream.forwarding.obstacle_at`).

:class:`ForwardedReply` is the reply of an offered request, and the passage of its bytes. Until a provider takes the
passage it is an ordinary reply, and it becomes one again where an attempt fails before its first byte. While the bytes
pass, the parts that the provider reports are looked at by all who look at parts, and not written. So usage,
budgets, checks, captures and limits of time hold as for every reply, and the end comes from the same place:

- The upstream has ended its answer: nothing is added, also where its last event is an error.
- The upstream refuses the request: the client gets its status, its words and its rate limits. An error about the
  server's own key does not concern the client, and is said in our words.
- The answer stops early, because of a budget, a limit of time, a lost connection or a stop of the server: the response
  writer of the wire takes the events that were sent (:meth:`partstream.protocols.serve.ResponseWriter.adopt`) and
  writes the end that follows on them. They are kept as bytes and read only then, or once they are many.

A document has no such end, so that its bytes wait until it is clear that it is whole; one that has to stop early is
written from its parts.
"""

from __future__ import annotations
import asyncio
import logging
import re
from collections.abc import Callable, Collection, Mapping, Sequence
from contextlib import suppress
from functools import lru_cache
from hashlib import sha256
from typing import TYPE_CHECKING, Any, Final
from urllib.parse import parse_qsl, quote, urlencode

from partstream.codec.checks import dataclass, narrow, replace
from partstream.codec.json_codec import JSONDecodeError, dumps, loads
from partstream.codec.limits import LARGE_BYTES
from partstream.codec.text import bare_media_type, late_pattern
from partstream.conversation.provider_state import STATE_MARK, OpaqueState, open_state
from partstream.errors import LanguageModelError, PartstreamError, UnsupportedParameterError
from partstream.lm.cancellation import CancellationToken
from partstream.protocols.files import read_base64
from partstream.protocols.options import Option
from partstream.protocols.serve import ID, ForwardingRules, WireRequest
from partstream.server.models import CataloguedModel, ForwardingProvider, counted_request
from partstream.server.replies import AnswerBytes, Head, ReplyWriter, json_headers, stream_headers
from partstream.settings.kinds import fits_header
from partstream.tokens.counting import COUNT_SECONDS
from partstream.upstream.forwarding import SEALS, Obstacle, RawRefusal, RawRequest

if TYPE_CHECKING:
    from partstream.lm.messages import ChatMessage, RequestOptions
    from partstream.lm.outputs import Finish, InboundRequest
    from partstream.lm.parts import ResponsePart
    from partstream.protocols.protocol import Framing
    from partstream.protocols.serve import ResponseWriter
    from partstream.server.requests import Endpoint
    from partstream.server.settings import ServerOverrides, ServingSettings
    from partstream.server.stored import Remembered

_logger = logging.getLogger("partstream.serving")


# ---- The decision ----


@dataclass(slots=True)
class ForwardingCase:
    """What the server knows of a request for a response, to decide whether it may go on as it came.

    Attributes:
        body: The bytes of the request; None where it came over a WebSocket, whose messages hold more than a body.
        asked: The request as it was read.
        unread: The paths of the fields that were not read: they reach an upstream only as they came.
        added: The fields of the body in which what goes on differs from what came.
        refusal: Why the request is refused where it is translated; None where it can be.
        is_recorded: Whether a later request can continue the response.
        admitted: The request as an admission lets it go on; `asked` itself where it changes nothing.
        is_judged: Whether an admission has judged it.
    """

    settings: ServingSettings
    rules: ServerOverrides
    endpoint: Endpoint
    caller: str
    wire: WireRequest
    remembered: Remembered
    body: bytes | None
    asked: InboundRequest
    model: CataloguedModel
    pattern: str
    unread: tuple[str, ...]
    added: Mapping[str, Any]
    refusal: PartstreamError | None
    is_recorded: bool
    admitted: InboundRequest
    is_judged: bool = False

    def granted(self) -> Mapping[str, Any]:
        """The options of the answer that an admission has changed."""
        if self.admitted is self.asked:
            return {}
        before, after = self.asked.options.model_options, self.admitted.options.model_options
        names = before.keys() | after.keys()
        return {name: after.get(name) for name in names if before.get(name) != after.get(name)}

    def is_changed(self) -> bool:
        """Whether an admission has changed more than the limit of the answer."""
        if self.admitted is self.asked:
            return False
        kept = replace(self.admitted.options, model_options=self.asked.options.model_options)
        is_same = self.admitted.messages is self.asked.messages and kept == self.asked.options
        return not is_same or not self.granted().keys() <= set(Option.LIMIT.value)

    def _obstacle(self, rules: ForwardingRules, *, is_shared: bool) -> Obstacle | None:
        """Why the request is not offered; None where it is."""
        if self.settings.raw_reasoning or self.rules.identify is not None:
            return Obstacle.SERVER
        if rules.is_for_us(self.wire.body):
            return Obstacle.FOR_US
        if is_shared and rules.names_kept({**self.wire.body, **self.added}):
            return Obstacle.KEPT
        return Obstacle.ASKED if self.is_changed() else None

    def offer(
        self, messages: Sequence[ChatMessage] | None = None, options: RequestOptions | None = None
    ) -> RawRequest | None:
        """The request for an upstream of the same wire, with the messages and options that the provider gets where they
        are not those that were admitted; None where it is translated. Ask it only where the provider is a
        :class:`partstream.server.models.ForwardingProvider`: every other one makes its answers itself."""
        rules, is_shared = self.endpoint.reads.forwarding, self.settings.is_shared
        obstacle = None if rules is None else self._obstacle(rules, is_shared=is_shared)
        if rules is None or obstacle is not None:
            _logger.debug("the request to %s is translated: %s", self.model.id, (obstacle or Obstacle.RULES).value)
            return None
        headers = _headers(self.wire, rules)
        if is_shared:
            headers = {name: value for name, value in headers.items() if name not in _OF_ACCOUNT}
            if _BY_CALLER in headers:
                headers[_BY_CALLER] = sha256(f"{self.caller}\0{headers[_BY_CALLER]}".encode()).hexdigest()
        sent = dumps(self.wire.body) if self.body is None else self.body
        sent += dumps(self.added) if self.added else b""
        stream = self.endpoint.writes.stream_form(self.asked) if self.asked.stream else None
        granted = [value for name, value in self.granted().items() if type(value) is int]
        return RawRequest(
            protocol=self.endpoint.protocol.name,
            rules=rules,
            pattern=self.pattern,
            query=_query(self.wire, rules.query),
            headers=headers,
            body=self.body,
            document=self.wire.body,
            stream_type=None if stream is None else bare_media_type(stream.content_type),
            messages=self.admitted.messages if messages is None else messages,
            options=options or self.admitted.options,
            added=self.added,
            output_limit=min(granted, default=None),
            unread=self.unread,
            refusal=self.refusal,
            is_sealed=max(map(sent.find, SEALS)) >= 0,
            is_judged=self.is_judged or is_shared,
        )

    async def counted(self) -> int | bytes:
        """The tokens of a request; or the document of its count, where an upstream of the same wire gives it soon."""
        provider, token = narrow(self.model.provider, ForwardingProvider), CancellationToken()
        if provider is not None and (raw := self.offer()) is not None:
            try:
                async with asyncio.timeout(COUNT_SECONDS):
                    document = await provider.forward_count(self.model.information, raw, token)
            except (TimeoutError, LanguageModelError) as error:
                _logger.info("the provider %s did not count: %s", self.model.provider_name, error)
            else:
                if document is not None:
                    return document
        if self.refusal is not None:
            raise self.refusal
        return await counted_request(self.model, self.admitted, token)


_NAMES: Final = frozenset(
    {"model", "stream", "n", "candidateCount", "generationConfig", "options", "background", "conversation", "thread"}
    | {"candidate_count", "generation_config", "previous_response_id", "previous_interaction_id", "num_predict"}
    | {"max_tokens", "max_completion_tokens", "max_output_tokens", "maxOutputTokens"}
)
_ADDING: Final = frozenset(
    {"models", "fallback", "fallbacks", "extrabody", "bestof", "maxnewtokens", "preset", "modellist", "agent"}
    | {"apibase", "baseurl", "userconfig", "customllmprovider"}
)
_INNER: Final = ("providerOptions", "provider_options")
"""The fields of a body with options of gateways, by the name of the gateway."""
_SIGNS: Final = late_pattern(r"[^a-z0-9]")


def check_judged(body: Mapping[str, Any], rules: ForwardingRules | None) -> None:
    """Refuses what would say another model, a longer answer or more answers to an upstream than an admission judges:
    many upstreams are written in Go, whose JSON takes `MAX_TOKENS` and `max_to\u212aens` for `max_tokens`; gateways
    read further models and bodies beside the usual fields.

    Raises:
        UnsupportedParameterError: The body has such a field.
    """
    outer = () if rules is None else {place[0] for place in rules.output_limits if len(place) > 1}
    inner = (body.get(name) for name in outer)
    of_gateways = (one for name in _INNER if isinstance(value := body.get(name), Mapping) for one in value.values())
    for guarded, places in ((_GUARDED, (body, *inner)), (_ADDING, of_gateways)):
        for name in (name for one in places if isinstance(one, Mapping) for name in one.keys() - _NAMES):
            if _folded(name) in guarded:
                raise UnsupportedParameterError(name, "such a field", "none: an admission judges one model and limit")


def _folded(name: str) -> str:
    return _SIGNS.sub("", name.casefold())


_GUARDED: Final = _ADDING.union(map(_folded, _NAMES))

_OF_OTHERS: Final = frozenset(
    {"fileid", "fileids", "vectorstoreids", "filesearchstorenames", "collectionids", "libraryids", "skillid"}
    | {"cachedcontent", "datasources", "retrieval", "previousresponseid", "previousinteractionid"}
)
"""The fields, folded, by which wires name what an upstream keeps for the account of its key."""
_LONGEST_OF_OTHERS: Final = 40
_ADDRESS: Final = late_pattern(r"(?!https?:|data:)[a-z][a-z0-9+.-]*:/|https?://[^/]*googleapis\.com\b", re.IGNORECASE)
"""An address of a file that an upstream reads with the rights of the account, or from its own disk."""
_FREE: Final = frozenset(
    {"parameters", "parametersJsonSchema", "input_schema", "inputSchema", "schema", "properties", "metadata", "state"}
    | {"arguments", "args", "input", "response", "result", "value", "forwardedProps"}
)
"""The fields whose objects are of tools and people, whatever the names in them."""
_FOUND: Final = frozenset({"annotations", "citations", "results"})
"""The fields in which an upstream has named its sources."""
_OF_ANSWERS: Final = late_pattern("^anthropic$|code_execution_output$")
"""The types of skills that a vendor offers to everybody, and of files in an answer."""


def check_shared(body: Mapping[str, Any], known: Collection[str]) -> None:
    """Refuses what an upstream would look up in the account that all callers share: none of them has put it there, and
    what another person's answer has put there is not theirs. The server itself looks up what the `known` fields name.

    Raises:
        UnsupportedParameterError: The body has such a field.
    """
    values: list[Any] = [{**body, "input": [body.get("input")], **dict.fromkeys(known)}]
    while values:
        one = values.pop()
        if isinstance(one, list):
            values += one
        elif isinstance(one, dict):
            for name, value in one.items():
                if isinstance(value, list | dict) and name not in (_FREE if isinstance(value, dict) else _FOUND):
                    values.append(value)
                elif isinstance(value, str) and (sealed := _sealed(name, value)) is not None:  # what is in it goes on
                    values += [sealed.item, sealed.beside]
                names = _naming(name) if len(name) <= _LONGEST_OF_OTHERS else None
                if names is not None and names(value) and not _OF_ANSWERS.search(str(one.get("type"))):
                    raise UnsupportedParameterError(name, "what an upstream keeps", "none: callers share its account")


def _sealed(name: str, text: str) -> OpaqueState | None:
    """What was sealed in a text, or what its client says to be that: a seal has no secret; None for any other text."""
    if text.startswith(STATE_MARK):
        return open_state(text)
    is_base64 = name[-9:].lower() == "signature"  # of Google's wires
    return open_state((read_base64(text) or b"").decode("ascii", "replace")) if is_base64 else None


@lru_cache(1024)
def _naming(name: str) -> Callable[[Any], object] | None:
    """Tells of the value of a field whether it names something that an upstream keeps; None where none does."""
    folded = name.replace("_", "").casefold()
    if folded in _OF_OTHERS:
        return bool
    return (lambda said: isinstance(said, str) and _ADDRESS.match(said)) if folded.endswith(("url", "uri")) else None


_OF_ACCOUNT: Final = frozenset({"openai-organization", "openai-project"})
"""Headers that say who pays; callers who share a key do not choose."""
_BY_CALLER: Final = "idempotency-key"
"""The header by which an upstream repeats an answer: of several callers, none may get that of another one."""


def kept_request(
    rules: ForwardingRules | None, query: Collection[str], pattern: str, answer_id: str, asked: WireRequest
) -> WireRequest:
    """A client's request for an answer that an upstream keeps, with what goes on of its headers and its query."""
    return WireRequest(
        pattern.replace(ID, quote(answer_id, safe="")),
        {},
        {} if rules is None else _headers(asked, rules),
        _query(asked, query),
        asked.method,
    )


def _query(asked: WireRequest, names: Collection[str]) -> str:
    """The fields of the query that go on."""
    return urlencode([(name, value) for name, value in parse_qsl(asked.query) if name in names]) if asked.query else ""


def _headers(asked: WireRequest, rules: ForwardingRules) -> dict[str, str]:
    return {name: value for name, value in asked.headers.items() if name in rules.headers and fits_header(value)}


# ---- The reply ----

_MOST_UNREAD: Final = 2 * 1024 * 1024
"""The bytes of a stream that are kept before their events are read: most answers have fewer, and end by themselves."""


class ForwardedReply(ReplyWriter):
    """The reply to a request that may go on as it came; also the :class:`Passage` of its bytes, in the `framing` of its
    wire. The other arguments are those of every reply."""

    def __init__(self, request: RawRequest, framing: Framing, *about: Any) -> None:
        super().__init__(*about)
        self.request = request
        self.has_begun = False
        self._framing = framing
        self._is_raw = self._is_translated = self._is_whole = self._is_settled = False
        self._is_over = self._is_adopted = False
        self._head: Head | None = None
        self._held: list[bytes] = []
        self._pieces = 0
        self._refusal: tuple[LanguageModelError, RawRefusal] | None = None
        self._unread = bytearray()
        self._keeps = self._is_stream

    @property
    def events(self) -> int:
        """The pieces that the client got, and the events that were written."""
        return (self._pieces if self.has_begun else 0) + super().events

    @property
    def is_open(self) -> bool:
        """Whether bytes may pass: no event of ours was written."""
        return super().events == 0

    # -- The parts of the provider --

    def take(self, part: ResponsePart, /) -> None:
        """Writes a part, unless it is one of an answer whose own bytes pass."""
        if not (self._is_raw and self._is_stream):
            super().take(part)

    def finish(self, finish: Finish) -> None:
        """Ends the reply."""
        own, refusal = (None, None) if self._begun else (self.request.refusal, self._refusal)
        if refusal is not None and _is_of(finish.error, refusal[0]):
            self._refuse(refusal[1])
        elif own is not None and _is_of(finish.error, own):
            super().break_off(own)
        elif self._is_raw and self._is_whole and (self._is_stream or self._is_settled):
            if not self.has_begun:
                self._send_held()
            self._sink.end()
        elif self._is_raw and self.has_begun:
            events = self._adopt().write(finish)
            data = b"".join(self._form.separator + self._form.frame(event) for event in events)
            self._sink.end(data + self._form.end)
        else:
            super().finish(finish)
        self._is_over = True

    def break_off(self, error: Exception) -> None:
        """Ends the reply as far as possible."""
        super().break_off(error)
        self._is_over = True

    def open(self) -> None:
        """Sends the head of a stream: that of the upstream if it has come, else that of the wire."""
        if self._is_raw and self._held:
            self.commit()
        elif not self._is_over:
            super().open()

    def idle(self) -> None:
        """Writes the wire's own event for a model that works; in the bytes of an upstream, a comment in its place."""
        if self._is_translated:
            super().idle()
        else:  # an event of ours would begin another response before that of the upstream
            self.keep_alive()

    # -- The bytes of the upstream --

    def begin(self) -> None:
        """Begins an attempt, and forgets the one before."""
        self._is_raw, self._is_translated, self._is_whole, self._is_settled = True, False, False, False
        self._head, self._refusal = None, None
        self._held.clear()

    def leave(self, error: LanguageModelError | None = None) -> None:
        """Gives an attempt up of which the client has got nothing: parts follow, if anything does."""
        if error is not None and self._is_whole and self._head is not None:
            self._refusal = error, RawRefusal(self._head.status, dict(self._head.headers), b"".join(self._held))
        self._is_raw, self._is_translated, self._is_whole, self._head = False, True, False, None
        self._held.clear()

    def head(self, status: int, headers: Mapping[str, str]) -> None:
        """Takes the head of the upstream's answer."""
        usual = stream_headers(self._form.content_type) if self._is_stream else ()
        self._head = Head(status, tuple({**dict(usual), **headers}.items()))

    def data(self, data: bytes, /, *, is_last: bool = False) -> None:
        """Passes bytes on, or holds them until it is clear that they are the answer."""
        if self._is_over:
            return
        self._pieces += 1
        self._send = self._sink.send_soon if is_last else self._sink.send
        if not self.has_begun:
            self._held.append(data)
            return
        self._pass(data)

    def commit(self) -> None:
        """Lets the bytes of a stream go to the client."""
        if self._is_raw and not self.has_begun and self._is_stream and not self._is_over:
            self._send_held()

    def settle(self) -> None:
        """Notes that the parts of a document were looked at."""
        self._is_settled = True

    def end(self, *, is_whole: bool) -> None:
        """Takes the end of the bytes."""
        self._is_whole = is_whole

    def refused(self, error: LanguageModelError, refusal: RawRefusal) -> None:
        """Keeps the words of the upstream for an error that may end the answer."""
        self._refusal = error, refusal

    def _send_held(self) -> None:
        data = b"".join(self._held)
        self._held.clear()
        self.has_begun = True
        if not self._begun:
            head = self._head
            assert head is not None  # noqa: S101 - it comes before the bytes
            self._start(head if self._is_stream else replace(head, headers=(*head.headers, *json_headers(data)[1:])))
        self._pass(data)

    def _refuse(self, refusal: RawRefusal) -> None:
        headers = {"content-type": "application/json", **refusal.headers}
        self._start(Head(refusal.status, (*headers.items(), *json_headers(refusal.body)[1:])))
        self._sink.end(refusal.body)

    # -- The end of an answer that stops early --

    def _pass(self, data: bytes) -> None:
        """Sends bytes, and keeps them for an early end, which repeats nothing of large ones."""
        if self._keeps and len(data) <= LARGE_BYTES:
            self._unread += data
            if self._writes.adopts_the_first and data.find(b"{") >= 0:
                self._keeps = False
            elif len(self._unread) > _MOST_UNREAD:
                self._adopt()
        self._send(data)

    def _adopt(self) -> ResponseWriter:
        """The response writer, with all events so far."""
        if not self._is_adopted:
            self._is_adopted = True
            self._bytes = AnswerBytes(self._writes(self._asked, self._reply), self._form)
        data = bytes(self._unread)
        self._unread.clear()
        for _, event in self._framing.make_decoder().feed(data):
            document: Any = None
            with suppress(JSONDecodeError, RecursionError):
                document = loads(event)
            if isinstance(document, dict):
                self._bytes.writer.adopt(document)
        return self._bytes.writer


def _is_of(error: BaseException | None, cause: BaseException) -> bool:
    """Whether an error is another one, or was raised from it."""
    return error is not None and (error is cause or error.__cause__ is cause)
