"""What a real server does with a request that its wire alone does not tell: the interface of all vendors.

A vendor refuses requests that the wire can say, in its own words; knows which signatures of its own a request has to
bring back; and sees a request as its prompt cache does. Whether a signature is right, only the server knows that made
it: :func:`partstream.devtools.testing.vendors.vendor.check_signed_state` decides it for the scripted model, and
:class:`partstream.devtools.testing.vendors.vendor.PromptCache` says what a prompt costs.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass
from itertools import accumulate
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from partstream.codec.json_codec import dumps
from partstream.conversation.provider_state import ITEMS
from partstream.devtools.testing.scripted_model import is_signature, needs_other_thinking, signature
from partstream.errors import CallerError, InvalidRequestError
from partstream.lm.parts import ThinkingPart, ToolCallPart, ToolResultPart

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from partstream.lm.messages import ChatMessage
    from partstream.lm.outputs import InboundRequest
    from partstream.protocols.failures import RefusedRequestError
    from partstream.protocols.serve import WireRequest


# ---- vendor ----


@dataclass(frozen=True, slots=True)
class SignedState:
    """A signature that a request brings back.

    Attributes:
        signature: The signature.
        signed: The text that it has to belong to; None where the request does not say the text.
        refusal: How a server refuses it if it is wrong.
    """

    signature: str
    signed: str | None
    refusal: RefusedRequestError


@dataclass(frozen=True, slots=True)
class ThoughtfulCall:
    """A call of the turn that is under way, which has to come back with the thinking that led to it.

    Attributes:
        call_id: The id of the call.
        signatures: Those of the thinking before it in its answer, in order.
        refusal: How a server refuses it if thinking is missing, changed or at another place.
    """

    call_id: str
    signatures: tuple[str, ...]
    refusal: RefusedRequestError


class Vendor:
    """The servers of one wire; of this one, nothing is known beyond the wire."""

    def refuse(self, request: WireRequest) -> None:
        """Refuses what the wire can say and a real server does not take.

        Args:
            request: A request that the protocol itself can read.

        Raises:
            RefusedRequestError: It is refused, in the server's words.
        """

    def signed_state(self, request: WireRequest) -> Iterable[SignedState | ThoughtfulCall]:
        """The signatures that a request brings back and the calls that need them, in order.

        Args:
            request: A request that the protocol itself can read. State that is sealed is not this wire's own.
        """
        del request
        return ()

    def cached_prompt(self, request: WireRequest) -> CachedPrompt | None:
        """The request as the prompt cache of the server sees it; None where no rule of a cache is known.

        Args:
            request: Any request: what has not the form of a prompt is left out.
        """
        del request
        return None


# ---- prompt cache ----
# The prompt cache of a served model: what requests have written, and which tokens of the next one are read from it.
#
# A request is a :class:`CachedPrompt` here: blocks in the order of the prompt, marks, and the vendor's rule, which
# the modules of :mod:`partstream.devtools.testing.vendors` make of it. A cache holds beginnings of prompts, not
# prompts: each by the digest of all blocks up to a mark. How long a vendor keeps them is left out, because nobody
# here waits for minutes.

# ---- a request as blocks ----

_BYTES_PER_TOKEN: Final = 4


@dataclass(frozen=True, slots=True)
class PromptBlock:
    """One block of a prompt.

    Attributes:
        digest: What tells its content from any other, with everything that makes the server forget what follows.
        tokens: Its length.
        is_marked: Whether the request asks to write everything up to here into the cache.
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
    """The prompt of a request.

    Attributes:
        blocks: Its blocks, in the order in which the server puts them before its model.
        rule: The rule of the server for the model.
        model: The model: each has a cache of its own.
    """

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

    Args:
        value: The value.
        beside: What makes it another block, such as the role of its message, and is not counted.
        ignored: Names of fields of the value that are no part of the prompt, such as that of the mark itself.
        is_marked: Whether the request asks to write everything up to here.
    """
    if isinstance(value, Mapping):
        value = {name: said for name, said in value.items() if name not in set(ignored)}
    digest = hashlib.sha256(dumps([value, *beside])).digest()
    return PromptBlock(digest, tokens_of(value), is_marked)


def listed_blocks(body: Mapping[str, Any], names: Iterable[str]) -> tuple[PromptBlock, ...]:
    """The blocks of a body in which everything stands in lists: one for each entry, and one for any other value.

    Args:
        body: The body.
        names: The names of its fields, in the order of the prompt.
    """
    return tuple(
        block_of(one, name)
        for name in names
        if (said := body.get(name))
        for one in (said if isinstance(said, list) else [said])
    )


# ---- the cache ----


class TooManyMarksError(CallerError):
    """A request has more marks than its server takes.

    Attributes:
        found: The number of its marks.
        most: The number that the server takes.
    """

    def __init__(self, found: int, most: int) -> None:
        super().__init__(f"a maximum of {most} blocks may be marked, found {found}")
        self.found = found
        self.most = most


@dataclass(frozen=True, slots=True)
class Bill:
    """What one request costs.

    Attributes:
        uncached: The tokens at the full price.
        read: The tokens that were read from the cache.
        written: The tokens that were written into it.
    """

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
        rule, beginnings = prompt.rule, _beginnings(prompt)
        ends = _ends(prompt)
        if not rule.is_automatic and rule.most_marks is not None and len(ends) > rule.most_marks:
            raise TooManyMarksError(len(ends), rule.most_marks)
        from_ends = ends if rule.look_back is not None else ends[-1:]
        read = max((self._found(beginnings, end, rule) for end in from_ends), default=0)
        kept = [beginnings[end] for end in ends if beginnings[end].tokens >= rule.least_tokens]
        self._kept.update(one.digest for one in kept)
        written = max(0, max((one.tokens for one in kept), default=0) - read)
        if rule.is_automatic:  # nothing is paid for it, so that no vendor reports it
            return Bill(prompt.tokens - read, read, 0)
        return Bill(prompt.tokens - read - written, read, written)

    def _found(self, beginnings: Sequence[_Beginning], end: int, rule: CacheRule) -> int:
        """The tokens of the longest kept beginning that is found from a mark backwards."""
        first = -1 if rule.look_back is None else max(-1, end - rule.look_back)
        places = range(end, first, -1)
        return next((beginnings[place].tokens for place in places if beginnings[place].digest in self._kept), 0)


def _ends(prompt: CachedPrompt) -> list[int]:
    """The indices of the blocks behind which the server keeps the beginning of the prompt."""
    return [index for index, block in enumerate(prompt.blocks) if prompt.rule.is_automatic or block.is_marked]


def _beginnings(prompt: CachedPrompt) -> list[_Beginning]:
    lengths = accumulate(block.tokens for block in prompt.blocks)
    start = hashlib.sha256(prompt.model.encode(errors="surrogatepass")).digest()
    digests = list(accumulate((block.digest for block in prompt.blocks), _chained, initial=start))[1:]
    return [_Beginning(digest, length) for digest, length in zip(digests, lengths, strict=True)]


def _chained(before: bytes, digest: bytes) -> bytes:
    return hashlib.sha256(before + digest).digest()


# ---- refusals ----
# The requests that the scripted model refuses, as real servers do: changed signatures, calls without results, and
# results without calls.

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

    Args:
        messages: The conversation.
        stored: Whether the conversation continues a stored response, which may hold the calls.

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
        raise InvalidRequestError(where, f"the call {call_id!r} without a result", "a result behind it")


def check_signatures(messages: Iterable[ChatMessage]) -> None:
    """Refuses signatures that do not belong to the text or call id beside them.

    Raises:
        InvalidRequestError: A signature does not fit.
    """
    for number, item in _items(messages):
        options = item.get("providerOptions")
        for provider, name, said in _SIGNED:
            beside = options.get(provider) if isinstance(options, Mapping) else None
            given = beside.get(name) if isinstance(beside, Mapping) else None
            if given is not None and given != signature(str(item.get(said))):
                where = f"messages[{number}].{provider}.{name}"
                raise InvalidRequestError(where, "a signature of something else", "the one that came with it")


def check_signed_state(brought: Iterable[SignedState | ThoughtfulCall], model: str) -> None:
    """Refuses what a request brings back under a wrong signature, and calls without the thinking that led to them.

    Args:
        brought: What it brings back.
        model: The model that is asked.

    Raises:
        RefusedRequestError: In the words of the protocol's servers.
    """
    for one in brought:
        if _is_forged(one) if isinstance(one, SignedState) else _lacks_thinking(one, model):
            raise one.refusal


def _is_forged(state: SignedState) -> bool:
    if state.signed is None:
        return not is_signature(state.signature)
    return state.signature != signature(state.signed)


def _lacks_thinking(call: ThoughtfulCall, model: str) -> bool:
    return needs_other_thinking(call.call_id, model, call.signatures)


_SIGNED: Final = (("anthropic", "signature", "text"), ("google", "thoughtSignature", "toolCallId"))
"""The provider, the name of its signature, and the signed field of the item."""


def _items(messages: Iterable[ChatMessage]) -> Iterator[tuple[int, Mapping[str, Any]]]:
    """The items in the metadata of thinking, each with the number of its message."""
    for number, message in enumerate(messages):
        for part in message.content:
            listed = part.metadata.get(ITEMS) if isinstance(part, ThinkingPart) and part.metadata else None
            for item in listed if isinstance(listed, list | tuple) else ():
                if isinstance(item, Mapping):
                    yield number, item
