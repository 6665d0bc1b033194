"""Checks the configuration and the server, and says what to do; sends nothing that costs money unless it is told to."""

from __future__ import annotations

import asyncio
import logging
from dataclasses import replace
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Final
from urllib.parse import urlsplit

from partstream.codec.json_codec import JSONDecodeError, loads
from partstream.config.loading import RenewingKey
from partstream.configuration.advice import AT_A_TERMINAL, explained
from partstream.configuration.endpoints import examine_endpoints
from partstream.configuration.findings import CheckStatus, Finding
from partstream.configuration.model_trial import ask_model
from partstream.errors import LanguageModelError, UpstreamError
from partstream.protocols.known_servers import KeyRequirement, server_at
from partstream.protocols.protocol import asking, broken_protocols
from partstream.settings.kinds import ConfigurationError
from partstream.upstream.detection import open_upstream
from partstream.upstream.discovery import list_questions, read_catalogue
from partstream.upstream.endpoint import CredentialError, is_loopback
from partstream.upstream.http import ConnectionSetupError, DocumentFetcher
from partstream.upstream.http_errors import GENERAL_ADVICE, advice_on_missing_list, is_general, says_path_is_missing
from partstream.upstream.provider import list_refusal

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Sequence

    from partstream.config.loading import Configuration
    from partstream.configuration.advice import Advice
    from partstream.upstream.configuration import GatewayConfiguration
    from partstream.upstream.detection_rules import Detected
    from partstream.upstream.discovery import Fetch, FetchResponse

__all__ = ["examine"]

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
        configuration: The configuration.
        asks: Whether the default model is asked for a short answer, which may cost something.
        advice: What helps where the person stands.
        on_key: Told every key before it is used, so that logs and reports can leave it out.
    """
    advice = replace(advice, not_asked="") if asks else advice
    findings = [_file(configuration)]
    findings += [Finding("protocols", CheckStatus.WARNING, str(failure), _REINSTALL) for failure in broken_protocols()]
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
        return Finding("model", CheckStatus.WARNING, f"{model_id} was not asked", "mend the problems above first")
    (finding,) = await _guarded("model", _model(gateway, model_id, advice), advice)
    return finding


async def _model(gateway: GatewayConfiguration, model_id: str, advice: Advice) -> list[Finding]:
    return [await ask_model(gateway, model_id, advice)]


async def _guarded(subject: str, examined: Awaitable[list[Finding]], advice: Advice) -> list[Finding]:
    """What was found; whatever else goes wrong on the way is a finding too, for whoever asks what is wrong."""
    try:
        return await examined
    except ConnectionSetupError as error:
        return [Finding("network", CheckStatus.PROBLEM, f"{error.where}: {error.got}", f"expected: {error.expected}")]
    except ConfigurationError as error:  # in the protocol that was found out
        return [Finding("settings", CheckStatus.PROBLEM, str(error))]
    except LanguageModelError as error:
        return [Finding(subject, CheckStatus.PROBLEM, str(error))]
    except Exception as error:
        _logger.debug("looking at the %s failed", subject, exc_info=True)
        says = f"looking at it failed with {type(error).__name__}"
        return [Finding(subject, CheckStatus.PROBLEM, says, advice.fault)]


def _file(configuration: Configuration) -> Finding:
    if configuration.file.is_file():
        return Finding("file", CheckStatus.FINE, f"{configuration.file} was read")
    return Finding("file", CheckStatus.FINE, f"{configuration.file} does not exist, and need not")


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
        return Finding("base URL", CheckStatus.WARNING, f"{says}, unencrypted", "use https where you can")
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
    """What it means that no key is set.

    Args:
        gateway: The upstream.
        findings: What was found about its server.
        advice: What helps where the person stands.
    """
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
        async with open_upstream(gateway) as upstream:
            known = upstream.configuration
            async with asyncio.timeout(_SECONDS):
                fetch = DocumentFetcher(upstream.http)
                corner = asking(known.protocol)
                base_path, further_lists = corner.find_model_lists(urlsplit(known.base_url).path)
                lists = list_questions(base_path, further_lists, corner.models_path)
                answers = [await fetch(question.path, {"accept": "application/json"}) for question in lists]
                answer = _telling(answers)
                listed = await _judged(answer, known, fetch, advice)
            findings = [*_protocol(upstream.detected), *listed]
            is_told = any(finding.verdict is CheckStatus.PROBLEM for finding in listed) and answer.status < 500
            if is_told and answer.status not in _NO_LIST:
                return findings  # the endpoints would say the same once more
            endpoints = await examine_endpoints(known, upstream.connections, is_set=upstream.detected is None)
            if endpoints.is_there and answer.status in _NO_LIST:
                findings = [*_protocol(upstream.detected), _LISTS_NOTHING]
            return [*findings, *endpoints.findings]
    except TimeoutError:
        says = f"it did not answer within {_SECONDS:g} s when asked for its models"
        return [Finding("server", CheckStatus.PROBLEM, says, "is it the right address, and is the server busy?")]
    except UpstreamError as error:
        return [Finding("server", CheckStatus.PROBLEM, error.statement, error.advice)]


def _protocol(detected: Detected | None) -> list[Finding]:
    """What the server speaks, where that was found out; what a guess is good for, its answers say."""
    if detected is None:
        return []
    if detected.is_certain:
        return [Finding("protocol", CheckStatus.FINE, f"at {detected.shown_url}: {detected.says}")]
    verdict = (
        CheckStatus.PROBLEM if detected.advice else CheckStatus.WARNING
    )  # it said that no endpoint is there, or nothing
    return [Finding("protocol", verdict, detected.says, detected.advice)]


def _telling(answers: Sequence[FetchResponse]) -> FetchResponse:
    """The answer that says most: that the key is refused, also where another list needs none, else a list."""
    refused = (answer for answer in answers if answer.status in (401, 403))
    return next(refused, None) or next((answer for answer in answers if answer.status == 200), answers[0])


_ADVICE: Final = {
    402: "is there credit left for this key?",
    403: "the key may not do this",
    405: "name models in `models`",
}
_GENERAL_ADVICE: Final = "what does its own log say?"
_NO_LIST: Final = frozenset({404, 405, 501})
_LISTS_NOTHING: Final = Finding(
    "server", CheckStatus.WARNING, "it answers, and lists no models", "name those that you want in `models`"
)


async def _judged(answer: FetchResponse, gateway: GatewayConfiguration, fetch: Fetch, advice: Advice) -> list[Finding]:
    if answer.status != 200:
        return [await _refused(answer, gateway, fetch, advice)]
    try:
        document = loads(answer.body)
    except JSONDecodeError:
        error = list_refusal(answer, gateway)
        return [Finding("server", CheckStatus.PROBLEM, error.statement, error.advice or GENERAL_ADVICE)]
    try:
        catalogue = read_catalogue(document)
    except UpstreamError:
        return [Finding("server", CheckStatus.PROBLEM, "its answer is not a list of models", GENERAL_ADVICE)]
    listed = catalogue.entries.keys()
    if not listed and not _named(gateway):
        return [_LISTS_NOTHING]
    says = f"it answers, and lists {len(listed)} language model{'' if len(listed) == 1 else 's'}"
    findings = [Finding("server", CheckStatus.FINE, says, advice.not_asked)]
    missing = sorted(_named(gateway) - listed)
    if missing:
        says = f"the server does not list {', '.join(missing)}"
        findings.append(Finding("models", CheckStatus.WARNING, says, "check the spelling; a server need not list all"))
    return findings


async def _refused(answer: FetchResponse, gateway: GatewayConfiguration, fetch: Fetch, advice: Advice) -> Finding:
    """What an answer with an error status says, in the server's own words."""
    error = list_refusal(answer, gateway)
    if says_path_is_missing(error):
        missing = await advice_on_missing_list(fetch, gateway)
        error.advise(f"{missing} If so: name models in `models`" if is_general(missing) else missing)
    verdict = CheckStatus.WARNING if answer.status in _NO_LIST and not gateway.discovers else CheckStatus.PROBLEM
    explained(error, gateway, advice)
    helps = error.advice or _ADVICE.get(answer.status, _GENERAL_ADVICE)
    return Finding("server", verdict, f"asked for its models, {error.statement}", helps)


def _named(gateway: GatewayConfiguration) -> set[str]:
    """Every model id in the configuration."""
    others = (other for ids in gateway.fallbacks.values() for other in ids)
    default = [gateway.selection.default] if gateway.selection.default else []
    return {*gateway.selection.overrides, *gateway.model_requests, *gateway.fallbacks, *others, *default}
