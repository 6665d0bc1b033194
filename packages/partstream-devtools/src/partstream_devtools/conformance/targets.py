"""What can be tested: a parser, a provider in Python, a model server at a base URL; each becomes a provider.

A provider is an object, a file, a module, or a function that makes one of the base URL of the kit's model server (a
sandwich) or of the kit's script. A server at a base URL is asked by our own client and instructed by the prompt;
answers may cost money, so that their number is bounded. :func:`open_target` runs a target, finds the model to ask, and
combines what the target declares with what the information about its model says.
"""

from __future__ import annotations
import asyncio
import time
from collections.abc import AsyncGenerator, Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import AsyncExitStack, asynccontextmanager, contextmanager, suppress
from functools import partial
from pathlib import Path
from typing import Any, Final
from urllib.parse import urlsplit

from partstream.codec.checks import dataclass, replace
from partstream.errors import CallerError
from partstream.lm.cancellation import CancellationToken
from partstream.lm.provider import (
    LanguageModelChatCapabilities,
    LanguageModelChatInformation,
    LanguageModelChatProvider,
)
from partstream.protocols.protocol import AUTO, PROTOCOLS
from partstream.runtime.progress import fault_of, placed
from partstream.runtime.provider_files import SourceLoader
from partstream.settings.kinds import ConfigurationError
from partstream.upstream.configuration import GatewayConfiguration, RetryPolicy
from partstream.upstream.endpoint import Secret, is_loopback, without_query
from partstream.upstream.provider import GatewayProvider
from partstream_devtools.conformance import driver, parsing
from partstream_devtools.conformance.checks import LATEST, Probe, load
from partstream_devtools.conformance.scenarios import any_script, parser_scenarios
from partstream_devtools.conformance.scripts import Script
from partstream_devtools.conformance.transcript import Transcript
from partstream_devtools.testing.upstream import ReplayUpstream

# ---- Parsers ----


class ParserTarget:
    """A parser of the streams of a protocol.

    Args:
        parse: The function: takes all bytes or an iterable of pieces, and returns or yields parts, synchronously or
            not. A part is one of ours, or `{"type": "text", "text": ...}`, `{"type": "thinking", "text": ...}`,
            `{"type": "tool-call", "id": ..., "name": ..., "input": {...}}`, where a missing id is one that the wire
            does not have; `{"type": "finish", "usage": {"input_tokens": ..., "output_tokens": ...}}` may be the last.
            For a failed stream it raises, or gives `{"type": "error", "message": ...}`.
        protocol: The name of the protocol.
        takes: What it takes; None to read it from the name (`data`, `chunks`) and the annotation of its first
            parameter, and to give all bytes at once where these say nothing.
        name: What a report calls it.
        recordings: A folder of recorded streams to judge it by, see
            :mod:`partstream_devtools.conformance.parsing`; None for none.

    Attributes:
        scenarios: The scenarios that only a parser has.

    Raises:
        UnusableTargetError: It is no function, or streams of the protocol cannot be written.
        CallerError: No protocol has this name, or the folder has no recordings.
    """

    def __init__(
        self,
        parse: Callable[..., Any],
        protocol: str | None = None,
        *,
        takes: parsing.Takes | str | None = None,
        name: str | None = None,
        recordings: Path | str | None = None,
    ) -> None:
        known: str = name or getattr(parse, "__name__", None) or type(parse).__name__
        if not callable(parse):
            raise driver.UnusableTargetError(known, f"got {type(parse).__name__}, expected a function that parses")
        if protocol is None:
            written = ", ".join(one for one in PROTOCOLS if PROTOCOLS[one].write_response is not None)
            raise driver.UnusableTargetError(known, f"is a parser: name the protocol that it reads, one of {written}")
        self._protocol = PROTOCOLS[protocol]
        if self._protocol.write_response is None:
            raise driver.UnusableTargetError(known, f"the kit cannot write streams of {protocol}")
        self._parser = parsing.Parser(
            parse, parsing.Takes(takes or parsing.takes_of(parse) or parsing.Takes.BYTES), protocol
        )
        folder = None if recordings is None else Path(recordings)
        if folder is not None:
            parsing.recorded_streams(
                folder, self._protocol
            )  # a folder without any is said to be one before the run begins
        self.scenarios: Mapping[str, Probe] = parser_scenarios(protocol, folder)
        self.description = driver.TargetDescription(known, "parser", protocol=protocol)
        self.ways = frozenset({driver.Provocation.PARSER})

    @asynccontextmanager
    async def open(self) -> AsyncGenerator[driver.Session, None]:
        """Nothing is opened: each stream is given to the function."""
        provider = partial(parsing.ParserProvider, self._parser, self._protocol)
        yield driver.Session(provider, note=f"is given streams as {self._parser.takes.value}")


@contextmanager
def _loading(loader: SourceLoader, source: str) -> Iterator[None]:
    """Turns what fails in a source while it is loaded into an error of the target."""
    try:
        yield
    except driver.UnusableTargetError:
        raise
    except CallerError as error:
        raise driver.UnusableTargetError(source, str(error).removeprefix(f"{source}: ")) from error
    except (Exception, SystemExit) as error:  # a file that ends the process would end it as if all were well
        raise driver.UnusableTargetError(source, f"running the file failed: {fault_of(error, loader.file)}") from error


def parser_from(
    source: str, protocol: str | None, *, takes: parsing.Takes | str | None = None, recordings: Path | None = None
) -> ParserTarget:
    """The parser of a source: `file.py`, `file.py:function` or `module:function`; the function is `parse` by default.

    Raises:
        UnusableTargetError: There is no such function, the file fails when it runs, or no protocol is named.
        CallerError: No protocol has this name.
    """
    loader = SourceLoader(source)
    name = loader.attribute or "parse"
    with _loading(loader, source):
        found = getattr(loader.module(), name, None)
    if found is None:
        raise driver.UnusableTargetError(source, f"has no function {name}")
    return ParserTarget(found, protocol, takes=takes, name=source, recordings=recordings)


# ---- Providers ----

HOOK: Final = "conformance"
"""The attribute of a provider's file that takes the kit's script, `def conformance(script) -> provider`, or declares
its capabilities as a mapping."""

_PROVIDER: Final = "provider"
_UPSTREAM: Final = "upstream"
_SCRIPT: Final = "script"
_PROTOCOL: Final = "protocol"
_CLOSE_SECONDS: Final = 10.0


class ProviderTarget:
    """A provider in this process.

    Args:
        found: A provider, its class, or a function that makes one: of the parameter `upstream` (a base URL, and
            `protocol` if it likes) or of the parameter `script`.
        name: What a report calls it.
        declared: What its file declares.
        protocol: The name of the protocol that the scripted upstream is asked in; None for the default.
    """

    def __init__(
        self,
        found: object,
        name: str | None = None,
        *,
        declared: driver.Capabilities | None = None,
        protocol: str | None = None,
    ) -> None:
        self._name = name or (getattr(found, "__name__", None) or type(found).__name__)
        self._found: Any = found
        self._declared = declared or driver.Capabilities()
        self._hook: Callable[[Script], Any] | None = found if _takes(found, _SCRIPT) else None  # type: ignore[assignment]
        self._protocol = protocol
        self._is_sandwich = _takes(found, _UPSTREAM)
        self.description = driver.TargetDescription(
            self._name, "provider", protocol=protocol if self._is_sandwich else None
        )
        without = driver.Provocation.DIRECTED if self._hook is None else driver.Provocation.SCRIPTED
        self.ways = frozenset({driver.Provocation.SANDWICH if self._is_sandwich else without})

    @asynccontextmanager
    async def open(self) -> AsyncGenerator[driver.Session, None]:
        """Makes the provider, and closes it at the end where it can be closed.

        Raises:
            UnusableTargetError: It is no provider, or its maker failed.
        """
        async with AsyncExitStack() as stack:
            if self._hook is not None and not self._is_sandwich:
                yield driver.Session(self._hooked, declared=self._declared)
                return
            upstream, url = None, None
            if self._is_sandwich:
                upstream = await stack.enter_async_context(ReplayUpstream())
                url = upstream.base_url if self._protocol is None else upstream.base_url_of(self._protocol)
            made = self._make(url)
            stack.push_async_callback(_close, made, self._name)
            yield driver.Session(partial(driver.playing, upstream, made), upstream, self._declared)

    def _hooked(self, script: Script | None) -> LanguageModelChatProvider:
        hook = self._hook
        if hook is None or script is None:
            raise driver.UnusableTargetError(self._name, "the target is a hook alone, and there is no script for it")
        return self._made("the hook", lambda: hook(script))

    def _make(self, url: str | None) -> LanguageModelChatProvider:
        found = self._found
        if isinstance(found, LanguageModelChatProvider):
            return found
        arguments: dict[str, Any] = {} if url is None else {_UPSTREAM: url}
        if _takes(found, _PROTOCOL) and self._protocol is not None:
            arguments[_PROTOCOL] = self._protocol
        return self._made("making the provider", lambda: found(**arguments))

    def _made(self, what: str, make: Callable[[], Any]) -> LanguageModelChatProvider:
        try:
            made = make()
        except (Exception, SystemExit) as error:
            raise driver.UnusableTargetError(self._name, f"{what} failed: {placed(error)}") from error
        if isinstance(made, LanguageModelChatProvider):
            return made
        got = f"got {type(made).__name__}, expected a LanguageModelChatProvider"
        raise driver.UnusableTargetError(self._name, got)


def provider_from(source: str, protocol: str | None = None) -> ProviderTarget | ParserTarget:
    """The target of a source, named as in the extension: `file.py`, `file.py:attribute` or `module:attribute`.

    An attribute may also be a function that makes a provider, or a parser. A file may hold the attribute `conformance`:
    a hook, or a mapping of its capabilities.

    Raises:
        UnusableTargetError: The source holds no provider, or fails when it runs.
    """
    loader = SourceLoader(source)
    with _loading(loader, source):
        module = loader.module()
        hook = getattr(module, HOOK, None)
        named = getattr(module, loader.attribute or _PROVIDER, None)
        if parsing.is_parser(named):
            return ParserTarget(named, protocol, name=source)
        is_maker = _takes(named, _UPSTREAM) or _takes(named, _SCRIPT)
        takes_script = hook if _takes(hook, _SCRIPT) else None
        found = named if is_maker else takes_script if takes_script is not None else loader.provider_of(module)
    declared = driver.Capabilities.of(hook) if isinstance(hook, dict) else None
    return ProviderTarget(found, source, declared=declared, protocol=protocol)


def _takes(found: object, parameter: str) -> bool:
    return not isinstance(found, LanguageModelChatProvider) and parameter in parsing.parameters_of(found)


async def _close(provider: LanguageModelChatProvider | None, name: str) -> None:
    """Closes a provider that has an `aclose`, as the host does.

    Raises:
        UnusableTargetError: It cannot be closed, or not within a limit of time.
    """
    close = getattr(provider, "aclose", None)
    if close is None:
        return
    try:
        async with asyncio.timeout(_CLOSE_SECONDS):
            await close()
    except TimeoutError as error:
        raise driver.UnusableTargetError(name, f"was not closed within {_CLOSE_SECONDS:g} seconds") from error
    except (Exception, SystemExit) as error:
        raise driver.UnusableTargetError(name, f"closing the provider failed: {error!r}") from error


# ---- Model servers ----

MOST_REQUESTS: Final = 100
"""The answers that a run asks a server for, unless another number is set: answers may cost money."""


class _Bounded(GatewayProvider):
    """Gives so many answers and no more."""

    def __init__(self, configuration: GatewayConfiguration, limit: int) -> None:
        super().__init__(configuration)
        self._limit = limit
        self._left = limit

    async def provide_language_model_chat_response(self, *asked: Any, **named: Any) -> None:
        if not self._left:
            raise driver.RequestLimitError(self._limit)
        self._left -= 1
        await super().provide_language_model_chat_response(*asked, **named)


class BaseURLTarget:
    """A model server.

    Args:
        base_url: Its base URL.
        protocol: The name of its protocol; found out where it is left out.
        api_key: The key, or None.
        allow_remote: Whether a server on another machine may be asked: that sends prompts there, and may cost money.
        most_requests: The most answers that a run asks for.

    Raises:
        UnusableTargetError: The URL is none, or that of another machine without `allow_remote`.
    """

    def __init__(
        self,
        base_url: str,
        protocol: str | None = None,
        *,
        api_key: str | Secret | None = None,
        allow_remote: bool = False,
        most_requests: int = MOST_REQUESTS,
    ) -> None:
        self._shown = without_query(base_url)
        self._most = most_requests
        self.description = driver.TargetDescription(self._shown, "base URL", protocol=protocol)
        self.ways = frozenset({driver.Provocation.DIRECTED})
        if not allow_remote and not is_loopback(urlsplit(base_url).hostname or ""):
            raise driver.UnusableTargetError(
                self._shown,
                "is no server on this machine; --allow-remote allows it, sends it prompts and may cost money",
            )
        settings: dict[str, Any] = {
            "base_url": base_url,
            "protocol": protocol or AUTO,
            "retry": RetryPolicy(attempts=1),
        }
        try:
            self._configuration = GatewayConfiguration(
                api_key=Secret(api_key) if isinstance(api_key, str) else api_key, **settings
            )
        except ConfigurationError as error:
            raise driver.UnusableTargetError(self._shown, str(error)) from error

    @asynccontextmanager
    async def open(self) -> AsyncGenerator[driver.Session, None]:
        """Makes the client, and closes its connections at the end."""
        provider = _Bounded(self._configuration, self._most)
        try:
            yield driver.Session(lambda _: provider, note=f"asks {self._shown} for at most {self._most} answers")
        finally:
            await provider.aclose()


# ---- Opening a target ----

_UPSTREAM_SHARE: Final = 0.2
"""How long the kit waits for the scripted upstream to see that the target has left, as a share of the limit."""
_NAME_ONE: Final = "if it has no list, name a model"


@dataclass(frozen=True, slots=True)
class Tested:
    """A target that runs.

    Attributes:
        capabilities: What the target declares, and what the information about its model says.
        declared: What it declares itself, to the kit. Every model that agents of VS Code may use says that it calls
            tools, so the information alone does not oblige a target that only gets the prompt.
        scored: The ids of the checks that count.
    """

    target: driver.Target
    session: driver.Session
    model: LanguageModelChatInformation
    capabilities: driver.Capabilities
    declared: driver.Capabilities
    way: driver.Provocation
    limits: driver.TimeLimits
    scored: frozenset[str]

    async def converse(self, transcripts: Sequence[Transcript], request: driver.Request) -> None:
        """Has the conversations of the transcripts at the same time, and records what comes.

        They have one script; each has its prompt instead of that of the request. What the model server saw of all goes
        into the first.
        """
        upstream, began = self.session.upstream, time.monotonic()
        provider = self.session.provider(transcripts[0].script)
        before = driver.last_number(upstream)

        async def one(transcript: Transcript) -> None:
            asked = replace(request, prompt=transcript.prompt)
            transcript.answers = await driver.drive(
                provider, self.model, asked, transcript.actions, self.limits, upstream
            )

        await asyncio.gather(*map(one, transcripts))
        if upstream is not None:
            # A target that leaves is seen a moment later; one that does not is what a check is there to find.
            with suppress(TimeoutError):
                await upstream.until(lambda: upstream.open_streams == 0, _UPSTREAM_SHARE * self.limits.answer_seconds)
            transcripts[0].upstream = driver.upstream_replies(upstream, before, began)

    def has_declared(self, needs: Iterable[str]) -> bool:
        """Whether a scenario with these needs has to be provoked: the target has declared them itself."""
        return self.way is not driver.Provocation.DIRECTED or all(self.declared.has(one) for one in needs)


def target_of(found: object, protocol: str | None = None) -> driver.Target:
    """The target of a name or an object: a target itself, a source (`file.py`, `module:attribute`), a provider,
    or a parser.

    Raises:
        UnusableTargetError: A source holds no provider, or fails when it runs.
    """
    if isinstance(found, str):
        return provider_from(found, protocol)
    if hasattr(found, "open") and hasattr(found, "ways"):
        known: driver.Target = found  # type: ignore[assignment]
        return known
    if parsing.is_parser(found):
        return ParserTarget(found, protocol)
    return ProviderTarget(found, protocol=protocol)


@asynccontextmanager
async def open_target(
    target: driver.Target,
    capabilities: driver.Capabilities | Mapping[str, Any] | None = None,
    limits: driver.TimeLimits | None = None,
    requirements: str = LATEST,
) -> AsyncGenerator[Tested, None]:
    """Opens a target and finds out what it can do, over which the given capabilities prevail; closes it at the end.

    Raises:
        UnusableTargetError: The target cannot be started, or lists no model.
        CallerError: A capability or the requirement set is unknown.
    """
    given = (
        capabilities if isinstance(capabilities, driver.Capabilities) else driver.Capabilities.of(capabilities or {})
    )
    limits, scored = limits or driver.TimeLimits(), load(requirements)
    async with target.open() as session:
        said = given.over(session.declared)
        model = await _model(target, session, said.model, limits)
        way = min(target.ways, key=list(driver.Provocation).index)
        known = said.over(driver.declared_by(model, target.ways))
        yield Tested(target, session, model, known, said, way, limits, scored)


async def _model(
    target: driver.Target, session: driver.Session, wanted: str | None, limits: driver.TimeLimits
) -> LanguageModelChatInformation:
    """The model to ask: the one that is named, else the first that calls tools, else the first.

    Raises:
        UnusableTargetError: The models cannot be listed, or there is no such model.
    """
    name = target.description.name
    provider = session.provider(any_script())
    try:
        async with asyncio.timeout(limits.answer_seconds):
            models = list(await provider.provide_language_model_chat_information(False, CancellationToken()))
    except TimeoutError as error:
        raise driver.UnusableTargetError(name, f"no list of models within {limits.answer_seconds:g} seconds") from error
    except (Exception, SystemExit) as error:
        if wanted is not None:  # some servers have no list, and answer for a model whose name one knows
            # Nothing but its id is known; whether it calls tools shows when it is asked to.
            able = LanguageModelChatCapabilities(tool_calling=True)
            return LanguageModelChatInformation(wanted, wanted, wanted, "", 128_000, 16_000, capabilities=able)
        raise driver.UnusableTargetError(name, f"listing the models failed: {placed(error)}; {_NAME_ONE}") from error
    fitting = [model for model in models if wanted in {None, model.id}]
    if not fitting:
        listed = ", ".join(model.id for model in models[:10])
        got = f"its models are {listed}" if listed else "it lists no model"
        raise driver.UnusableTargetError(name, f"{got}, expected {'one' if wanted is None else wanted}")
    return next((model for model in fitting if model.capabilities.tool_calling), fitting[0])
