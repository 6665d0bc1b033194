"""What is tried at the real server: a table of rows, each of which says in one sentence what it saw.

A row runs at a server that was started in one of the ways of :data:`interop.real.running.WAYS`, as rows beside it do.
The model has 135 million parameters, so a row looks at how an answer comes, and hardly at what it says: at parts, ends,
tokens, errors, at what the server is busy with. A row raises an `UnexpectedError` where it saw something else.
"""

from __future__ import annotations
import asyncio
import json
import time
import urllib.error
import urllib.request
from dataclasses import dataclass, field
from itertools import pairwise, product
from typing import TYPE_CHECKING, Any, Final

from interop.clients.asking import result_of
from interop.clients.asking import running as running_client
from interop.clients.served.packages import PACKAGES
from interop.real.running import (
    KEY,
    MODEL_ID,
    SLOTS,
    WINDOW,
    CommandFailedError,
    command,
    environment_in,
    partstream,
    serving,
)
from interop.servers.trials import UnexpectedError
from partstream import (
    CancellationTokenSource,
    ChatMessage,
    ContextLengthExceededError,
    GatewayConfiguration,
    LanguageModelError,
    RequestOptions,
    RequestSettings,
    RetryPolicy,
    Secret,
    TextPart,
    ThinkingPart,
    Tool,
    ToolCallPart,
    ToolFunction,
    ToolMode,
    ToolResultPart,
    connect,
    run_tool_loop,
)
from partstream.errors import RequestNotExpressibleError, UpstreamHTTPError

if TYPE_CHECKING:
    from collections.abc import Callable, Coroutine, Mapping, Sequence

    from interop.real.running import Site
    from partstream.lm.parts import ResponsePart
    from partstream.runtime.requests import LanguageModelChatResponse

__all__ = ["TRIALS", "Trial"]

WIRES: Final = ("chat-completions", "openresponses", "anthropic-messages")
"""The wires of llama.cpp's server."""
_AUTO: Final = "auto"
_SHORT: Final = {"max_tokens": 12}
_FREED_WITHIN: Final = 0.2
"""Seconds until the server is free after an answer was left."""
_PARTS_BEFORE: Final = 8
_LONGEST_ANSWER: Final = 90.0
_AT_ONCE: Final = 8
_WEATHER: Final = Tool(
    "weather",
    "Tells the weather of a place.",
    {"type": "object", "properties": {"place": {"type": "string"}}, "required": ["place"]},
)
_CLOCK: Final = Tool("clock", "Tells the time of a place.", _WEATHER.input_schema)
_QUESTION: Final = "How is the weather in Lisbon?"


@dataclass(frozen=True, slots=True)
class Trial:
    """One thing to try.

    Attributes:
        name: Of tables.
        run: Tries it; gives one sentence on what it saw, or raises.
        way: How the server is started.
    """

    name: str
    run: Callable[[Site], Coroutine[Any, Any, str]]
    way: str = "plain"


# ---- Asking ----


def _configuration(site: Site, protocol: str = _AUTO, **changes: Any) -> GatewayConfiguration:
    usual: dict[str, Any] = {"protocol": protocol, "retry": RetryPolicy(attempts=1), "ledger": False}
    return GatewayConfiguration(site.base_url, **(usual | changes))


async def _ask(
    site: Site,
    said: str | Sequence[ChatMessage],
    options: RequestOptions | None = None,
    protocol: str = _AUTO,
    **changes: Any,
) -> LanguageModelChatResponse:
    """An answer, read to its end."""
    async with connect(_configuration(site, protocol, **changes)) as chat:
        response = chat.stream(said, options or RequestOptions(model_options=_SHORT))
        async for _part in response:
            pass
        return response


def _of(kind: type[ResponsePart], response: LanguageModelChatResponse) -> list[Any]:
    return [part for part in response.parts if isinstance(part, kind)]


def _text(response: LanguageModelChatResponse) -> str:
    return "".join(part.value for part in _of(TextPart, response))


def _expect(what: str, got: object, expected: object) -> None:
    if got != expected:
        raise UnexpectedError(f"{what}: got {got!r:.200}, expected {expected!r:.200}")


def _contains(what: str, said: str, *words: str) -> None:
    for word in words:
        if word not in said:
            raise UnexpectedError(f"{what}: {word!r} is not in {' '.join(said.split())[-300:]!r}")


def _end(response: LanguageModelChatResponse) -> str:
    reason = response.finish_reason
    return "none" if reason is None else reason.unified.value


# ---- Commands ----


async def _doctor(site: Site) -> str:
    said = await partstream(site, "doctor", "--base-url", site.base_url, "--model", MODEL_ID, "--ask")
    _contains("doctor", said, "Chat Completions", "OpenResponses", "Anthropic Messages", f"{MODEL_ID} answers")
    _contains("doctor", said, "names none, so the server leaves them out")
    return "three wires, one model, an answer, no tools"


async def _models(site: Site) -> str:
    for base_url in (site.base_url, site.root):
        (model,) = json.loads(await partstream(site, "models", "--json", "--base-url", base_url))
        _expect("the model", model["id"], MODEL_ID)
        _expect("the window", model["contextWindow"]["value"], WINDOW)
        _expect("tools", model["toolCalling"]["value"], False)
    return f"{MODEL_ID}, {WINDOW} tokens, no tools"


async def _add(site: Site) -> str:
    await partstream(site, "add", site.base_url, "--profile", "real", "--key-from", "none", "--replace")
    said = await partstream(site, "chat", "--profile", "real", "--max-output-tokens", "8", "Say hello.")
    return f"a profile that answers {len(said.strip())} characters"


async def _chat(site: Site) -> str:
    said = await partstream(site, "chat", "--base-url", site.base_url, "--max-output-tokens", "12", "Say hello.")
    if not said.strip():
        raise UnexpectedError("no text")
    return "text"


async def _connect(site: Site) -> str:
    async with connect(site.base_url) as chat:
        text = await chat.ask("Say hello.", max_tokens=12)
    if not text:
        raise UnexpectedError("no text")
    return "text"


# ---- Wires ----


def _wire(protocol: str) -> Callable[[Site], Coroutine[Any, Any, str]]:
    async def run(site: Site) -> str:
        response = await _ask(site, "Say hello.", protocol=protocol)
        pieces, usage = len(_of(TextPart, response)), response.usage
        if pieces < 2 or usage is None:
            raise UnexpectedError(f"{pieces} pieces of text, usage {usage}")
        messages = [{"role": "user", "content": "Say hello."}]
        prompt = (await asyncio.to_thread(site.asked, "/apply-template", {"messages": messages}))["prompt"]
        body = {"content": prompt, "add_special": True, "parse_special": True}
        tokens = (await asyncio.to_thread(site.asked, "/tokenize", body))["tokens"]
        _expect("the tokens of the prompt", usage.input_tokens, len(tokens))
        return (
            f"{pieces} pieces of text, {usage.input_tokens} tokens in as `/tokenize` counts, {usage.output_tokens} out"
        )

    return run


async def _counting(site: Site) -> str:
    text = "The quick brown fox jumps over the lazy dog, and 1,234 others follow. " * 12
    truth = len((await asyncio.to_thread(site.asked, "/tokenize", {"content": text}))["tokens"])
    async with connect(_configuration(site)) as chat:
        before = await chat.count_tokens(text)
    off = abs(before - truth) / truth
    if off > 0.25:
        raise UnexpectedError(f"{before} tokens estimated, `/tokenize` counts {truth}")
    return f"{before} tokens estimated where `/tokenize` counts {truth}: {off:.0%} off"


async def _overlong(site: Site) -> str:
    for protocol in WIRES:
        try:
            await _ask(site, "one two three four " * WINDOW, protocol=protocol)
        except ContextLengthExceededError as error:
            _expect(f"the limit on {protocol}", error.limit, WINDOW)
        else:
            raise UnexpectedError(f"{protocol}: it answered")
    return f"ContextLengthExceededError with {WINDOW:,} tokens, on three wires"


async def _limit(site: Site) -> str:
    for protocol in WIRES:
        response = await _ask(site, "Count from 1 to 100.", protocol=protocol)
        _expect(f"the end on {protocol}", _end(response), "length")
    return "the reason is length, on three wires"


async def _window(site: Site) -> str:
    """An answer that goes on until the window is full."""
    endless = RequestSettings(extra_body={"ignore_eos": True})
    for protocol in WIRES[:2]:
        said = "word " * (WINDOW - 90)
        options = RequestOptions(model_options={})
        response = await _ask(site, said, options, protocol, request=endless)
        _expect(f"the end on {protocol}", _end(response), "length")
    return "the reason is length, on two wires"


async def _cancel(site: Site) -> str:
    longest = 0.0
    for protocol in WIRES:
        async with connect(_configuration(site, protocol)) as chat:
            source, options = CancellationTokenSource(), RequestOptions(model_options={"max_tokens": 400})
            response = chat.stream("Tell a long story.", options, source.token)
            came: list[float] = []
            try:
                async for _part in response:
                    came.append(time.monotonic())
                    if len(came) == _PARTS_BEFORE:
                        source.cancel()
                        freed = await site.was_freed_after(2.0)
            except LanguageModelError:
                pass
            # It looks at the connection after each token, which takes longer on a machine that is busy.
            slowest = max(after - before for before, after in pairwise(came[:_PARTS_BEFORE]))
            if freed > _FREED_WITHIN + 2 * slowest:
                raise UnexpectedError(f"{protocol}: the server was busy for {freed * 1000:.0f} ms more")
            longest = max(longest, freed)
    return f"the server was free within {longest * 1000:.0f} ms, on three wires"


async def _at_once(site: Site) -> str:
    async with connect(_configuration(site)) as chat:
        asked = [chat.ask(f"Say {number}.", max_tokens=8) for number in range(_AT_ONCE)]
        texts = await asyncio.gather(*asked)
    if not all(texts):
        raise UnexpectedError(f"{texts.count('')} of {_AT_ONCE} answers are empty")
    return f"{_AT_ONCE} answers, of {SLOTS} at a time"


async def _place_of_messages(site: Site) -> str:
    said = await partstream(
        site, "chat", "--base-url", site.root, "--protocol", "anthropic-messages", "--model", MODEL_ID, "Hi", code=3
    )
    _contains("the error", said, f"did you mean {site.base_url}?")
    return "the error says the base URL that has it"


# ---- Tools ----


async def _tools_left_out(site: Site) -> str:
    options = RequestOptions(tools=[_WEATHER], tool_mode=ToolMode.REQUIRED, model_options=_SHORT)
    for protocol in WIRES:
        try:
            await _ask(site, _QUESTION, options, protocol)
        except RequestNotExpressibleError as error:
            _contains("the error", str(error), "the chat template of the model names none")
        else:
            raise UnexpectedError(f"{protocol}: it answered")
    return "a demand for a call is refused with the reason, on three wires"


def _tools(mode: ToolMode) -> Callable[[Site], Coroutine[Any, Any, str]]:
    async def run(site: Site) -> str:
        options = RequestOptions(tools=[_WEATHER], tool_mode=mode, model_options={"max_tokens": 80})
        for protocol in WIRES:
            response = await _ask(site, _QUESTION, options, protocol)
            calls = [(call.name, [*call.input]) for call in _of(ToolCallPart, response)]
            _expect(f"the calls on {protocol}", calls, [("weather", ["place"])])
            _expect(f"the end on {protocol}", _end(response), "tool-calls")
        return "one call by the schema, on three wires"

    return run


_CHOICES: Final[Mapping[str, tuple[Any, Any, str | None]]] = {
    "auto": ("auto", {"type": "auto"}, "weather"),
    "required": ("required", {"type": "any"}, "weather"),
    "named": ({"type": "function", "name": "clock"}, {"type": "tool", "name": "clock"}, "clock"),
    "none": ("none", {"type": "none"}, None),
}
"""A choice of tools, as wires of OpenAI and as Messages say it, and the tool that the model calls then."""


async def _choices(site: Site) -> str:
    """Clients of three wires, each of which `partstream serve` puts to the same wire of the server and to another."""
    for wire in WIRES:
        added = "--protocol", wire, "--key-from", "none", "--replace"
        await partstream(site, "add", site.base_url, "--profile", wire, *added)
    served = await _Served.start(site, *(f"--profile={wire}" for wire in WIRES), PARTSTREAM_SERVE_TOKEN=_TOKEN)
    answers = 0
    try:
        pairs = [*zip(WIRES, WIRES, strict=True), *zip(WIRES, (*WIRES[1:], WIRES[0]), strict=True)]
        for (wire, upstream), choice in product(pairs, _CHOICES):
            of_openai, of_messages, expected = _CHOICES[choice]
            said = of_messages if wire == WIRES[2] else of_openai
            answer = await asyncio.to_thread(_with_choice, served.base_urls[wire], wire, upstream, said)
            what = f"{choice} over {wire} before {upstream}"
            _expect(f"the calls of {what}", _ONE_ANSWER[wire].called(answer), [expected] if expected else [])
            if "<tool_call>" in json.dumps(answer):
                raise UnexpectedError(f"{what}: a call came as text")
            answers += 1
    finally:
        await served.end()
    return f"{', '.join(_CHOICES)}: kept to in {answers} answers, over three wires before the same and another one"


@dataclass(frozen=True, slots=True)
class _OneAnswer:
    """How a client of a wire asks for an answer in one document, and which tools that calls."""

    path: str
    body: Mapping[str, Any]
    called: Callable[[Any], list[str]]


def _declared(schema: str, **fields: Any) -> list[dict[str, Any]]:
    tools = (_WEATHER, _CLOCK)
    return [{"name": one.name, "description": one.description, schema: one.input_schema, **fields} for one in tools]


_MESSAGES: Final = {"messages": [{"role": "user", "content": _QUESTION}], "max_tokens": 40}
_ONE_ANSWER: Final = {
    "chat-completions": _OneAnswer(
        "/chat/completions",
        _MESSAGES | {"tools": [{"type": "function", "function": one} for one in _declared("parameters")]},
        lambda said: [one["function"]["name"] for one in said["choices"][0]["message"].get("tool_calls") or ()],
    ),
    "openresponses": _OneAnswer(
        "/responses",
        {"input": _QUESTION, "max_output_tokens": 40, "tools": _declared("parameters", type="function")},
        lambda said: [one["name"] for one in said["output"] if one["type"] == "function_call"],
    ),
    "anthropic-messages": _OneAnswer(
        "/messages",
        _MESSAGES | {"tools": _declared("input_schema")},
        lambda said: [one["name"] for one in said["content"] if one["type"] == "tool_use"],
    ),
}


def _with_choice(base_url: str, wire: str, upstream: str, choice: Any) -> Any:
    """The document that a client gets."""
    asked = _ONE_ANSWER[wire]
    if wire == "chat-completions" and isinstance(choice, dict):
        choice = {"type": "function", "function": {"name": choice["name"]}}
    model = MODEL_ID if upstream == WIRES[0] else f"{upstream}/{MODEL_ID}"  # the first server has the plain name
    body = {**asked.body, "model": model, "tool_choice": choice}
    headers = {"content-type": "application/json", "authorization": f"Bearer {_TOKEN}"}
    request = urllib.request.Request(base_url + asked.path, json.dumps(body).encode(), headers)  # noqa: S310
    try:
        with urllib.request.urlopen(request, timeout=_LONGEST_ANSWER) as answer:  # noqa: S310 - on loopback
            return json.load(answer)
    except urllib.error.HTTPError as error:
        raise UnexpectedError(f"{wire} before {upstream}: HTTP {error.code}, {error.read(300)!r}") from error


async def _family(site: Site) -> str:
    """A conversation with calls and their results, in the template of a family of models, and the call that follows."""
    (listed,) = json.loads(await partstream(site, "models", "--json", "--base-url", site.base_url))
    _expect("tools", listed["toolCalling"]["value"], True)
    said: list[ChatMessage] = []
    for number, (place, degrees) in enumerate({"Oslo": 3, "Rome": 20, "Paris": 12}.items()):
        call = ToolCallPart(f"call_{number}", "weather", {"place": place})
        said += [ChatMessage.user(f"How is the weather in {place}?"), ChatMessage.assistant([call])]
        result = ToolResultPart(call.call_id, [TextPart(f"{degrees} degrees")])
        said += [ChatMessage.user([result]), ChatMessage.assistant(f"It has {degrees} degrees.")]
    options = RequestOptions(tools=[_WEATHER], tool_mode=ToolMode.REQUIRED, model_options={"max_tokens": 60})
    for protocol in WIRES:
        response = await _ask(site, [*said, ChatMessage.user(_QUESTION)], options, protocol)
        calls = [(call.name, [*call.input]) for call in _of(ToolCallPart, response)]
        _expect(f"the first call on {protocol}", calls[:1], [("weather", ["place"])])
        if _end(response) not in {"tool-calls", "length"}:  # a base model goes on calling until it is cut
            raise UnexpectedError(f"{protocol}: the end is {_end(response)}")
    return "three calls and results are read, a fourth call comes, on three wires"


async def _parallel(site: Site) -> str:
    options = RequestOptions(tools=[_WEATHER], model_options={"max_tokens": 160, "parallel_tool_calls": True})
    response = await _ask(site, "How is the weather in Lisbon and in Oslo?", options)
    calls = _of(ToolCallPart, response)
    _expect("the number of calls", len(calls), 2)
    _expect("the number of ids", len({call.call_id for call in calls}), 2)
    return f"two calls: {calls[0].input['place']}, {calls[1].input['place']}"


async def _round_trip(site: Site) -> str:
    async def weather(_arguments: Mapping[str, Any]) -> str:
        return "21 degrees"

    for protocol in WIRES:
        async with connect(_configuration(site, protocol)) as chat:
            options = RequestOptions(model_options={"max_tokens": 60})
            question = [ChatMessage.user(_QUESTION)]
            result = await run_tool_loop(
                chat, question, [ToolFunction(_WEATHER, weather)], options=options, max_rounds=3
            )
        _contains(f"the answer on {protocol}", result.text, "21")
    return "called, answered, and the result was said, on three wires"


async def _thinking(site: Site) -> str:
    for protocol in WIRES:
        response = await _ask(
            site, "Which month follows May?", RequestOptions(model_options={"max_tokens": 60}), protocol
        )
        thought = "".join("".join(part.value) for part in _of(ThinkingPart, response))
        _contains(f"the thinking on {protocol}", thought, "think")
        if not _text(response) or "think>" in _text(response):
            raise UnexpectedError(f"{protocol}: the text is {_text(response)!r}")
    return "thinking, then the text, on three wires"


# ---- Restarts, keys ----


async def _key(site: Site) -> str:
    try:
        await _ask(site, "Say hello.", protocol="chat-completions")
    except UpstreamHTTPError as error:
        _expect("the status without a key", error.http_status, 401)
    else:
        raise UnexpectedError("it answered without a key")
    said = await partstream(site, "doctor", "--base-url", site.base_url, code=1)
    _contains("doctor without a key", said, "no key was sent")
    for protocol in WIRES:
        await _ask(site, "Say hello.", protocol=protocol, api_key=Secret(KEY))
    return "refused without, with what helps; answered with it, on three wires"


async def _restart(site: Site) -> str:
    """The server is killed while it answers, and started again at its address."""
    async with connect(_configuration(site)) as chat:
        response = chat.stream("Tell a long story.", RequestOptions(model_options={"max_tokens": 200}))
        try:
            async for _part in response:
                site.process.kill()
        except LanguageModelError as error:
            failure = error
        else:
            raise UnexpectedError("the answer was taken for whole")
        with serving(site.built, "restart", site.home, site.port):
            if not await chat.ask("Say hello.", max_tokens=8):
                raise UnexpectedError("no text after the restart")
    return f"{type(failure).__name__}, then an answer of the new one"


# ---- Before it: `partstream serve`, a hub ----

_WAYS_OF_PACKAGES: Final = {
    "openai-python": ("chat", "responses"),
    "anthropic-python": ("stream",),
    "google-genai": ("stream",),
    "ollama-python": ("chat",),
}
_TOKEN: Final = "token-of-the-clients"  # noqa: S105 - on loopback, for this run


@dataclass
class _Served:
    """A running `partstream serve`."""

    process: asyncio.subprocess.Process
    base_urls: Mapping[str, str] = field(default_factory=dict)

    @classmethod
    async def start(cls, site: Site, *arguments: str, **variables: str) -> _Served:
        process = await asyncio.create_subprocess_exec(
            *command("serve", *arguments, "--port", "0", "--json"),
            env=environment_in(site.home, variables),
            stdout=asyncio.subprocess.PIPE,
        )
        served = cls(process)
        assert process.stdout is not None  # noqa: S101 - it was started with a pipe
        async with asyncio.timeout(_LONGEST_ANSWER):
            while line := await process.stdout.readline():
                said = json.loads(line)
                if said["type"] == "listening":
                    served.base_urls = said["base_urls"]
                    return served
        raise CommandFailedError("partstream serve has ended before it listened")

    async def end(self) -> None:
        """Ends it; what it has printed is read, so that it can."""
        if self.process.returncode is None:
            self.process.terminate()
        await asyncio.wait_for(self.process.communicate(), 15)


async def _served(site: Site) -> str:
    """Official packages ask every wire of `partstream serve --profile`, which asks the real server."""
    await partstream(site, "add", site.base_url, "--profile", "calls", "--key-from", "none", "--replace")
    served = await _Served.start(
        site, "--profile", "calls", PARTSTREAM_SERVE_TOKEN=_TOKEN, PARTSTREAM_MAX_OUTPUT_TOKENS="80"
    )
    ways = 0
    try:
        for package in PACKAGES:
            for word in _WAYS_OF_PACKAGES.get(package.name, ()):
                await asyncio.to_thread(package.environment.install)
                url = served.base_urls[package.ways[word].protocol]
                async with running_client([*package.command(), url, _TOKEN, word]) as client:
                    await _with_package(f"{package.name} {word}", client)
                ways += 1
    finally:
        await served.end()
    return f"text, and rounds with a tool, in {ways} ways of 4 official packages"


async def _with_package(name: str, client: asyncio.subprocess.Process) -> None:
    for trial in (
        {"asks": "answer", "says": "What is the capital of France?", "model": MODEL_ID},
        {"asks": "tools", "says": _QUESTION, "model": MODEL_ID},
    ):
        result = await result_of(json.dumps(trial).encode() + b"\n", client)
        if result["error"] is not None:
            raise UnexpectedError(f"{name}: {result['error']}")
        if trial["asks"] == "answer" and not result["text"]:
            raise UnexpectedError(f"{name}: no text")
        if trial["asks"] == "tools" and not result["tools"]:
            raise UnexpectedError(f"{name}: no tool was called, but said {result['text']!r:.100}")


_HUB: Final = f"""
[models.{MODEL_ID}]
price = "1000/2000"

[teams.lab]

[people.ana]
team = "lab"

[people.ben]
team = "lab"
budgets = ["0.01 USD/day"]
"""


async def _hub(site: Site) -> str:
    """A hub with a person whose budget is soon used up."""
    await partstream(site, "add", site.base_url, "--profile", "hub", "--key-from", "none", "--replace")
    (site.home / "hub.toml").write_text(_HUB, encoding="utf-8")
    await partstream(site, "hub", "init")
    await partstream(site, "hub", "apply", str(site.home / "hub.toml"))
    keys = [(await partstream(site, "hub", "key", "add", name)).split()[0] for name in ("ana", "ben")]
    served = await _Served.start(site, "--hub", "--profile", "hub")
    try:
        url = served.base_urls["openresponses"]
        for name, key in zip(("ana", "ben"), keys, strict=True):
            configuration = GatewayConfiguration(url, api_key=Secret(key), retry=RetryPolicy(attempts=1), ledger=False)
            async with connect(configuration, model=MODEL_ID) as chat:
                try:
                    said = await chat.ask("Hi", max_tokens=8)
                except LanguageModelError as error:
                    said = str(error)
            _expect(f"whether {name} sees the limit of a budget", "does not cover this request" in said, name == "ben")
        _contains("the usage", await partstream(site, "hub", "usage"), "ana")
    finally:
        await served.end()
    return "one answers, one reports that the budget is used up; the usage has the tokens"


TRIALS: Final = (
    Trial("doctor", _doctor),
    Trial("models", _models),
    Trial("add", _add),
    Trial("chat", _chat),
    Trial("connect", _connect),
    *(Trial(protocol, _wire(protocol)) for protocol in WIRES),
    Trial("counting", _counting),
    Trial("overlong prompt", _overlong),
    Trial("limit of the answer", _limit),
    Trial("end of the window", _window),
    Trial("cancellation", _cancel),
    Trial("8 at once", _at_once),
    Trial("messages without /v1", _place_of_messages),
    Trial("tools left out", _tools_left_out),
    Trial("hub", _hub),
    Trial("tools (auto)", _tools(ToolMode.AUTO), "calls"),
    Trial("tools (required)", _tools(ToolMode.REQUIRED), "calls"),
    Trial("every tool_choice", _choices, "calls"),
    Trial("parallel calls", _parallel, "calls"),
    Trial("tool round trip", _round_trip, "calls"),
    Trial("serve", _served, "calls"),
    Trial("thinking", _thinking, "thinks"),
    Trial("thinking tags", _thinking, "tags"),
    Trial("template of Qwen 3", _family, "qwen"),
    Trial("template of Qwen 3 Coder", _family, "coder"),
    Trial("template of gpt-oss", _family, "gpt-oss"),
    Trial("Gemma 3, template of Gemma 4", _family, "gemma"),
    Trial("counting for Gemma 3", _counting, "gemma"),
    Trial("key", _key, "key"),
    Trial("restart", _restart, "restart"),
)
