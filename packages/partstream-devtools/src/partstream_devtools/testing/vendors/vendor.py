"""What a real server does with a request beyond its wire: the interface of all vendors, and what decides for them.

A vendor refuses requests that the wire can say, in its own words; knows which signatures of its own a request has to
bring back; and sees a request as its prompt cache does. Whether a signature is right, only the server knows that made
it: :func:`check_signed_state` decides it for the scripted model. :func:`check_request` refuses what every server
refuses: calls without results, and results without calls.

:class:`PromptCache` says what a prompt costs. A request is a :class:`CachedPrompt` there: blocks in the order of the
prompt, marks, and the rule of the vendor. A cache holds beginnings of prompts, not prompts: each by the digest of all
blocks up to a mark. Vendors drop them after minutes; the cache here keeps them, because no test waits that long.
"""

from __future__ import annotations
import hashlib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import accumulate
from typing import Any, Final, NamedTuple, TypeAlias

from partstream.codec.checks import dataclass
from partstream.codec.json_codec import dumps
from partstream.conversation.provider_state import ITEMS
from partstream.errors import CallerError, InvalidRequestError
from partstream.lm.messages import ChatMessage
from partstream.lm.outputs import InboundRequest
from partstream.lm.parts import ThinkingPart, ToolCallPart, ToolResultPart
from partstream.protocols.failures import RefusedRequestError
from partstream.protocols.serve import WireRequest
from partstream_devtools.testing.scripted_model import is_signature, needs_other_thinking, signature

# ---- The interface ----


@dataclass(frozen=True, slots=True)
class SignedState:
    """A signature that a request brings back, the text that it has to belong to (None if unknown), and its refusal."""

    signature: str
    signed: str | None
    refusal: RefusedRequestError


@dataclass(frozen=True, slots=True)
class CallWithThinking:
    """A call of the turn that is under way, with the signatures of the thinking that led to it."""

    call_id: str
    signatures: tuple[str, ...]
    refusal: RefusedRequestError


Checks: TypeAlias = "Iterator[tuple[object, str | RefusedRequestError]]"
"""Rows: whether a request is wrong, and the server's words then. The first wrong one ends them, so that those after it
rely on it."""


class Vendor:
    """The servers of one wire; of this one, nothing is known beyond the wire.

    Attributes:
        code: The code of refusals, or None.
        prompt_fields: The fields of a body that are its prompt, in the order of the server.
        cache_rule: The rule of its prompt cache, or None where none is known.
    """

    code: str | None = None
    prompt_fields: tuple[str, ...] = ("tools", "messages")
    cache_rule: CacheRule | None = None

    def refuse(self, request: WireRequest) -> None:
        """Refuses what the wire can say and a real server does not take; the protocol can read the request.

        Raises:
            RefusedRequestError: It is refused, in the server's words.
        """
        for is_wrong, said in self.checks(request):
            if is_wrong:
                raise said if isinstance(said, RefusedRequestError) else RefusedRequestError(said, code=self.code)

    def checks(self, request: WireRequest) -> Checks:
        """The checks of a request, in the order of the server."""
        del request
        yield from ()

    def signed_state(self, request: WireRequest) -> Iterable[SignedState | CallWithThinking]:
        """The signatures that a request brings back and the calls that need them; opaque state is not among them."""
        del request
        return ()

    def cached_prompt(self, request: WireRequest) -> CachedPrompt | None:
        """Any request as the prompt cache of the server sees it; None where no rule of a cache is known.

        A field of the prompt is a block for each entry of a list, and one for any other value.
        """
        if self.cache_rule is None:
            return None
        blocks = tuple(
            block_of(one, name)
            for name in self.prompt_fields
            if (said := request.body.get(name))
            for one in (said if isinstance(said, list) else [said])
        )
        return CachedPrompt(blocks, self.cache_rule, str(request.body.get("model") or ""))


# ---- The prompt cache ----


_BYTES_PER_TOKEN: Final = 4


@dataclass(frozen=True, slots=True)
class PromptBlock:
    """One block of a prompt.

    The digest covers its content and everything that makes the server forget what follows. A marked block asks the
    server to write everything up to it into the cache.
    """

    digest: bytes
    tokens: int
    is_marked: bool = False


@dataclass(frozen=True, slots=True)
class CacheRule:
    """How a vendor's cache works, and what it costs.

    Attributes:
        least_tokens: The shortest beginning of a prompt that is kept, in tokens.
        is_automatic: Whether every beginning is kept, without marks.
        look_back: In how many blocks, from a mark backwards and with the mark's own, an earlier beginning is found;
            None for any number.
        most_marks: How many marks a request may have; None for any number.
        write_price: The price of a token that is written, as a share of the price of a token of input.
        read_price: The price of a token that is read, likewise.
    """

    least_tokens: int
    is_automatic: bool = False
    look_back: int | None = None
    most_marks: int | None = None
    write_price: float = 1.0
    read_price: float = 0.1


OPENAI_RULE: Final = CacheRule(1024, is_automatic=True)
"""What OpenAI keeps and takes, and servers that say so of themselves (xAI, Mistral); not all of them the same price.

Source: OpenAI cookbook "Prompt Caching 201", for models before GPT-5.6.
"""


@dataclass(frozen=True, slots=True)
class CachedPrompt:
    """The blocks of a prompt in the order of the server, the rule for its model, and the model: each has a cache."""

    blocks: tuple[PromptBlock, ...]
    rule: CacheRule
    model: str = ""

    @property
    def tokens(self) -> int:
        """The length of the whole prompt."""
        return sum(block.tokens for block in self.blocks)


def tokens_of(value: Any) -> int:
    """The tokens of a JSON value by a rule that is easy to compute by hand: its bytes divided by four, rounded up."""
    said = value.encode(errors="surrogatepass") if isinstance(value, str) else dumps(value)
    return -(-len(said) // _BYTES_PER_TOKEN)


def block_of(value: Any, *beside: Any, ignored: Iterable[str] = (), is_marked: bool = False) -> PromptBlock:
    """The block of a JSON value, whose objects keep the order of their names: servers compare texts.

    `beside` makes it another block, such as the role of its message, and is not counted. `ignored` names fields that
    are no part of the prompt, such as the mark itself.
    """
    if isinstance(value, Mapping):
        value = {name: said for name, said in value.items() if name not in set(ignored)}
    digest = hashlib.sha256(dumps([value, *beside])).digest()
    return PromptBlock(digest, tokens_of(value), is_marked)


def objects_in(value: Any) -> list[Mapping[str, Any]]:
    """The objects in a list; none in any other value."""
    return [one for one in value if isinstance(one, Mapping)] if isinstance(value, list) else []


class TooManyMarksError(CallerError):
    """A request has more marks than its server takes."""

    def __init__(self, found: int, most: int) -> None:
        super().__init__(f"a maximum of {most} blocks may be marked, found {found}")
        self.found = found
        self.most = most


@dataclass(frozen=True, slots=True)
class Bill:
    """The tokens of one request at the full price, those read from the cache, and those written into it."""

    uncached: int
    read: int
    written: int

    @property
    def tokens(self) -> int:
        """The length of the prompt."""
        return self.uncached + self.read + self.written

    def price(self, rule: CacheRule) -> float:
        """The price, in tokens of uncached input."""
        return self.uncached + self.read * rule.read_price + self.written * rule.write_price


class _Beginning(NamedTuple):
    """The beginning of a prompt, up to and with a block."""

    digest: bytes
    tokens: int


class PromptCache:
    """The caches of the models of one server; serves any number of requests, in the order in which they came."""

    def __init__(self) -> None:
        self._kept: set[bytes] = set()

    def bill(self, prompt: CachedPrompt) -> Bill:
        """What a request costs; keeps what it writes.

        Raises:
            TooManyMarksError: It has more marks than its server takes.
        """
        rule = prompt.rule
        lengths = accumulate(block.tokens for block in prompt.blocks)
        start = hashlib.sha256(prompt.model.encode(errors="surrogatepass")).digest()
        of_blocks = (block.digest for block in prompt.blocks)
        _, *digests = accumulate(of_blocks, lambda before, one: hashlib.sha256(before + one).digest(), initial=start)
        beginnings = list(map(_Beginning, digests, lengths))
        # After these blocks the server keeps the beginning of the prompt.
        ends = [index for index, block in enumerate(prompt.blocks) if prompt.rule.is_automatic or block.is_marked]
        if not rule.is_automatic and rule.most_marks is not None and len(ends) > rule.most_marks:
            raise TooManyMarksError(len(ends), rule.most_marks)
        from_ends = ends if rule.look_back is not None else ends[-1:]
        read = max((self._found(beginnings, end, rule) for end in from_ends), default=0)
        kept = [beginnings[end] for end in ends if beginnings[end].tokens >= rule.least_tokens]
        self._kept.update(one.digest for one in kept)
        written = max(0, max((one.tokens for one in kept), default=0) - read)
        if rule.is_automatic:  # writing is free, so that no vendor reports it
            return Bill(prompt.tokens - read, read, 0)
        return Bill(prompt.tokens - read - written, read, written)

    def _found(self, beginnings: Sequence[_Beginning], end: int, rule: CacheRule) -> int:
        """The tokens of the longest kept beginning that is found from a mark backwards."""
        first = -1 if rule.look_back is None else max(-1, end - rule.look_back)
        places = range(end, first, -1)
        return next((beginnings[place].tokens for place in places if beginnings[place].digest in self._kept), 0)


# ---- Refusals ----

_STORED: Final = "previous_response_id"
"""The field of a request that continues a stored response: its results may belong to calls in that response."""


def check_request(asked: InboundRequest) -> None:
    """Refuses invalid requests.

    Raises:
        InvalidRequestError: A call has no result, a result has no call, or a signature does not fit.
    """
    check_calls(asked.messages, stored=_STORED in asked.unmapped)
    check_signatures(asked.messages)


def check_calls(messages: Iterable[ChatMessage], *, stored: bool = False) -> None:
    """Refuses calls without a later result, and results without an earlier call.

    A `stored` response that the conversation continues may hold the calls.

    Raises:
        InvalidRequestError: A call has no result, or a result has no call.
    """
    waiting: dict[str, str] = {}
    for number, message in enumerate(messages):
        for place, part in enumerate(message.content):
            where = f"messages[{number}].content[{place}]"
            if isinstance(part, ToolResultPart):
                if waiting.pop(part.call_id, None) is None and not stored:
                    raise InvalidRequestError(where, f"a result of {part.call_id!r}", "a call before it")
            elif isinstance(part, ToolCallPart):
                waiting[part.call_id] = where
    for call_id, where in waiting.items():
        raise InvalidRequestError(where, f"the call {call_id!r} without a result", "a result after it")


_SIGNED: Final = (("anthropic", "signature", "text"), ("google", "thoughtSignature", "toolCallId"))
"""The provider, the name of its signature, and the signed field of the item."""


def check_signatures(messages: Iterable[ChatMessage]) -> None:
    """Refuses signatures that do not belong to the text or call id beside them.

    Raises:
        InvalidRequestError: A signature does not fit.
    """
    thoughts = [
        (number, part)
        for number, message in enumerate(messages)
        for part in message.content
        if isinstance(part, ThinkingPart) and part.metadata
    ]
    for number, part in thoughts:
        listed = (part.metadata or {}).get(ITEMS)
        for item in objects_in(list(listed) if isinstance(listed, tuple) else listed):
            options = item.get("providerOptions")
            for provider, name, said in _SIGNED:
                beside = options.get(provider) if isinstance(options, Mapping) else None
                given = beside.get(name) if isinstance(beside, Mapping) else None
                if given is not None and given != signature(str(item.get(said))):
                    where = f"messages[{number}].{provider}.{name}"
                    raise InvalidRequestError(where, "a signature of something else", "the one that came with it")


def check_signed_state(brought: Iterable[SignedState | CallWithThinking], model: str) -> None:
    """Refuses what a request brings back under a wrong signature, and calls without the thinking that led to them.

    Raises:
        RefusedRequestError: In the words of the protocol's servers.
    """
    for one in brought:
        if isinstance(one, CallWithThinking):
            is_wrong = needs_other_thinking(one.call_id, model, one.signatures)
        elif one.signed is None:
            is_wrong = not is_signature(one.signature)
        else:
            is_wrong = one.signature != signature(one.signed)
        if is_wrong:
            raise one.refusal
