"""Sends a client's request on as it came, and its answer's bytes as they come, where both sides speak the same wire.

A server offers a request with a :class:`Passage`, which goes along with the progress of the answer. A wrapper that
changes nothing of an answer has it as its own `passage`. Any other object around the progress does not, so
that its provider reports parts. A gateway takes the passage if :func:`obstacle_at` finds no reason against it, and
asks its upstream with the same transport, attempts, keys and limits as for any other request. Otherwise the request is
translated.

What changes of a request is the model, the key, the output limit of an admission, and the fields and headers that a
setting of the upstream adds. :class:`RawRequest` writes them into the bytes and leaves all others as they are. A
repeated name in the JSON could say one thing to us and another to the upstream, so that bytes are only edited where
the name occurs once; where an admission has judged the request, the upstream gets what was judged, written anew.

The reader looks on. :class:`LookingReader` passes the bytes on in whole events, so that something may be put between
two of them; an event that it cannot read goes on all the same. The end of the answer waits for the end of the bytes.
Nothing reaches the client before the first part of the answer, so that another attempt may follow until then.
"""

from __future__ import annotations
import asyncio
import re
from base64 import b64decode, b64encode
from collections.abc import AsyncIterator, Callable, Container, Iterable, Mapping, Sequence
from enum import Enum
from functools import cache
from operator import attrgetter
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, Final, NamedTuple, Protocol, cast

from partstream.codec.checks import dataclass, field, fields, replace
from partstream.codec.json_codec import JSONDecodeError, dumps, dumps_text, loads
from partstream.codec.sse import DEFAULT_MAX_EVENT_SIZE
from partstream.conversation.preparation import RequestSettings
from partstream.conversation.provider_state import ORIGIN, PLACE, STATE_MARK, open_state
from partstream.errors import AnswerTooLargeError, EventTooLargeError, LanguageModelError
from partstream.lm.outputs import VALID, ErrorMode, Finish, StreamOptions, StreamOutput, Unmapped
from partstream.protocols.serve import MODEL, WireRequest, path_for_model

if TYPE_CHECKING:
    from partstream.codec.redaction import Redactor
    from partstream.conversation.provider_state import Origin
    from partstream.errors import PartstreamError
    from partstream.lm.messages import ChatMessage, RequestOptions
    from partstream.lm.outputs import PausingStream
    from partstream.protocols.read_response import Glance
    from partstream.protocols.reader import StreamReader
    from partstream.protocols.serve import ForwardingRules
    from partstream.upstream.configuration import GatewayConfiguration

# ---- Requests as they came ----


@dataclass(slots=True)  # not frozen: that takes twenty times as long for each field of each answer
class RawRequest:
    """A request as its client sent it; nothing of it changes.

    Attributes:
        rules: What of a request of this wire goes on.
        pattern: The pattern of its path below the base URL, which may hold `{model}`.
        stream_type: The media type of the stream that the client wants; None for one document.
        messages: The conversation as it was read: a provider that asks with another one asks something else.
        added: The fields of the body that the server adds.
        output_limit: The most tokens of the answer that an admission grants; None for what the request says.
        unread: The paths of the fields that were not read, and that reach no model where the request is translated.
        refusal: Why it is refused where it is translated; None where it can be.
        is_sealed: Whether something in it may have been sealed here.
        is_judged: Whether an admission or the share of a key has judged the request: then the upstream gets the JSON
            that was judged.
    """

    protocol: str
    rules: ForwardingRules
    pattern: str
    query: str
    headers: Mapping[str, str] = field(repr=False)
    body: bytes | None = field(repr=False)
    document: Mapping[str, Any] = field(repr=False)
    stream_type: str | None
    messages: Sequence[ChatMessage] = field(repr=False)
    options: RequestOptions = field(repr=False)
    added: Mapping[str, Any] = field(default_factory=dict, repr=False)
    output_limit: int | None = None
    unread: tuple[str, ...] = ()
    refusal: PartstreamError | None = None
    is_sealed: bool = False
    is_judged: bool = False

    def opened(self, origin: Origin, *, seals: bool = False) -> RawRequest | None:
        """The request with the state that was sealed here as an upstream has given it; None where it was another one's,
        or is not at a place of its own. What an upstream that `seals` has sealed itself goes back as it came."""
        sent = {**self.document, **self.added}
        try:
            opened = {name: _opened(sent[name], origin.key, seals=seals) for name in sent.keys() & _SAID}
            rest = b"" if seals else dumps({name: value for name, value in sent.items() if name not in _SAID})
            if any(seal in rest for seal in SEALS):  # what is opened there would change what was judged
                return None
        except (LookupError, TypeError, ValueError, RecursionError):
            return None
        changed = {name: value for name, value in opened.items() if value != sent[name]}
        return replace(self, added={**self.added, **changed}, is_sealed=False)

    def check_translatable(self) -> None:
        """Refuses a request that is not sent on as it came, and that nothing here can ask in another way.

        Raises:
            LanguageModelError: Its cause is what the client gets.
        """
        if self.refusal is not None:
            raise LanguageModelError(str(self.refusal)) from self.refusal

    def names_a_limit(self) -> bool:
        """Whether it limits its answer."""
        return any(value_at(self.document, place) is not None for place in self.rules.output_limits)

    def limited(self, limit: int | None) -> RawRequest:
        """The request with the limit of a setting, which is one for requests without a limit of their own."""
        if limit is None or self.names_a_limit():
            return self
        return replace(self, output_limit=min(limit, self.output_limit or limit))

    def wire(
        self,
        model_id: str,
        added: Mapping[str, Any],
        headers: Mapping[str, str],
        usage: Mapping[str, Any] = MappingProxyType({}),
    ) -> tuple[WireRequest, bytes]:
        """The request to a model, with its body as bytes.

        Args:
            added: The fields of the body that a setting adds; None takes one out.
            headers: The headers that the wire wants, where the client has sent none of these names.
            usage: The fields of the body by which usage is asked for.
        """
        prefix, said = self.rules.model_prefix, self.document.get("model")
        name = model_id.removeprefix(prefix)
        path, body = path_for_model(self.pattern, name), dict(self.document)
        if isinstance(said, str):
            body["model"] = name = prefix + name if prefix and said.startswith(prefix) else name
        added = {**self.added, **added}
        body.update(usage)
        for field_name, value in added.items():
            body.pop(field_name, None) if value is None else body.update({field_name: value})
        limit, limited, places = self.output_limit, [], self.rules.output_limits
        if limit is not None or len(places) > 1:
            limited = [one for one in places if one[0] in body and value_at(body, one) is not None]
        if limit is None and len(limited) > 1:  # servers differ in which of them counts
            said_limits = (value_at(body, place) for place in limited)
            limit = min((one for one in said_limits if type(one) is int and one > 0), default=None)
        if limit is not None:
            beside = [place for place in self.rules.output_limits if isinstance(body.get(place[0]), Mapping)]
            for place in limited or beside[:1] or filter(None, [self.rules.new_limit]):
                body = _put(body, place, limit)
        request = WireRequest(path, body, {**headers, **self.headers}, self.query)
        is_edited = self.is_judged or added or limit is not None or not usage.keys().isdisjoint(self.document)
        content = None if is_edited else self.body
        if content is not None and isinstance(said, str) and said != name:
            content = _with_model(content, said, name)
        if content is not None and usage:
            begin = content.index(b"{") + 1  # it has fields, but none of these
            content = content[:begin] + dumps(dict(usage))[1:-1] + b"," + content[begin:]
        return request, dumps(body) if content is None else content


_ALL_TOOLS: Final = ("auto", "required", "any")
"""The choices of tools that allow all of them."""


def value_at(document: Any, place: Sequence[str]) -> Any:
    """What an object holds at a place; None for nothing."""
    for name in place:
        if document.__class__ is not dict and not isinstance(document, Mapping):  # classes of `abc` are asked slowly
            return None
        document = document.get(name)
    return document


def _put(document: Mapping[str, Any], place: Sequence[str], value: Any) -> dict[str, Any]:
    name, *rest = place
    inner = document.get(name)
    said = _put(inner if isinstance(inner, Mapping) else {}, rest, value) if rest else value
    return {**document, name: said}


SEALS: Final = (STATE_MARK.encode(), b64encode(STATE_MARK.encode()))
"""What sealed state begins with; the second, where a wire wants base64."""
SEALING_HEADER: Final = "x-partstream-sealing"
"""The header of a reply that says that the server seals state into its answers, and wants it back as it came."""


_SAID: Final = frozenset({"messages", "contents", "input", "system", "systemInstruction", "system_instruction"})
"""The fields of a body with a conversation, which has state in it."""


def _opened(value: Any, origin: str, *, seals: bool) -> Any:
    """A JSON value with the state of one origin opened in it; other state stays for a server that `seals`."""
    match value:
        case list():
            return [_opened(one, origin, seals=seals) for one in value]
        case dict():
            item: dict[str, Any] = {}
            for name, text in value.items():
                sealed = open_state(text) if isinstance(text, str) else None
                if sealed is not None and (not seals or sealed.beside.get(ORIGIN) == origin):
                    item = {field: said for field, said in (sealed.item or {}).items() if field != PLACE}
                    item = item if name in item else item["block"]  # Anthropic's, as it came
                    if sealed.beside.get(ORIGIN) != origin or not isinstance(item[name], str):
                        raise LookupError
            return {name: _opened(one, origin, seals=seals) for name, one in {**value, **item}.items()}
        case str() if any(seal in value.encode(errors="replace") for seal in SEALS):
            texts = _SEALED.findall(value)  # also in base64
            found = (one if "." in one else b64decode(one + "=" * (-len(one) % 4)).decode() for one in texts)
            states = [open_state(one) for one in found]
            if not seals or any(one is not None and one.beside.get(ORIGIN) == origin for one in states):
                raise LookupError
    return value


_SEALED: Final = re.compile(r"partstream1\.[\w.-]+|cGFydHN0cmVhbTEu[\w+/]+", re.ASCII)


_MODEL_FIELD: Final = re.compile(rb'"model"\s*:\s*("(?:[^"\\]|\\.)*+")', re.DOTALL)
"""A field of this name at any depth; never a text that looks like one, because quotation marks in texts are escaped."""


def _with_model(body: bytes, before: str, after: str) -> bytes | None:
    """The body with another model; None where its place is not certain: twice, or written in escapes."""
    found = [*_MODEL_FIELD.finditer(body)]
    if len(found) != 1:
        return None
    begin, end = found[0].span(1)
    try:
        is_this = loads(body[begin:end]) == before
        edited = body[:begin] + dumps_text(after) + body[end:]
        is_only = is_this and loads(edited).get("model") == after
    except (JSONDecodeError, UnicodeEncodeError):
        return None
    return edited if is_only else None


# ---- Reasons to translate ----


class Obstacle(Enum):
    """Why a request is translated, and not sent on as it came; the value says it in the log."""

    WIRE = "the upstream speaks another wire, or at another path"
    RULES = "this wire has no rules by which a request goes on"
    OWN_STATE = "it holds state that this server has sealed, and that this upstream has not given"
    FOR_US = "it asks for what this server does itself"
    KEPT = "it names what the upstream keeps, which it would look up for every caller of this server alike"
    ASKED = "an admission or a provider has changed what is asked"
    CHOICE = "its server does not keep to such a choice of tools, which are left out instead"
    SERVER = "a setting of the server changes what answers look like"
    SETTING = "a setting of the upstream changes how requests are written or answers are shown"
    BEGUN = "the answer has begun with events of this server"
    LIMIT = "the answer has to be limited, and the request names no limit"


def obstacle_at(
    raw: RawRequest,
    asked: tuple[object, object],
    configuration: GatewayConfiguration,
    path: str,
    model_id: str,
    *,
    reads_tool_choice: bool,
    is_usual: bool,
) -> Obstacle | None:
    """Why an upstream is not asked with the request as it came; None where it is. The messages and the options of the
    question are `asked`, and the configuration is of the protocol that it speaks, in which it has this path."""
    folder = path.partition(MODEL)[0]
    if raw.protocol != configuration.protocol or not raw.pattern.startswith(folder):
        return Obstacle.WIRE
    if asked[0] is not raw.messages or asked[1] is not raw.options:
        return Obstacle.ASKED
    if not reads_tool_choice and raw.refusal is None:
        choice = raw.document.get("tool_choice")
        if (choice.get("type") if isinstance(choice, Mapping) else choice) not in (None, *_ALL_TOOLS):
            return Obstacle.CHOICE
    if not is_usual:
        return Obstacle.SETTING
    if raw.rules.new_limit is None and not raw.names_a_limit():
        has_limit = configuration.request_settings(model_id).max_output_tokens is not None
        return Obstacle.LIMIT if has_limit or raw.output_limit is not None else None
    return None


def is_usual(configuration: GatewayConfiguration, model_id: str) -> bool:
    """Whether no setting of an upstream changes how requests to a model are written, or how answers are shown."""
    is_usual_request = _of_request(configuration.request_settings(model_id)) == _USUAL_SETTINGS
    is_shown = _of_stream(configuration.stream) == _USUAL_STREAM and configuration.errors is ErrorMode.REJECT
    return is_usual_request and is_shown


def _fields(value: Any, without: Container[str]) -> Callable[[Any], tuple[object, ...]]:
    return attrgetter(*(one.name for one in fields(value) if one.name not in without))


_ADDED: Final = frozenset({"max_output_tokens", "extra_body", "extra_headers", "capabilities"})
"""The settings that hold for a request as it came too, and those that are none."""
_of_request: Final = _fields(RequestSettings, _ADDED)
_of_stream: Final = _fields(StreamOptions, {"call_id_prefix"})
_USUAL_SETTINGS: Final = _of_request(RequestSettings())
_USUAL_STREAM: Final = _of_stream(StreamOptions())


# ---- The way of the bytes ----


class Passage(Protocol):
    """The way of an answer's own bytes to the client. One attempt at an answer takes it at a time.

    Attributes:
        has_begun: Whether the client has got any of these bytes; then no other attempt may follow.
    """

    request: RawRequest
    has_begun: bool

    @property
    def is_open(self) -> bool:
        """Whether bytes may pass: nothing was written in their place."""

    def begin(self) -> None:
        """Begins an attempt, and forgets the one before."""

    def leave(self, error: LanguageModelError | None = None) -> None:
        """Gives the attempt up, or takes none: what follows comes as parts. The client gets the bytes so far if they
        are whole and this error, which is in them, ends the answer."""

    def head(self, status: int, headers: Mapping[str, str]) -> None:
        """Takes the status and the headers of the answer that the client gets."""

    def data(self, data: bytes, /, *, is_last: bool = False) -> None:
        """Takes the next bytes of a stream, which are whole events, or all bytes of a document; and whether the answer
        has ended with them."""

    def commit(self) -> None:
        """Lets the bytes go to the client: the attempt has reported something."""

    def settle(self) -> None:
        """Says that all parts in the bytes were reported, and that the answer was not stopped."""

    def end(self, *, is_whole: bool) -> None:
        """Ends the bytes. They are whole if the upstream has ended them, and not where they broke off."""

    def refused(self, error: LanguageModelError, refusal: RawRefusal) -> None:
        """Takes the words of the upstream for an error, which the client gets if this error ends the answer."""


class KeptReply(NamedTuple):
    """An upstream's account of an answer that it keeps: the status, the headers that the client gets, and the bytes as
    they come, without secrets."""

    status: int
    headers: Mapping[str, str]
    pieces: AsyncIterator[bytes]


class RawRefusal(NamedTuple):
    """An HTTP error of an upstream, without the secrets of the request."""

    status: int
    headers: Mapping[str, str]
    body: bytes


_RETURNED: Final = frozenset(
    {"content-type", "retry-after", "retry-after-ms", "x-should-retry", "openai-processing-ms", "openai-version"}
    | {"openai-model", "server-timing", "x-envoy-upstream-service-time", "cf-ray", "x-ratelimit-type"}
    | {"x-upstream-request-id"}
)
_REQUEST_IDS: Final = dict.fromkeys(("x-request-id", "request-id"), "x-upstream-request-id")
"""The upstream's id of the request, for its support; the server's own has the usual name."""
_LIMITS: Final = ("x-ratelimit-", "ratelimit-", "anthropic-ratelimit-", "x-codex-", "anthropic-fast-")
"""Headers of an answer that go back to the client, by name or by the beginning of it. Others are about the connection,
the account or the pages of the upstream."""


def returned_headers(headers: Mapping[str, str], redactor: Redactor) -> dict[str, str]:
    """The headers of an answer, names in lower case, that its client gets, without secrets."""
    named = [(_REQUEST_IDS.get(name, name), value) for name, value in headers.items()]
    kept = {name: value for name, value in named if name in _RETURNED or name.startswith(_LIMITS)}
    return {name: redactor.redact(value) for name, value in kept.items()} if redactor.may_find(kept) else kept


# ---- Looking on ----


class LookingReader:
    """Reads the bytes of an answer that goes on as it comes; has what :class:`Transport` needs of a reader.

    Args:
        make_reader: Makes the reader of an answer that is not plain.
        event_ends: The bytes after a whole event; none where the events are the values of a JSON array.
        hides: Tells the events that the client does not get; None where it gets all.
        glance: Reads the answer as long as it is plain; None for a wire without.

    Attributes:
        failing: Whether the upstream has reported an error and may still say more about it.
        ending: Whether the end is near: what still comes, comes at once.
        passage: What takes the bytes; another object for a while, where another thread reads.
        paused: None: a pause is the end of these bytes, and their client goes on with it.
    """

    def __init__(
        self,
        make_reader: Callable[[], StreamReader],
        passage: Passage,
        event_ends: tuple[bytes, ...],
        hides: Callable[[bytes], bool] | None = None,
        glance: Glance | None = None,
    ) -> None:
        self._hides = hides
        self.started = self.failing = self.ending = self.finished = False
        self.paused: PausingStream | None = None
        self._redactor: Redactor | None = None  # of errors that the upstream reports in its stream
        self._make_reader = make_reader
        self._made: StreamReader | None = None
        self._glance = glance
        self.passage = passage
        self._ends = event_ends
        self._borders = EventBorders(event_ends) if event_ends else ArrayBorders()
        self._last: list[StreamOutput] | None = None  # the end of the answer, once it was read
        self._is_document = False
        self._passes = True

    @property
    def _reader(self) -> StreamReader:
        """The reader, which has read all that the glance gave outputs of."""
        if self._made is None:
            self._made, glance, self._glance = self._make_reader(), self._glance, None
            self._made.joins_texts = True  # who looks on needs no more parts than reads
            if glance is not None and glance.seen:
                self._made.feed(glance.seen)
        return self._made

    @property
    def held(self) -> int:
        """How many characters of the answer gave no part when they came."""
        return 0 if self._made is None else self._made.held

    def responded(self, status: int, headers: Mapping[str, str], redactor: Redactor, *, fits: bool) -> None:
        """Takes the head of the answer, what removes the secrets of its request, and whether the client gets the bytes:
        some servers give a stream where a document was asked for, or the other way round."""
        self._redactor, self._passes = redactor, fits
        if fits:
            self.passage.head(status, returned_headers(headers, redactor))
        else:
            self.passage.leave()

    def feed(self, data: bytes) -> list[StreamOutput]:
        """Passes bytes on, and reads them. Until the answer begins, it is read event by event: the first word does not
        wait for what came with it.

        Raises:
            EventTooLargeError: An event without an end.
        """
        if (glance := self._glance) is not None and self._last is None and (said := glance.read(data)) is not None:
            return self._glanced(glance, data, said)
        if self.passage.has_begun or not self._ends:
            return self._feed(data)
        outputs: list[StreamOutput] = []
        at = 0
        for end in _ends_of(self._ends).finditer(data):
            outputs += self._feed(data[at : end.end()])
            at = end.end()
            if says_something(outputs):
                self.passage.commit()
                break
        return outputs + self._feed(data[at:]) if at < len(data) else outputs

    def _glanced(self, glance: Glance, data: bytes, said: list[StreamOutput]) -> list[StreamOutput]:
        """Passes plain events on, whose outputs are these."""
        self.started, self.ending = True, glance.ending
        if self._hides is not None and (hidden := glance.usage_event) is not None:
            before, _, after = data.rpartition(hidden)
            data = before + after
        if data:
            self._pass_on(data, is_error=False, is_last=glance.finish is not None)
        if said and said[0] is not glance.finish and not self.passage.has_begun:
            self.passage.commit()
        if glance.finish is not None:
            self._last, said = said, []
        return said

    def _feed(self, data: bytes) -> list[StreamOutput]:
        outputs: list[StreamOutput] = []
        borders = self._borders
        if self._last is None:
            reader = self._reader
            outputs = reader.feed(data)
            self.started, self.failing, self.ending = reader.started, reader.failing, reader.ending
            if reader.finished:
                self._last, outputs = outputs, []
                self.ending = _is_good(self._last)
                self.failing = False
                if isinstance(self._last[-1], Finish) and isinstance(self._last[-1].error, AnswerTooLargeError):
                    self._over(is_whole=False)  # by a bound of ours: what else the upstream says is not the client's
                    return self._last
        whole = data if not borders.waits and data.endswith(self._ends) else borders.feed(data)
        if self._hides is not None and self._hides(whole):
            whole = self._shown(whole, self._hides)
        if whole:
            is_error = self.failing or (self._last is not None and not self.ending)
            self._pass_on(whole, is_error=is_error, is_last=self._last is not None)
        return outputs

    def put_off(self) -> PutOff:
        """From now on, what the client gets is kept, until :meth:`PutOff.go_on`: another thread reads."""
        later = PutOff(self, self.passage)
        self.passage = cast("Passage", later)
        return later

    def feed_document(self, data: bytes) -> list[StreamOutput]:
        """Passes a whole document on, and reads it."""
        self._is_document = True
        outputs = self._reader.feed_document(data)
        self.started, self.failing = True, self._reader.failing
        is_error = self.failing or not _is_good(outputs, default=True)
        self._pass_on(data, is_error=is_error)
        return outputs

    def end(self) -> list[StreamOutput]:
        """Ends the bytes, which the upstream has ended."""
        said_so = self._is_document or self.failing or self._last is not None
        outputs = self._reader.end() if self._last is None else self._last
        self._over(is_whole=said_so or _is_good(outputs))
        return outputs

    def fail(self, error: LanguageModelError) -> list[StreamOutput]:
        """Ends the bytes, which broke off."""
        is_whole = self._last is not None and _is_good(self._last)
        outputs = self._reader.fail(error) if self._last is None else self._last
        self._over(is_whole=is_whole)
        return outputs

    def _over(self, *, is_whole: bool) -> None:
        self.finished = True
        if is_whole and (rest := self._borders.rest()):
            self._pass_on(rest, is_error=True)
        if self._passes:
            self.passage.end(is_whole=is_whole)

    def _shown(self, data: bytes, hides: Callable[[bytes], bool]) -> bytes:
        """Whole events without those that are hidden; in linear time, as a read may have thousands of them."""
        shown: list[bytes] = []
        kept = begin = 0
        for end in _ends_of(self._ends).finditer(data):
            if hides(data[begin : end.end()]):
                shown.append(data[kept:begin])
                kept = end.end()
            begin = end.end()
        shown.append(data[kept:])
        return b"".join(shown)

    def _pass_on(self, data: bytes, *, is_error: bool, is_last: bool = False) -> None:
        """Passes bytes on; those of an error without secrets."""
        if self._passes:
            redactor = self._redactor if is_error else None
            self.passage.data(data if redactor is None else redactor.redact_bytes(data), is_last=is_last)


class PutOff:
    """Takes what a reader does with its passage while another thread reads, and does it afterwards."""

    def __init__(self, reader: LookingReader, passage: Passage) -> None:
        self._reader = reader
        self._passage = passage
        self._calls: list[tuple[str, tuple[Any, ...], dict[str, Any]]] = []
        self.has_begun = passage.has_begun

    def __getattr__(self, name: str) -> Callable[..., None]:
        """A method of the passage."""
        return lambda *arguments, **named: self._calls.append((name, arguments, named))

    async def go_on(self) -> None:
        """Does all of it; bytes go on in pieces, each with a turn of the event loop."""
        self._reader.passage = self._passage
        for name, arguments, named in self._calls:
            getattr(self._passage, name)(*arguments, **named)
            await asyncio.sleep(0)


@cache
def _ends_of(event_ends: tuple[bytes, ...]) -> re.Pattern[bytes]:
    # The last byte first, then a look back: for one literal `re` searches fast, and tries several ends at each byte.
    return re.compile(b"|".join(re.escape(end[-1:]) + b"(?<=%b)" % re.escape(end) for end in event_ends))


def says_something(outputs: Iterable[StreamOutput]) -> bool:
    """Whether outputs hold a part, or an end that is no failure: an HTTP status may still say a failure."""
    return any(one.outcome in VALID if isinstance(one, Finish) else not isinstance(one, Unmapped) for one in outputs)


def _is_good(outputs: Sequence[StreamOutput], *, default: bool = False) -> bool:
    """Whether outputs end with the end of an answer that did not fail; `default` where they do not end it."""
    last = outputs[-1] if outputs else None
    return last.outcome in VALID if isinstance(last, Finish) else default


class EventBorders:
    """Cuts bytes after the last whole event in them; `waits` while bytes wait for the end of their event."""

    def __init__(self, event_ends: tuple[bytes, ...]) -> None:
        self._ends = event_ends
        self._longest = max(map(len, event_ends), default=1) - 1
        self.waits = False
        self._held: list[bytes] = []
        self._size = 0
        self._tail = b""  # the last bytes of those that wait: an end may be cut

    def feed(self, data: bytes) -> bytes:
        """The bytes up to the last border; what follows waits.

        Raises:
            EventTooLargeError: More wait than any reader takes for one event.
        """
        seen = self._tail + data
        at = max(place + len(end) if (place := seen.rfind(end)) >= 0 else 0 for end in self._ends) - len(self._tail)
        return self._cut(data, at)

    def _cut(self, data: bytes, at: int) -> bytes:
        """All that waits, with these bytes up to a place; nothing where that is none of theirs."""
        if at <= 0:
            self._hold(data)
            return b""
        whole = b"".join((*self._held, data[:at]))
        self._held, self._size, self._tail, self.waits = [], 0, b"", False
        if at < len(data):
            self._hold(data[at:])
        return whole

    def rest(self) -> bytes:
        """The bytes of an event without an end."""
        return b"".join(self._held)

    def _hold(self, data: bytes) -> None:
        self.waits = True
        self._held.append(data)
        self._size += len(data)
        self._tail = (self._tail + data)[-self._longest :] if self._longest else b""
        if self._size > DEFAULT_MAX_EVENT_SIZE:
            raise EventTooLargeError(self._size, DEFAULT_MAX_EVENT_SIZE)


_SIGNS: Final = re.compile(rb'\\(?:.|\Z)|["{}\[\]]', re.DOTALL)


class ArrayBorders(EventBorders):
    """Cuts the bytes of a JSON array after the last whole value in them."""

    def __init__(self) -> None:
        super().__init__(())
        self._depth = 0
        self._is_text = self._is_escaped = False

    def feed(self, data: bytes) -> bytes:
        """The bytes up to the end of a value, or of the array; what follows waits."""
        at, begin, self._is_escaped = 0, int(self._is_escaped), False
        for found in _SIGNS.finditer(data, begin):
            sign = found[0]
            if sign.startswith(b"\\"):
                self._is_escaped = len(sign) == 1  # the bytes end here
            elif sign == b'"':
                self._is_text = not self._is_text
            elif not self._is_text:
                self._depth += 1 if sign in b"{[" else -1
                at = found.end() if sign in b"]}" and self._depth <= 1 else at
        return self._cut(data, at)
