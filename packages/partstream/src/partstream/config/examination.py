"""Checks the configuration and the server, or a person's own provider, and says what to do.

Each check makes :class:`Finding` values. Checks run in the order in which a request or a host needs them, and a check
that depends on a failed one is left out. :func:`examine` reads the settings, gets the key, asks for the list of models,
and sends an empty request to the endpoint of each protocol, which costs nothing. :func:`examine_provider` loads the
file, lists its models, checks their information and counts a few tokens. A model is asked for a short answer only if
the caller wants that; it is the only check that may cost something. :class:`Advice` holds the sentences that fit the
place of the person: a terminal or an editor.
"""

from __future__ import annotations
import asyncio
import logging
import sys
from collections.abc import Awaitable, Callable, Iterator, Mapping, Sequence
from contextlib import aclosing, suppress
from datetime import UTC, datetime
from enum import StrEnum
from pathlib import Path
from typing import Any, Final, get_type_hints
from urllib.parse import urlsplit

from partstream.codec.checks import dataclass, field, replace
from partstream.codec.json_codec import JSONDecodeError, find_non_json, loads
from partstream.config.loading import Configuration, RenewingKey
from partstream.errors import LanguageModelError, PartstreamError, UpstreamError, UpstreamHTTPError
from partstream.lm.cancellation import CancellationToken
from partstream.lm.contract import Level, Violation
from partstream.lm.messages import ChatMessage, RequestOptions
from partstream.lm.outputs import Finish
from partstream.lm.parts import ResponsePart, TextPart, ToolCallPart, UnifiedFinishReason
from partstream.lm.provider import LanguageModelChatInformation, LanguageModelChatProvider, ModelFields
from partstream.protocols.protocol import asking, loadable_protocols
from partstream.runtime.consumer import LanguageModelChat, LanguageModels
from partstream.runtime.progress import failing_place, fault_of
from partstream.runtime.provider_files import ProviderNotFoundError, SourceLoader, default_name
from partstream.runtime.requests import LanguageModelChatResponse
from partstream.settings.kinds import ConfigurationError, closest_name
from partstream.settings.known_servers import KeyRequirement, known_server, server_at
from partstream.settings.row import hidden_url
from partstream.upstream import detection, discovery, http_errors
from partstream.upstream.completing import ways_at
from partstream.upstream.configuration import GatewayConfiguration, RetryPolicy
from partstream.upstream.context import run_in_thread
from partstream.upstream.discovery import Fetch, FetchResponse, list_refusal, read_catalogue
from partstream.upstream.endpoint import USUAL_VERSION, CredentialError, is_loopback, own_base_url, without_query
from partstream.upstream.http import Connections, ConnectionSetupError, UpstreamHTTP
from partstream.upstream.model_information import known_capabilities
from partstream.upstream.model_shapes import LLAMA_CPP_PROPS, read_detail
from partstream.upstream.provider import GatewayProvider


class CheckStatus(StrEnum):
    """The verdict on one check."""

    FINE = "fine"
    WARNING = "warning"
    PROBLEM = "problem"


@dataclass(frozen=True, slots=True)
class Finding:
    """The result of one check."""

    subject: str
    verdict: CheckStatus
    says: str  # what was found, without secrets
    advice: str = ""  # what to do, or nothing


# ---- Endpoints ----

_ENDPOINTS_SECONDS: Final = 8.0
"""For the requests to all endpoints, which are sent at the same time."""


async def examine_endpoints(
    gateway: GatewayConfiguration, connections: Connections, *, is_set: bool
) -> tuple[list[Finding], bool | None]:
    """Sends an empty request to each endpoint below the base URL. Gives what was found, nothing where the protocol has
    no request that costs nothing; and whether the endpoint of the protocol in force is there, None if nothing says it.

    Args:
        is_set: Whether the protocol is set, and was not found out.

    Raises:
        LanguageModelError: The server cannot be asked at all.
    """
    wires = [wire for wire in detection.known_wires() if wire.empty_request is not None]
    own = next((wire for wire in wires if wire.name == gateway.protocol), None)
    if own is None:
        return [], None
    others = _others(gateway.base_url, own, wires)
    deadline = asyncio.get_running_loop().time() + _ENDPOINTS_SECONDS
    asked = await detection.ask_round(gateway, connections, gateway.base_url, [own, *others], deadline=deadline)
    signs, sign = asked.signs, asked.signs[own.name]
    there = [wire for wire in others if signs[wire.name].presence is detection.Presence.THERE]
    missing = [wire for wire in others if signs[wire.name].presence is detection.Presence.MISSING]
    says = f"it {_VERBS[sign.presence]} {_shown(own, asked)}"
    if there:
        says += f", and {'' if sign.presence is detection.Presence.THERE else 'speaks '}{_listed(there, asked)}"
    if missing:
        says += f"; it does not speak {_listed(missing, asked, 'or')}"
    if sign.presence is detection.Presence.THERE:
        return [Finding("endpoint", CheckStatus.FINE, says)], True
    if sign.presence is detection.Presence.SILENT:
        advice = sign.advice or "see the finding about its models"
        return [Finding("endpoint", CheckStatus.WARNING, says, advice)], None
    advice = sign.advice or (http_errors.WEB_PAGE_ADVICE if sign.presence is detection.Presence.NO_API else "")
    if there:
        more = f", and `baseUrl` to {hidden_url(there[0].at)}" if there[0].at else ""
        advice = f"leave `protocol` out, or set it to {there[0].name}{more}"
    if is_set:
        advice = await detection.advice_on_protocol(gateway, connections) or advice
    return [Finding("endpoint", CheckStatus.PROBLEM, says, advice)], False


def _others(
    url: str, own: detection.CandidateProtocol, wires: Sequence[detection.CandidateProtocol]
) -> list[detection.CandidateProtocol]:
    """The other protocols that are tried, each where it is looked for if that is not `url`.

    A protocol with a base path of its own is tried only at a server that is known to speak it.
    """
    server, paths, others = server_at(url), [wire.path for wire in wires], []
    for wire in wires:
        if wire is not own and (not wire.own_base_path or wire.row_at(server) is not None):
            path = wire.own_base_path or (USUAL_VERSION if own.own_base_path else "")
            others.append(replace(wire, at=own_base_url(url, path, paths) if path else ""))
    return others


_VERBS: Final = {
    detection.Presence.THERE: "speaks",
    detection.Presence.MISSING: "does not speak",
    detection.Presence.SILENT: "does not say whether it speaks",
    detection.Presence.NO_API: "answers as no model server does when it is asked for",
}


def _listed(wires: Sequence[detection.CandidateProtocol], asked: detection.Round, joint: str = "and") -> str:
    shown = [_shown(wire, asked) for wire in wires]
    return f" {joint} ".join([", ".join(shown[:-1]), shown[-1]] if shown[1:] else shown)


def _shown(wire: detection.CandidateProtocol, asked: detection.Round) -> str:
    path = asked.path_of(wire) if wire.at else wire.path
    return f"{wire.title} ({path}: {asked.signs[wire.name].says})"


# ---- Advice ----


@dataclass(frozen=True, slots=True)
class Advice:
    """What helps, as sentences that name what a person has at hand; "" where nothing does."""

    no_server: str  # there is no base URL
    no_key: str  # a server wants a key, and none was sent
    another_key: str  # a server refuses the key; follows the general advice
    perhaps_a_key: str  # a server forbids something, and no key was sent
    no_model: str  # a model is to be asked, and none is named
    other_model: str  # the named model is not listed
    not_asked: str  # no model was asked for an answer
    fault: str  # something failed that must not fail


AT_A_TERMINAL: Final = Advice(
    no_server=(
        "`partstream add` adds a server; or name a profile by --profile, or set `baseUrl` in the file, "
        "PARTSTREAM_BASE_URL or --base-url"
    ),
    no_key=(
        "no key was sent: put one into the environment variable PARTSTREAM_API_KEY, "
        "or name another variable with --api-key-env; a profile names it by apiKeyEnv or apiKeyKeyring"
    ),
    another_key="",
    perhaps_a_key="no key was sent; if the server wants one: the environment variable PARTSTREAM_API_KEY holds it",
    no_model="give --model or set `defaultModel`",
    other_model="--model chooses",
    not_asked="no model was asked; `--ask` asks one",
    fault="this is a fault of Partstream; --log-level debug shows more",
)

_FORBIDDEN: Final = 403


def explained(error: LanguageModelError, gateway: GatewayConfiguration, advice: Advice = AT_A_TERMINAL) -> str:
    """The sentence of an error, with the advice that fits the place."""
    if not isinstance(error, UpstreamError):
        return error.message
    has_key, helps = http_errors.sends_key(gateway), ""
    if http_errors.is_about_the_key(error):
        helps = "; ".join(filter(None, (error.advice, advice.another_key))) if has_key else advice.no_key
    elif isinstance(error, UpstreamHTTPError) and error.http_status == _FORBIDDEN and not has_key and not error.advice:
        helps = advice.perhaps_a_key
    error.advise(helps)
    return error.message


# ---- Model trial ----

MOST_TOKENS: Final = 16
"""The most tokens of the answer: OpenAI's Responses refuse a smaller limit."""

_QUESTION: Final = "Say yes."


class _Answer:
    """The end of the answer; its parts are not looked at."""

    finish_of_answer: Finish | None = None

    def report(self, part: ResponsePart, /) -> None:
        pass

    def finish(self, finish: Finish, /) -> None:
        self.finish_of_answer = finish


async def ask_model(gateway: GatewayConfiguration, model_id: str, advice: Advice) -> Finding:
    """Asks a model once, for at most :data:`MOST_TOKENS` tokens; nothing of it is remembered."""
    selection = gateway.selection
    if (own := selection.overrides.get(model_id)) is not None:  # a person may allow this model longer answers
        short = replace(own, max_output_tokens=MOST_TOKENS)
        selection = replace(selection, overrides={**selection.overrides, model_id: short})
    configuration = replace(
        gateway,
        max_output_tokens=MOST_TOKENS,
        selection=selection,
        retry=RetryPolicy(attempts=1),
        ledger=False,
        fallbacks={},
    )
    model = LanguageModelChatInformation(model_id, model_id, model_id, "1", 128_000, MOST_TOKENS)
    answer = _Answer()
    async with aclosing(GatewayProvider(configuration)) as provider:
        try:
            await provider.provide_language_model_chat_response(
                model, [ChatMessage.user(_QUESTION)], RequestOptions(), answer, CancellationToken()
            )
        except LanguageModelError as error:
            # A model may think for more tokens than that: it works, though nothing of its answer came.
            finish = answer.finish_of_answer
            reason = None if finish is None else finish.reason
            if reason is None or reason.unified is not UnifiedFinishReason.LENGTH:
                explained(error, gateway, advice)
                said, helps = error.message, ""
                if isinstance(error, UpstreamError):
                    said, helps = error.statement, error.advice
                return Finding("model", CheckStatus.PROBLEM, f"{model_id} was asked, and {said}", helps)
    usage = None if answer.finish_of_answer is None else answer.finish_of_answer.usage
    is_known = usage is not None and usage.input_tokens is not None and usage.output_tokens is not None
    taken = f", for {usage.input_tokens} tokens in and {usage.output_tokens} out" if usage and is_known else ""
    return Finding("model", CheckStatus.FINE, f"{model_id} answers{taken}")


# ---- Examination ----

_logger = logging.getLogger("partstream.configuration")

_SECONDS: Final = 15.0
_REINSTALL: Final = "install the package again, or remove it"


async def examine(
    configuration: Configuration,
    *,
    asks: bool = False,
    advice: Advice = AT_A_TERMINAL,
    on_key: Callable[[str], object] = lambda key: None,
) -> list[Finding]:
    """Runs all checks in the order in which a request needs them; leaves out the checks that depend on a failed one.

    Args:
        asks: Whether the default model is asked for a short answer, which may cost something.
        on_key: Gets every key before it is used, so that logs and reports can leave it out.
    """
    advice = replace(advice, not_asked="") if asks else advice
    file = configuration.file
    says = f"{file} was read" if file.is_file() else f"{file} does not exist, and need not"
    findings = [Finding("file", CheckStatus.FINE, says)]
    findings += [
        Finding("protocols", CheckStatus.WARNING, str(failure), _REINSTALL) for failure in loadable_protocols()[1]
    ]
    odd = (*configuration.resolved.warnings, *configuration.resolved.notes)
    findings += [Finding("settings", CheckStatus.WARNING, sentence) for sentence in odd]
    try:
        gateway = configuration.gateway(on_key)
    except ConfigurationError as error:
        helps = advice.no_server if error.where == "baseUrl" else ""
        return [*findings, Finding("settings", CheckStatus.PROBLEM, str(error), helps)]
    findings.append(_server_settings(configuration, gateway))
    keys = await _guarded("key", _key(configuration, gateway), advice)
    server: list[Finding] = []
    if all(finding.verdict is not CheckStatus.PROBLEM for finding in keys):
        server = await _guarded("server", _server(gateway, advice), advice)
    findings += [*(keys or [_without_key(gateway, server, advice)]), *server]
    if asks:
        findings.append(await _asked(gateway, findings, advice))
    return findings


async def _asked(gateway: GatewayConfiguration, findings: Sequence[Finding], advice: Advice) -> Finding:
    """What came of asking the model; it is not asked where a check before it has failed."""
    model_id = gateway.selection.default
    if model_id is None:
        return Finding("model", CheckStatus.PROBLEM, "none is named, so none was asked", advice.no_model)
    if any(finding.verdict is CheckStatus.PROBLEM for finding in findings):
        return Finding("model", CheckStatus.WARNING, f"{model_id} was not asked", "fix the problems above first")
    (finding,) = await _guarded("model", ask_model(gateway, model_id, advice), advice)
    return finding


async def _guarded(subject: str, examined: Awaitable[Finding | list[Finding]], advice: Advice) -> list[Finding]:
    """The findings of a check; an error on the way is a finding too."""
    try:
        found = await examined
        return found if isinstance(found, list) else [found]
    except ConnectionSetupError as error:
        return [Finding("network", CheckStatus.PROBLEM, f"{error.where}: {error.got}", f"expected: {error.expected}")]
    except ConfigurationError as error:  # in the protocol that was found out
        return [Finding("settings", CheckStatus.PROBLEM, str(error))]
    except LanguageModelError as error:
        return [Finding(subject, CheckStatus.PROBLEM, str(error))]
    except Exception as error:
        _logger.debug("looking at the %s failed", subject, exc_info=True)
        says = f"the check failed with {type(error).__name__}"
        return [Finding(subject, CheckStatus.PROBLEM, says, advice.fault)]


def _server_settings(configuration: Configuration, gateway: GatewayConfiguration) -> Finding:
    value = configuration.resolved.values["baseUrl"]
    says = f"{value.shown} ({value.place})"
    if gateway.proxy is not None:
        says += f" through {configuration.resolved.values['proxy'].shown}"
    if not gateway.verify_certificates:
        return Finding(
            "base URL",
            CheckStatus.WARNING,
            f"{says}, without a check of who answers",
            "set `proxyStrictSSL` to true again",
        )
    address = urlsplit(gateway.base_url)
    if address.scheme == "http" and not is_loopback(address.hostname or ""):
        return Finding("base URL", CheckStatus.WARNING, f"{says}, unencrypted", "use https if you can")
    return Finding("base URL", CheckStatus.FINE, says)


async def _key(configuration: Configuration, gateway: GatewayConfiguration) -> list[Finding]:
    """What there is of a key; nothing where none is set."""
    credentials = gateway.credentials
    if credentials is None:
        value = configuration.resolved.values.get("apiKey")
        return [] if value is None else [Finding("key", CheckStatus.FINE, f"from {value.where}")]
    try:
        await credentials.get()
    except CredentialError as error:
        return [Finding("key", CheckStatus.PROBLEM, str(error), error.expected)]
    if not isinstance(credentials, RenewingKey):
        return [Finding("key", CheckStatus.FINE, "set")]
    ends = credentials.expires_at
    until = "" if ends is None else f", good until {datetime.fromtimestamp(ends, UTC):%Y-%m-%d %H:%M} UTC"
    return [Finding("key", CheckStatus.FINE, f"from {credentials.source}{until}")]


def _without_key(gateway: GatewayConfiguration, findings: Sequence[Finding], advice: Advice) -> Finding:
    """The meaning of a missing key, by what was found about the server."""
    host = urlsplit(gateway.base_url).hostname or ""
    known = server_at(gateway.base_url)
    if gateway.headers:
        return Finding("key", CheckStatus.FINE, "none is set, and the settings have headers")
    if is_loopback(host):
        return Finding("key", CheckStatus.FINE, "none is set; servers on this machine often need none")
    if known is not None and known.has_host(host) and known.key is KeyRequirement.REQUIRED:
        return Finding("key", CheckStatus.PROBLEM, f"none is set; {known.title} needs one", advice.no_key)
    if any(finding.verdict is CheckStatus.PROBLEM for finding in findings):
        return Finding(
            "key", CheckStatus.WARNING, "none is set; servers on other machines often need one", advice.no_key
        )
    return Finding("key", CheckStatus.FINE, "none is set, and the server answered without one")


async def _server(gateway: GatewayConfiguration, advice: Advice) -> list[Finding]:
    try:
        async with detection.open_upstream(gateway) as upstream:
            known = upstream.configuration
            async with asyncio.timeout(_SECONDS):
                fetch = upstream.http.fetch
                writer = asking(known.protocol)
                base_path, further_lists = writer.find_model_lists(urlsplit(known.base_url).path)
                lists = discovery.list_questions(base_path, further_lists, writer.models_path)
                answers = [await fetch(question.path, {}, None) for question in lists]
                # The answer that says most: the refusal of a key, even if another list needs none; else a list.
                refused = (answer for answer in answers if answer.status in (401, 403))
                answer = next(refused, None) or next((answer for answer in answers if answer.status == 200), answers[0])
                listed = await _judged(answer, known, fetch, advice)
            findings = [*_protocol(upstream.detected), *listed]
            is_told = any(finding.verdict is CheckStatus.PROBLEM for finding in listed) and answer.status < 500
            if is_told and answer.status not in _NO_LIST:
                return findings  # the endpoints would say the same once more
            of_endpoints, is_there = await examine_endpoints(
                known, upstream.connections, is_set=upstream.detected is None
            )
            if is_there and answer.status in _NO_LIST:
                findings = [*_protocol(upstream.detected), _LISTS_NOTHING]
            findings += of_endpoints
            if is_there:
                model_id = gateway.selection.default or ""
                if not model_id:
                    with suppress(JSONDecodeError, UpstreamError):
                        model_id = next(iter(read_catalogue(loads(answer.body)).entries), "")
                findings.append(await _completions(upstream, model_id))
            return findings
    except TimeoutError:
        says = f"it did not answer within {_SECONDS:g} s when asked for its models"
        return [Finding("server", CheckStatus.PROBLEM, says, "check the address, and whether the server is overloaded")]
    except UpstreamError as error:
        return [Finding("server", CheckStatus.PROBLEM, error.statement, error.advice)]


async def _completions(upstream: detection.OpenUpstream, model_id: str) -> Finding:
    """How the server completes text with a model: by the first endpoint for it that is there.

    Whether the endpoint takes the model too, only a completion shows: vLLM has the endpoint and refuses every suffix.
    """
    known, detected = upstream.configuration, upstream.detected
    server = server_at(known.base_url) if detected is None or not detected.server else known_server(detected.server)
    deadline = asyncio.get_running_loop().time() + _ENDPOINTS_SECONDS
    of_model = f"{model_id} is completed by " if model_id else "a model is completed by "
    ways = ways_at(known, server, model_id)
    for place, way in enumerate(ways, 1):
        if way.protocol is None:
            break
        writer = asking(way.protocol)
        http = UpstreamHTTP(known.spoken(way.protocol, way.base_url), upstream.connections)
        got = await detection.ask_once(http, writer.path, {}, deadline)
        if isinstance(got, str):
            return Finding("completions", CheckStatus.WARNING, f"whether there are any is not known: {got}")
        sign = detection.sign_of(got, writer.errors, without_query(way.base_url), writer.path)
        if sign.presence is detection.Presence.THERE:
            instead = f"; where it refuses that, by {ways[place].title}" if place < len(ways) else ""
            return Finding("completions", CheckStatus.FINE, f"{of_model}{way.title} ({sign.says}){instead}")
    return Finding("completions", CheckStatus.FINE, f"{of_model}a chat that is asked to edit")


def _protocol(detected: detection.Detected | None) -> list[Finding]:
    """What the server speaks, where that was found out; what a guess is good for, its answers say."""
    if detected is None:
        return []
    if detected.is_certain:
        return [Finding("protocol", CheckStatus.FINE, f"at {detected.shown_url}: {detected.says}")]
    # It said that no endpoint is there, or nothing.
    verdict = CheckStatus.PROBLEM if detected.advice else CheckStatus.WARNING
    return [Finding("protocol", verdict, detected.says, detected.advice)]


_ADVICE: Final = {
    402: "check that the account of this key has credit left",
    403: "the key may not do this",
    405: "name models in `models`",
}
_GENERAL_ADVICE: Final = "see the server's log"
_NO_LIST: Final = frozenset({404, 405, 501})
_LISTS_NOTHING: Final = Finding(
    "server", CheckStatus.WARNING, "it answers, and lists no models", "name those that you want in `models`"
)


async def _judged(answer: FetchResponse, gateway: GatewayConfiguration, fetch: Fetch, advice: Advice) -> list[Finding]:
    if answer.status != 200:
        error = list_refusal(answer, gateway)
        if http_errors.says_path_is_missing(error):
            error.advise(http_errors.GENERAL_ADVICE)
        verdict = CheckStatus.WARNING if answer.status in _NO_LIST and not gateway.discovers else CheckStatus.PROBLEM
        explained(error, gateway, advice)
        helps = error.advice or _ADVICE.get(answer.status, _GENERAL_ADVICE)
        return [Finding("server", verdict, f"asked for its models, {error.statement}", helps)]
    try:
        document = loads(answer.body)
    except JSONDecodeError:
        error = list_refusal(answer, gateway)
        return [Finding("server", CheckStatus.PROBLEM, error.statement, error.advice or http_errors.GENERAL_ADVICE)]
    try:
        catalogue = read_catalogue(document)
    except UpstreamError:
        return [
            Finding("server", CheckStatus.PROBLEM, "its answer is not a list of models", http_errors.GENERAL_ADVICE)
        ]
    listed = catalogue.entries.keys()
    if not listed and not _named(gateway):
        return [_LISTS_NOTHING]
    says = f"it answers, and lists {len(listed)} language model{'' if len(listed) == 1 else 's'}"
    findings = [Finding("server", CheckStatus.FINE, says, advice.not_asked)]
    missing = sorted(_named(gateway) - listed)
    if missing:
        says = f"the server does not list {', '.join(missing)}"
        findings.append(Finding("models", CheckStatus.WARNING, says, "check the spelling; a server need not list all"))
    if listed and all(entry.details is LLAMA_CPP_PROPS for entry in catalogue.entries.values()):
        findings += await _tools(next(iter(listed)), gateway, fetch)
    return findings


async def _tools(model_id: str, gateway: GatewayConfiguration, fetch: Fetch) -> list[Finding]:
    """Whether llama.cpp leaves tools out of the prompt of its model; nothing where it does not, or does not say it."""
    root = urlsplit(gateway.base_url).path.rstrip("/").removesuffix("/v1")
    answer = await fetch(f"{root}/props", {}, None)
    try:
        record = read_detail(LLAMA_CPP_PROPS, model_id, loads(answer.body))
    except (JSONDecodeError, UpstreamError):
        return []
    if record is None or not known_capabilities(record).drops_tools:
        return []
    says = f"the chat template of {model_id} names none, so the server leaves them out of the prompt"
    helps = "for tools, start it with --chat-template-file and a template that names them"
    return [Finding("tools", CheckStatus.WARNING, says, helps)]


def _named(gateway: GatewayConfiguration) -> set[str]:
    others = (other for ids in gateway.fallbacks.values() for other in ids)
    default = [gateway.selection.default] if gateway.selection.default else []
    return {*gateway.selection.overrides, *gateway.model_requests, *gateway.fallbacks, *others, *default}


# ---- Harness ----

LISTS_MODELS: Final = "chat.agentHost.byokModels.enabled"
"""The setting of VS Code with which the agent host lists the models of extensions."""
ALLOWS_SIGNED_OUT: Final = "chat.agentHost.allowSignedOutWhenUsable"
"""The setting of VS Code with which the agent host answers without an account."""
_WRITES_THEM: Final = "Partstream: Use a Model Everywhere… sets both"


@dataclass(frozen=True, slots=True)
class HarnessFacts:
    """What decides whether the Copilot harness of a VS Code offers the models of extensions."""

    is_remote: bool  # whether the window is remote or in a browser
    lists_models: bool  # whether `LISTS_MODELS` is on
    allows_signed_out: bool  # whether `ALLOWS_SIGNED_OUT` is on


def finding_on_harness(facts: HarnessFacts, subject: str = "Copilot harness") -> Finding:
    """Whether the models are there, and what helps if not. The harness is optional, so no finding is a problem."""
    if facts.is_remote:
        says = "offers no models of extensions in a remote window and in a browser"
        return Finding(subject, CheckStatus.FINE, says, "choose Local below the box of the chat")
    if not facts.lists_models:
        advice = f"set it, and for use without an account also {ALLOWS_SIGNED_OUT}; {_WRITES_THEM}"
        return Finding(subject, CheckStatus.FINE, f"offers no models of extensions: {LISTS_MODELS} is off", advice)
    if not facts.allows_signed_out:
        advice = f"set it for use without an account; {_WRITES_THEM}"
        says = f"offers the models only to a person who is signed in at GitHub: {ALLOWS_SIGNED_OUT} is off"
        return Finding(subject, CheckStatus.FINE, says, advice)
    return Finding(subject, CheckStatus.FINE, "offers the models, with an account and without one")


# ---- Provider examination ----

_MEND: Final = "fix this line"
_MOST_NAMES: Final = 10


async def examine_provider(source: str, model_id: str | None = None, *, asks: bool = False) -> list[Finding]:
    """Runs all checks in the order in which a host needs them; leaves out the checks that depend on a failed one.

    Args:
        model_id: The model that counts tokens and is asked; None for the first one.
        asks: Whether it is asked one short question, which may cost something.
    """
    loader = SourceLoader(source)
    try:
        # In a thread, as hosts load it: a file may run an event loop of its own.
        provider = await run_in_thread(loader.load, "partstream-load")
    except (Exception, SystemExit) as error:
        return [finding_on_load(error, loader.file)]
    loaded = Finding(
        "provider", CheckStatus.FINE, f"{source} was loaded; its provider is of type {type(provider).__name__}"
    )
    try:
        return [loaded, *await examine_loaded(provider, default_name(source), model_id, asks=asks)]
    finally:
        aclose: Any = getattr(provider, "aclose", None)
        if aclose is not None:
            await aclose()


async def examine_loaded(
    provider: LanguageModelChatProvider,
    vendor: str,
    model_id: str | None = None,
    *,
    asks: bool = False,
    advice: Advice = AT_A_TERMINAL,
) -> list[Finding]:
    """Runs the checks of a provider that was loaded, and does not close it; leaves out the checks that depend on a
    failed one."""
    words = replace(advice, not_asked="") if asks else advice
    return await _Examination(provider, vendor, words).run(model_id, asks=asks)


def finding_on_load(error: BaseException, file: Path | None) -> Finding:
    """Why a provider could not be loaded."""
    if isinstance(error, ProviderNotFoundError):
        return Finding("provider", CheckStatus.PROBLEM, str(error), f"expected: {error.expected}")
    advice = _MEND
    if isinstance(error, ModuleNotFoundError) and error.name:
        advice = f"install what brings the module {error.name} for {sys.executable}"
    elif isinstance(error, SystemExit):
        advice = "put what ends the process below `if __name__ == '__main__':`"
    return Finding("provider", CheckStatus.PROBLEM, str(fault_of(error, file)), advice)


COUNT_SECONDS: Final = 10.0
"""The wait for a count of tokens."""
ANSWER_SECONDS: Final = 60.0
"""The wait for the end of the answer."""
_ENOUGH: Final = 2_000
"""The characters of text after which the answer is stopped."""


@dataclass(slots=True)
class _Taken:
    """What came of one answer; its string form counts it."""

    characters: int = 0
    calls: int = 0
    is_cut: bool = False

    async def read(self, response: LanguageModelChatResponse) -> None:
        """Counts what comes, until the end or until there is enough of it."""
        async for part in response:
            self.characters += len(part.value) if isinstance(part, TextPart) else 0
            self.calls += isinstance(part, ToolCallPart)
            if self.characters >= _ENOUGH:
                self.is_cut = True
                return

    def __str__(self) -> str:
        calls = f", {self.calls} tool calls" if self.calls else ""
        return f"{self.characters:,} characters{calls}"


@dataclass(slots=True)
class _Examination:
    """The checks of one provider that could be loaded."""

    provider: LanguageModelChatProvider
    vendor: str  # the name that errors give it
    advice: Advice  # what helps at the place of the person
    violations: list[Violation] = field(default_factory=list)  # the rules of the contract that its answer broke

    async def run(self, model_id: str | None, *, asks: bool) -> list[Finding]:
        """What was found, in the order of the checks."""
        models = LanguageModels(
            on_violation=lambda vendor, model, violation: self.violations.append(violation),
            on_provider_error=lambda vendor, error: None,  # the list's own finding tells it
        )
        async with models:
            models.register_language_model_chat_provider(self.vendor, self.provider)
            listed = await models.select_chat_models()
            error = models.provider_errors.get(self.vendor)
            if error is not None:
                advice = _advice_on_error(error)
                return [Finding("models", CheckStatus.PROBLEM, f"it cannot list them: {fault_of(error)}", advice)]
            if not listed:
                return [Finding("models", CheckStatus.WARNING, "it lists none, so nothing shows in the picker")]
            names = ", ".join(model.id for model in listed[:_MOST_NAMES])
            more = f" and {len(listed) - _MOST_NAMES} more" if len(listed) > _MOST_NAMES else ""
            says = f"it lists {len(listed)} model{'' if len(listed) == 1 else 's'}: {names}{more}"
            findings = [Finding("models", CheckStatus.FINE, says, self.advice.not_asked)]
            for model in listed:
                findings += _information(model.information)
            chosen = next((model for model in listed if model_id in (None, model.id)), None)
            if chosen is None:
                says = f"it does not list {model_id}"
                return [*findings, Finding("model", CheckStatus.PROBLEM, says, self.advice.other_model)]
            findings.append(await self._tokens(chosen))
            if asks:
                findings += await self._asked(chosen)
            return findings

    async def _tokens(self, model: LanguageModelChat) -> Finding:
        """Whether it counts a text and a message, as VS Code asks it to before every request."""
        told = []
        for what in ("twelve chars", ChatMessage.user("twelve chars")):
            kind = "text" if isinstance(what, str) else "message"
            try:
                async with asyncio.timeout(COUNT_SECONDS) as limit:
                    count: object = await self.provider.provide_token_count(
                        model.information, what, CancellationToken()
                    )
            except Exception as error:
                if limit.expired():
                    says = f"counting a {kind} took more than {COUNT_SECONDS:g} s"
                    return Finding("token counts", CheckStatus.PROBLEM, says, "count without asking a server")
                return Finding(
                    "token counts", CheckStatus.PROBLEM, f"counting a {kind} failed: {fault_of(error)}", _MEND
                )
            if isinstance(count, bool) or not isinstance(count, int) or count < 0:
                says = f"counting a {kind} gave {count!r}, expected a whole number of 0 or more"
                return Finding("token counts", CheckStatus.PROBLEM, says)
            told.append(f"{count} for a {kind} of 12 characters")
            if count == 0:
                says = f"a {kind} of 12 characters counts 0, so VS Code never shortens a conversation"
                return Finding("token counts", CheckStatus.WARNING, says, "count_tokens= counts")
        return Finding("token counts", CheckStatus.FINE, ", ".join(told))

    async def _asked(self, model: LanguageModelChat) -> list[Finding]:
        """What came of one question; an answer without an end is stopped."""
        taken = _Taken()
        response = model.stream(_QUESTION)
        try:
            async with asyncio.timeout(ANSWER_SECONDS), response:
                await taken.read(response)
        except TimeoutError:
            says = f"{model.id} had not ended its answer after {ANSWER_SECONDS:g} s: {taken}"
            advice = "VS Code keeps waiting, as long as the user does"
            return [*self._broken(), Finding("answer", CheckStatus.PROBLEM, says, advice)]
        except PartstreamError as error:
            return [*self._broken(), Finding("answer", CheckStatus.PROBLEM, str(error), _advice_on_error(error))]
        if not taken.characters:
            says = f"{model.id} answered without text: {taken}"
            return [
                *self._broken(),
                Finding("answer", CheckStatus.PROBLEM, says, "VS Code shows an error in its place"),
            ]
        rest = "" if response.usage is not None else ", without a usage: VS Code's count of tokens is an estimate"
        if taken.is_cut:
            rest = ", and was stopped"
        return [*self._broken(), Finding("answer", CheckStatus.FINE, f"{model.id} answered: {taken}{rest}")]

    def _broken(self) -> Iterator[Finding]:
        """The rules that the answer broke, each once; the error itself says that of errors."""
        by_rule = {violation.rule.id: violation for violation in reversed(self.violations)}
        for violation in reversed(by_rule.values()):
            if violation.rule.id != "failure.language-model-error":
                verdict = CheckStatus.PROBLEM if violation.rule.level is Level.MUST else CheckStatus.WARNING
                yield Finding("contract", verdict, str(violation), "docs/contract.md explains every rule")


def _advice_on_error(error: BaseException) -> str:
    caused = error.__cause__ or error
    return _MEND if failing_place(caused) is not None else ""


# ---- The information about a model ----


def _information(model: LanguageModelChatInformation) -> Iterator[Finding]:
    """What of a model's information keeps it from being used; one line where nothing does."""
    odd = [
        Finding("information", verdict, f"{model.id}: {says}", advice)
        for finds, verdict, says, advice in _CHECKS
        if finds(model)
    ]
    yield from odd
    yield from _extra(model)
    if not odd:
        limits = f"{model.max_input_tokens:,} tokens in, {model.max_output_tokens:,} out"
        yield Finding("information", CheckStatus.FINE, f"{model.id}: {model.name}, {limits}")


_Check = tuple["Callable[[LanguageModelChatInformation], bool]", CheckStatus, str, str]
_CHECKS: Final[tuple[_Check, ...]] = (
    (lambda model: not model.name.strip(), CheckStatus.PROBLEM, "its name is empty", "the picker shows the name"),
    (
        lambda model: not model.capabilities.tool_calling,
        CheckStatus.WARNING,
        "it reports no tool calling, so agent mode does not list it",
        "tool_calling=True, if it may be listed there; it need not call any",
    ),
    (
        lambda model: model.max_input_tokens < 4_000,
        CheckStatus.WARNING,
        "its prompt limit is below 4,000 tokens, which the instructions of agent mode alone exceed",
        "max_input_tokens= is the most tokens that a prompt may hold",
    ),
)
"""What is looked at: what finds it, how bad it is, what is said, what helps."""


def _extra(model: LanguageModelChatInformation) -> Iterator[Finding]:
    if odd := find_non_json(model.extra, "extra"):
        yield Finding("information", CheckStatus.PROBLEM, f"{model.id}: {odd}", "VS Code takes JSON values alone")
    known: Mapping[str, object] = get_type_hints(ModelFields)
    for name in model.extra:
        meant = None if name in known else closest_name(name, tuple(known))
        if meant is not None:
            says = f"{model.id}: VS Code reads no field {name}"
            yield Finding("information", CheckStatus.WARNING, says, f"{meant}, perhaps?")
