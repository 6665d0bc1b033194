"""The scripted model: scenarios as pure functions from a request to an answer, for any wire and as a provider.

A scenario knows no wire and no clock. Its answer consists of parts and exactly one `Finish`, like the output of an
adapter. Text arrives in pieces like those of real models and contains characters of two, three and four bytes, so that
splits inside a character occur. :func:`play` adds what scenarios leave out, in this order: unique call ids, signatures,
usage and price.

Signatures reveal clients that send state back changed or in the wrong place. A signature is opaque state in the
metadata of thinking: one of the thinking, like those of Anthropic's models, and one of the first of several calls, like
those of Google's models. The upstream keeps no state: the end of a call id names the thinking that led to the call, and
a signature shows by itself that the scripted model made it.

Tokens follow a rule that a person can compute: a text has one token per four bytes of UTF-8, rounded up, and every
image the same number.
"""

from __future__ import annotations
import asyncio
import base64
import hashlib
import json
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import chain, cycle, islice
from secrets import token_hex
from typing import Any, Final, NamedTuple, Protocol, TypeAlias

from partstream.codec.checks import replace
from partstream.conversation.provider_state import ITEMS
from partstream.errors import CallerError, UpstreamFailureError
from partstream.lm import parts, provider
from partstream.lm.cancellation import CancellationToken
from partstream.lm.messages import ChatMessage, RequestOptions, Role, Tool
from partstream.lm.outputs import Finish, InboundRequest, Outcome
from partstream.upstream.context import run_until_cancelled
from partstream_devtools.testing import directives

# ---- Scenarios ----

DEFAULT_LONG_PIECES: Final = 300
"""The number of text parts in the scenario `long` without a value; `scenario:long=N` sets another number."""

MAX_LONG_PIECES: Final = 1_000_000
MAX_ROUNDS: Final = 1000
Outputs: TypeAlias = Iterator[parts.ResponsePart | Finish]
"""An answer, made on demand: parts, then one `Finish`. Call ids are unique within the answer only."""


class Scenario(Protocol):
    """Answers a request; `value` is the text after the scenario's name, or empty."""

    def __call__(self, asked: InboundRequest, value: str, /) -> Outputs:
        """The answer.

        Raises:
            UnknownScenarioError: The value is unknown; raised by the call, before the first part.
        """
        ...


class UnknownScenarioError(CallerError):
    """An unknown scenario, or an unknown value of one: `name` and the `expected` names or values."""

    def __init__(self, name: str, expected: str) -> None:
        super().__init__(f"unknown scenario {name!r}; expected {expected}")
        self.name = name
        self.expected = expected


def find_scenario(name: str) -> Scenario:
    """The scenario of that name.

    Raises:
        UnknownScenarioError: The scenario is unknown.
    """
    if name not in SCENARIOS:
        raise UnknownScenarioError(name, f"one of {', '.join(SCENARIOS)}")
    return SCENARIOS[name]


def pieces(text: str) -> list[str]:
    """`text` cut before each word, like the tokens of a model."""
    return re.findall(r"\s*\S+|\s+$", text)


def _says(text: str) -> Iterator[parts.TextPart]:
    return map(parts.TextPart, pieces(text))


def _thinks(text: str) -> Iterator[parts.ThinkingPart]:
    return map(parts.ThinkingPart, pieces(text))


_STOPPED: Final = Finish(Outcome.COMPLETED, parts.FinishReason(parts.UnifiedFinishReason.STOP))
_CALLED: Final = Finish(Outcome.COMPLETED, parts.FinishReason(parts.UnifiedFinishReason.TOOL_CALLS))


def _fixed(text: str = "", thinking: str = "") -> Scenario:
    """The same answer to every request."""
    said: tuple[parts.ResponsePart | Finish, ...] = (*_thinks(thinking), *_says(text), _STOPPED)
    return lambda asked, value: iter(said)


_INCOMPLETE: Final = {
    "max_output_tokens": parts.UnifiedFinishReason.LENGTH,
    "content_filter": parts.UnifiedFinishReason.CONTENT_FILTER,
}


def _incomplete(asked: InboundRequest, value: str) -> Outputs:
    reason = value or next(iter(_INCOMPLETE))
    if reason not in _INCOMPLETE:
        raise UnknownScenarioError(f"incomplete={value}", f"incomplete=REASON, one of {', '.join(_INCOMPLETE)}")
    finish = Finish(Outcome.INCOMPLETE, parts.FinishReason(_INCOMPLETE[reason], reason))
    return iter((*_says("This answer stops in the middle of"), finish))


def _failed(asked: InboundRequest, value: str) -> Outputs:
    yield from _says("This answer begins well, and then")
    error = UpstreamFailureError("The model broke while it was answering.", provider_code="server_error")
    yield Finish(Outcome.FAILED, parts.FinishReason(parts.UnifiedFinishReason.ERROR), error=error)


_CITATION: Final = "application/vnd.vscode.citation+json"
_SOURCED: Final = (
    ("The Eiffel Tower is 330 metres high 🗼.", "Eiffel Tower", "https://example.com/eiffel-tower"),
    (" The Tokyo Skytree is higher: 634 metres.", "Größe der Türme", "https://example.com/towers?sort=height&unit=m"),
)
"""Sentences, each with the title and the URL of its source."""


def _citations(asked: InboundRequest, value: str) -> Outputs:
    said = 0
    for sentence, title, url in _SOURCED:
        yield from _says(sentence)
        start, said = said + len(sentence) - len(sentence.lstrip()), said + len(sentence)
        span = {"start_index": start, "end_index": said}
        yield parts.DataPart.json({"type": "url_citation", "url": url, "title": title, **span}, _CITATION)
    yield _STOPPED


_SECTION: Final = (
    "\n## A heading\n\nA paragraph with **bold**, `code` and a [link](https://example.com), then a list:\n\n"
    "- one: naïve\n- two: 東京\n- three: 🚀\n\n```python\nfor number in range(3):\n    print(number)\n```\n"
)


def _long(asked: InboundRequest, value: str) -> Outputs:
    count = directives.whole_number(value, MAX_LONG_PIECES) if value else DEFAULT_LONG_PIECES
    if not count:
        raise UnknownScenarioError(f"long={value:.40}", f"long=N with N from 1 to {MAX_LONG_PIECES:,}")
    return chain(map(parts.TextPart, islice(cycle(pieces(_SECTION)), count)), [_STOPPED])


def _image_echo(asked: InboundRequest, value: str) -> Outputs:
    images = directives.new_images(asked.messages)
    lines = [f"{number}. {image}" for number, image in enumerate(images, start=1)]
    yield from _says(f"I see {len(images)} image(s):\n" + "\n".join(lines) if images else "I see no image.")
    yield _STOPPED


def _tools(asked: InboundRequest, value: str) -> Outputs:
    """First round: thinking, text and parallel calls. Second round: an answer made from the tools' results.

    With a number, so many rounds of calls come first, as in the session of an agent: `scenario:tools=20`.
    """
    rounds = directives.whole_number(value, MAX_ROUNDS) if value else 1
    if rounds is None:
        raise UnknownScenarioError(f"tools={value}", f"a number of rounds from 0 to {MAX_ROUNDS}")
    return _work(asked, rounds) if value else _look_up(asked)


def _look_up(asked: InboundRequest) -> Outputs:
    calls: tuple[directives.AskedCall, ...] = ()
    if outputs := directives.tool_outputs(asked.messages):
        yield from _says(_report(outputs))
    elif calls := directives.read_calls(directives.user_text(asked.messages)) or _chosen_calls(asked):
        names = " and ".join(dict.fromkeys(f"`{call.name}`" for call in calls))
        yield from _thinks(f"I do not know this by heart. {names} can tell me.")
        yield from _says("Let me look that up.")
        yield from _calls(calls)
    else:
        yield from _says("I was offered no tools, so I can only guess.")
    yield _CALLED if calls else _STOPPED


def _work(asked: InboundRequest, rounds: int) -> Outputs:
    """The next round of an agent's session: it depends on how many there were since the user spoke."""
    done = directives.rounds_of_calls(asked.messages)
    calls = _calls_of_round(asked, done) if done < rounds and asked.options.tools else ()
    yield from _thinks(_THOUGHT.format(round=done + 1, rounds=rounds) * (1 + done % _PARALLEL))
    if calls:
        yield from _says(f"Step {done + 1}: I look at the next {len(calls)} places.")
        yield from _calls(calls)
    else:
        yield from _says(_report(directives.tool_outputs(asked.messages)[-_PARALLEL:]))
    yield _CALLED if calls else _STOPPED


def _calls(calls: Iterable[directives.AskedCall]) -> Iterator[parts.ToolCallPart]:
    return (
        parts.ToolCallPart(f"call_{number}", call.name, call.arguments) for number, call in enumerate(calls, start=1)
    )


# ---- The calls of a scenario ----


_THOUGHT: Final = (
    "**Step {round}**\n\nThis is step {round} of {rounds}. What I have read so far says where the value is made, not "
    "why it is wrong. The next places to look at are those that call it, and the test that fails. "
)
_PARALLEL: Final = 3
_WIDE_ROUNDS: Final = 10
"""Each tenth round has so many calls that their blocks are more than a prompt cache looks back over."""
_WIDE: Final = 12


def _calls_of_round(asked: InboundRequest, done: int) -> tuple[directives.AskedCall, ...]:
    """One to three calls, now and then many; of the offered tools in turn, each with arguments of its own."""
    tools = asked.options.tools
    count = _WIDE if done % _WIDE_ROUNDS == _WIDE_ROUNDS - 1 else 1 + done % _PARALLEL
    chosen = [(tools[(done + place) % len(tools)], f"src/step_{done}/place_{place}.py") for place in range(count)]
    return tuple(directives.AskedCall(tool.name, _arguments(tool, text)) for tool, text in chosen)


def _report(outputs: Iterable[directives.ToolOutput]) -> str:
    lines = []
    for output in outputs:
        text = output.text.strip()
        shown = text if len(text) <= 500 else text[:500] + "…"
        lines.append(f"- {output.name or output.call_id}: {shown or 'nothing'}")
    return "Here is what I found:\n\n" + "\n".join(lines)


def _chosen_calls(asked: InboundRequest) -> tuple[directives.AskedCall, ...]:
    """Two calls with different arguments: of the first two tools, or twice of the only tool."""
    tools = (asked.options.tools * 2)[:2]
    # Places in the question ("the weather in Lisbon") come first, then two default places.
    places = (*re.findall(r"\bin ([A-Z]\w+)", directives.user_text(asked.messages)), "Paris", "Tokyo")
    return tuple(
        directives.AskedCall(tool.name, _arguments(tool, place))
        for tool, place in zip(tools, dict.fromkeys(places), strict=False)
    )


def _arguments(tool: Tool, text: str) -> dict[str, Any]:
    """Values for the properties that the tool's schema requires, or for all properties if it requires none."""
    schema = tool.input_schema or {}
    properties = _mapping(schema.get("properties"))
    required = schema.get("required")
    names = [name for name in required if isinstance(name, str)] if isinstance(required, list) else list(properties)
    return {name: _sample(_mapping(properties.get(name)), text) for name in names}


def _mapping(value: object) -> Mapping[str, Any]:
    return value if isinstance(value, dict) else {}


_SAMPLES: Final[dict[str, Any]] = {
    "integer": 1,
    "number": 1.5,
    "boolean": True,
    "array": [],
    "object": {},
    "null": None,
}


def _sample(schema: Mapping[str, Any], text: str) -> Any:
    """A value that fits a JSON schema: the schema's own suggestion, else a simple value of its type."""
    for suggestion in ("const", "default"):
        if suggestion in schema:
            return schema[suggestion]
    values = schema.get("enum")
    if isinstance(values, list) and values:
        return values[0]
    kinds = schema.get("type")
    kind = kinds[0] if isinstance(kinds, list) and kinds else kinds
    return _SAMPLES.get(kind, text) if isinstance(kind, str) else text


SCENARIOS: Final[dict[str, Scenario]] = {
    "text": _fixed("Hello from Partstream! Grüße, 你好, 👋: this answer came over real HTTP, one word at a time."),
    "thinking": _fixed(
        "Six times seven is **42**.",
        "**Working it out**\n\nSix times seven is the same as six times five plus six times two: 30 + 12.",
    ),
    "tools": _tools,
    "refusal": _fixed("I am sorry, but I can't help with that."),
    "citations": _citations,
    "long": _long,
    "empty": _fixed(),
    "thinking_only": _fixed(thinking="I think, and think, and find nothing that is worth saying."),
    "incomplete": _incomplete,
    "failed": _failed,
    "image_echo": _image_echo,
}
"""All scenarios by name; the replay upstream lists the names as its models."""


# ---- Signatures ----

_SHOWN: Final = 24
"""The bytes of a signature that belong to the text; the bytes after them belong to these."""
_OWN_CALL: Final = re.compile(r"call_[0-9a-f]{12}(?P<model>[0-9a-f]{4})(?P<thinking>[0-9a-f]{8})")
"""The id of a call: its number, its model, and the thinking before it."""


def signature(text: str) -> str:
    """The scripted model's signature of `text`."""
    shown = hashlib.sha256(f"signed: {text}".encode(errors="surrogatepass")).digest()[:_SHOWN]
    return base64.b64encode(shown + _seal(shown)).decode()


def is_signature(value: str) -> bool:
    """Whether the scripted model has made a signature, whatever it belongs to."""
    try:
        data = base64.b64decode(value, validate=True)
    except ValueError:
        return False
    return data[_SHOWN:] == _seal(data[:_SHOWN])


def _seal(shown: bytes) -> bytes:
    return hashlib.sha256(b"made by the scripted model: " + shown).digest()[:8]


def needs_other_thinking(call_id: str, model: str, signatures: Iterable[str]) -> bool:
    """Whether a call of the scripted model was made after other thinking than that of these signatures.

    Nothing is known of calls that others made, and a model does not miss the thinking of another one.
    """
    own = _OWN_CALL.fullmatch(call_id)
    if own is None or own["model"] != _digits(model, 4):
        return False
    return own["thinking"] != _digits("/".join(signatures), 8)


def _digits(what: str, count: int) -> str:
    return hashlib.sha256(what.encode(errors="surrogatepass")).hexdigest()[:count]


def signed(outputs: Outputs, model: str) -> Outputs:
    """Adds a signature after each run of thinking, and before the first of several calls; marks the ids of calls."""
    items: list[dict[str, Any]] = []
    signatures: list[str] = []
    thought: list[str] = []
    calling = False
    for output in outputs:
        if isinstance(output, parts.ThinkingPart):
            thought.append(output.value)
        elif thought:
            text, thought = "".join(thought), []
            signatures.append(signature(text))
            options = {"anthropic": {"signature": signatures[-1]}}
            yield _listing(items, {"type": "reasoning", "text": text, "providerOptions": options})
        if isinstance(output, parts.ToolCallPart):
            marks = _digits(model, 4) + _digits("/".join(signatures), 8)
            output = replace(output, call_id=output.call_id[: -len(marks)] + marks)  # noqa: PLW2901
        if isinstance(output, parts.ToolCallPart) and not calling:
            options = {"google": {"thoughtSignature": signature(output.call_id)}}
            yield _listing(items, {"type": "tool-call", "toolCallId": output.call_id, "providerOptions": options})
        calling = isinstance(output, parts.ToolCallPart)
        yield output


def _listing(items: list[dict[str, Any]], item: dict[str, Any]) -> parts.ThinkingPart:
    """A part whose metadata lists all items so far, and `item` as the last of them."""
    items.append(item)
    return parts.ThinkingPart("", None, {ITEMS: list(items)})


# ---- Tokens and prices ----

IMAGE_TOKENS: Final = 85
"""The tokens of an image, regardless of its size."""

INPUT_PRICE: Final = "0.000001"
"""US dollars per token of the prompt; text, as in the price lists of servers."""

OUTPUT_PRICE: Final = "0.000002"
"""US dollars per token of the answer."""

_MILLIONTHS: Final = 1_000_000


class PromptTokens(NamedTuple):
    """The tokens of a request, and how many of them are cached.

    Cached is what the previous request of the conversation contained, or what the prompt cache read; `written` went
    into the cache, None where nothing counts that.
    """

    all: int
    cached: int
    written: int | None = None


def count_tokens(text: str) -> int:
    """The tokens of `text`: its bytes in UTF-8 divided by four, rounded up."""
    return _of_bytes(_size(text))


def count_prompt(asked: InboundRequest) -> PromptTokens:
    """The tokens of a request."""
    tools = (
        tool.name + tool.description + (_json(tool.input_schema) if tool.input_schema else "")
        for tool in asked.options.tools
    )
    always = count_tokens("".join(tools))
    counts = [count_message(message) for message in asked.messages]
    # The previous request ended before the last consecutive messages of the model: so much is cached.
    earlier: int | None = None
    for place, message in enumerate(asked.messages):
        if message.role is Role.ASSISTANT and (place == 0 or asked.messages[place - 1].role is not Role.ASSISTANT):
            earlier = place
    return PromptTokens(always + sum(counts), 0 if earlier is None else always + sum(counts[:earlier]))


def count_message(message: ChatMessage) -> int:
    """The tokens of a message: the sum for its text, its thinking, each call, each result and each image."""
    joined = (parts.TextPart, parts.ThinkingPart)
    texts = ["".join(part.value for part in message.content if isinstance(part, kind)) for kind in joined]
    return sum(map(count_tokens, texts)) + sum(
        count_tokens(_said_in(part)) + IMAGE_TOKENS * len(directives.images_in(part))
        for part in message.content
        if not isinstance(part, joined)
    )


class AnswerTokens:
    """The tokens of an answer so far; consecutive pieces of text, or of thinking, count as one text."""

    def __init__(self) -> None:
        self.all = 0
        self.reasoning = 0
        self._kind: type[parts.ResponsePart] | None = None
        self._size = 0

    def add(self, part: parts.ResponsePart) -> None:
        """Adds the next part."""
        if isinstance(part, parts.TextPart | parts.ThinkingPart):
            before = _of_bytes(self._size) if self._kind is type(part) else 0
            self._size = _size(part.value) + (self._size if self._kind is type(part) else 0)
            grown = _of_bytes(self._size) - before
            self.reasoning += grown if isinstance(part, parts.ThinkingPart) else 0
            self._kind = type(part)
            self.all += grown
        elif isinstance(part, parts.ToolCallPart):
            self._kind = None
            self.all += count_tokens(_json(part.input))


def usage(prompt: PromptTokens, answer: AnswerTokens) -> parts.Usage:
    """The usage of an exchange."""
    total = prompt.all + answer.all
    return parts.Usage(
        prompt.all, answer.all, total, prompt.cached, answer.reasoning, cache_write_tokens=prompt.written
    )


def cost(prompt: PromptTokens, answer: AnswerTokens) -> str:
    """The cost of an exchange in US dollars, with six decimal places."""
    prices = round(float(INPUT_PRICE) * _MILLIONTHS), round(float(OUTPUT_PRICE) * _MILLIONTHS)
    dollars = prompt.all * prices[0] + answer.all * prices[1]
    return f"{dollars // _MILLIONTHS}.{dollars % _MILLIONTHS:06d}"


def _of_bytes(size: int) -> int:
    return (size + 3) // 4


def _size(text: str) -> int:
    return len(text.encode(errors="surrogatepass"))


def _said_in(part: parts.MessagePart) -> str:
    if isinstance(part, parts.ToolCallPart):
        return part.name + _json(part.input)
    if isinstance(part, parts.ToolResultPart):
        return "".join(one.value for one in part.content if isinstance(one, parts.TextPart))
    return ""


def _json(value: Mapping[str, Any]) -> str:
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"))


# ---- The model ----

MAX_INPUT_TOKENS, MAX_OUTPUT_TOKENS = 128_000, 16_384

MODELS = tuple(
    provider.LanguageModelChatInformation(
        id=name,
        name=name,
        family="scripted",
        version="1",
        max_input_tokens=MAX_INPUT_TOKENS,
        max_output_tokens=MAX_OUTPUT_TOKENS,
        capabilities=provider.LanguageModelChatCapabilities(image_input=True, tool_calling=True),
    )
    for name in SCENARIOS
)
"""The scenarios as models."""


def find_choice(text: str) -> directives.NamedValue:
    """The scenario in an option of the form `NAME` or `NAME=VALUE`.

    Raises:
        UnknownScenarioError: The scenario is unknown, or the text names none or more than one.
    """
    choices = directives.parse_choices(text)
    if len(choices) != 1:
        raise UnknownScenarioError(text, f"one of {', '.join(SCENARIOS)}")
    find_scenario(choices[0].name)
    return choices[0]


def choose_scenario(asked: InboundRequest, default: directives.NamedValue) -> directives.NamedValue:
    """The scenario for a request: the one in the last user text, else the one named like the model, else `default`."""
    named = directives.read_scenario(directives.user_text(asked.messages))
    if named is not None:
        return named
    return directives.NamedValue(asked.model) if asked.model in SCENARIOS else default


def play(
    scenario: directives.NamedValue, asked: InboundRequest, identity: str, prompt: PromptTokens | None = None
) -> Outputs:
    """The answer of a scenario, made on demand: parts, then a `Finish` with usage and price.

    Args:
        scenario: The scenario and its value.
        asked: The request.
        identity: The text that call ids derive from; the same identity gives the same ids.
        prompt: The tokens of the request where a cache has billed them; None for those by the token rule.

    Raises:
        UnknownScenarioError: The scenario or its value is unknown; raised by the call, before the first part.
    """
    return dressed(find_scenario(scenario.name)(asked, scenario.value), asked, identity, prompt)


def dressed(outputs: Outputs, asked: InboundRequest, identity: str, prompt: PromptTokens | None = None) -> Outputs:
    """An answer with what scenarios leave out: unique call ids, signatures, usage and price; see :func:`play`."""
    unique = (
        replace(output, call_id=identifier("call", identity, output.call_id))
        if isinstance(output, parts.ToolCallPart)
        else output
        for output in outputs
    )
    return _with_costs(signed(unique, asked.model), asked, identity, prompt or count_prompt(asked))


def identifier(prefix: str, *what: str) -> str:
    """An identifier that is the same for the same `what`."""
    return f"{prefix}_{hashlib.sha256('/'.join(what).encode()).hexdigest()[:24]}"


def _with_costs(outputs: Outputs, asked: InboundRequest, identity: str, prompt: PromptTokens) -> Outputs:
    answer = AnswerTokens()
    for output in outputs:
        if isinstance(output, Finish):
            said = {
                "routing": {"originalModelId": asked.model, "resolvedProvider": "partstream"},
                "cost": cost(prompt, answer),
                "generationId": identifier("gen", identity),
            }
            yield replace(
                output,
                usage=output.usage or usage(prompt, answer),
                model=asked.model or None,
                provider_metadata={"gateway": said},
            )
        else:
            answer.add(output)
            yield output


class ScriptedProvider(provider.LanguageModelChatProvider):
    """A provider whose models are the scenarios.

    The last user text can select another scenario (`scenario:NAME[=VALUE]`) and a pace (`pace:MILLISECONDS`).

    Args:
        pace: Seconds between two parts, for requests that set no pace.
    """

    def __init__(self, *, pace: float = 0.0) -> None:
        self._pace = pace

    async def provide_language_model_chat_information(
        self, silent: bool, token: CancellationToken
    ) -> Sequence[provider.LanguageModelChatInformation]:
        """One model for each scenario."""
        del silent, token
        return MODELS

    async def provide_language_model_chat_response(
        self,
        model: provider.LanguageModelChatInformation,
        messages: Sequence[ChatMessage],
        options: RequestOptions,
        progress: provider.Progress,
        token: CancellationToken,
    ) -> None:
        """Plays the scenario that the request selects.

        Raises:
            UnknownScenarioError: The scenario or its value is unknown.
            UpstreamFailureError: The scenario ends with this error.
        """
        asked = InboundRequest(model.id, tuple(messages), options)
        outputs = play(choose_scenario(asked, directives.NamedValue("text")), asked, token_hex(12))
        pace = directives.read_pace(directives.user_text(messages))
        await run_until_cancelled(_report_at_pace(outputs, progress, self._pace if pace is None else pace), token)

    async def provide_token_count(
        self, model: provider.LanguageModelChatInformation, text: str | ChatMessage, token: CancellationToken
    ) -> int:
        """Counts by the token rule of the scripted model."""
        del model, token
        return count_tokens(text) if isinstance(text, str) else count_message(text)


async def _report_at_pace(outputs: Outputs, progress: provider.Progress, pace: float) -> None:
    draining = progress if isinstance(progress, provider.DrainingProgress) else None
    for number, output in enumerate(outputs):
        if isinstance(output, Finish):
            used = None if output.usage is None else parts.usage_part(output.usage)
            if used is not None:
                progress.report(used)
            if isinstance(progress, provider.FinishingProgress):
                progress.finish(output)
            if output.error is not None:
                raise output.error
            return
        await asyncio.sleep(pace if number else 0)  # 0 lets a cancellation through
        progress.report(output)
        if draining is not None:
            await draining.drain()
