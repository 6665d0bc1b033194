"""Looks at what is configured and what answers, and says what to do; sends nothing that costs anything."""

from __future__ import annotations

import asyncio
import ssl
from contextlib import aclosing
from dataclasses import dataclass
from datetime import UTC, datetime
from enum import StrEnum
from typing import TYPE_CHECKING, Final
from urllib.parse import urlsplit

from partstream.configuration.renewing import RenewingKey
from partstream.errors import LanguageModelError, UpstreamError
from partstream.json_codec import JSONDecodeError, loads
from partstream.models.catalogue import read_catalogue
from partstream.models.composition import list_questions
from partstream.protocols.registry import asking, broken_protocols
from partstream.settings.errors import ConfigurationError
from partstream.upstreams.credentials import CredentialError
from partstream.upstreams.fetching import DocumentFetcher
from partstream.upstreams.http import UpstreamHTTP

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from partstream.configuration.loading import Configuration
    from partstream.models.discovery import FetchResponse
    from partstream.upstreams.configuration import GatewayConfiguration

__all__ = ["Finding", "Verdict", "examine"]

_SECONDS: Final = 15.0
_REINSTALL: Final = "install the package again, or remove it"


class Verdict(StrEnum):
    """How something is."""

    FINE = "fine"
    WARNING = "warning"
    PROBLEM = "problem"


@dataclass(frozen=True, slots=True)
class Finding:
    """One thing that was looked at.

    Attributes:
        subject: What.
        verdict: How it is.
        says: What was found, without secrets.
        advice: What to do, or nothing.
    """

    subject: str
    verdict: Verdict
    says: str
    advice: str = ""


async def examine(configuration: Configuration) -> list[Finding]:
    """Looks at everything, in the order in which a request needs it; what needs a broken thing is left out."""
    findings = [_file(configuration)]
    findings += [Finding("protocols", Verdict.WARNING, str(failure), _REINSTALL) for failure in broken_protocols()]
    odd = (*configuration.resolved.warnings, *configuration.resolved.notes)
    findings += [Finding("settings", Verdict.WARNING, sentence) for sentence in odd]
    try:
        gateway = configuration.gateway()
    except ConfigurationError as error:
        advice = "set `baseUrl` in the file, PARTSTREAM_BASE_URL or --base-url" if error.where == "baseUrl" else ""
        return [*findings, Finding("settings", Verdict.PROBLEM, str(error), advice)]
    findings.append(_server_settings(configuration, gateway))
    key = await _key(configuration, gateway)
    findings.append(key)
    if key.verdict is not Verdict.PROBLEM:
        findings += await _server(gateway)
    return findings


def _file(configuration: Configuration) -> Finding:
    if configuration.file.is_file():
        return Finding("file", Verdict.FINE, f"{configuration.file} was read")
    return Finding("file", Verdict.FINE, f"{configuration.file} does not exist, and need not")


def _server_settings(configuration: Configuration, gateway: GatewayConfiguration) -> Finding:
    value = configuration.resolved.values["baseUrl"]
    says = f"{value.shown} ({value.place})"
    if gateway.proxy is not None:
        says += f" through {configuration.resolved.values['proxy'].shown}"
    if not gateway.verify_certificates:
        return Finding(
            "base URL", Verdict.WARNING, f"{says}, without a check of who answers", "set `proxyStrictSSL` to true again"
        )
    if urlsplit(gateway.base_url).scheme == "http" and gateway.allow_insecure_http:
        return Finding("base URL", Verdict.WARNING, f"{says}, unencrypted", "use https where you can")
    return Finding("base URL", Verdict.FINE, says)


async def _key(configuration: Configuration, gateway: GatewayConfiguration) -> Finding:
    credentials = gateway.credentials
    if credentials is None:
        value = configuration.resolved.values.get("apiKey")
        says = "none, which is fine for a server that needs no key" if value is None else f"from {value.where}"
        return Finding("key", Verdict.FINE, says)
    try:
        await credentials.get()
    except CredentialError as error:
        return Finding("key", Verdict.PROBLEM, str(error), error.expected)
    if not isinstance(credentials, RenewingKey):
        return Finding("key", Verdict.FINE, "set")
    ends = credentials.expires_at
    until = "" if ends is None else f", good until {datetime.fromtimestamp(ends, UTC):%Y-%m-%d %H:%M} UTC"
    return Finding("key", Verdict.FINE, f"from {credentials.source}{until}")


async def _server(gateway: GatewayConfiguration) -> list[Finding]:
    base_path, further_lists = asking(gateway.protocol).find_model_lists(urlsplit(gateway.base_url).path)
    try:
        async with aclosing(UpstreamHTTP(gateway)) as http, asyncio.timeout(_SECONDS):
            fetch = DocumentFetcher(http)
            lists = list_questions(base_path, further_lists)
            answers = [await fetch(question.path, {"accept": "application/json"}) for question in lists]
    except TimeoutError:
        return [Finding("server", Verdict.PROBLEM, f"no answer within {_SECONDS:g} s", "is it the right address?")]
    except UpstreamError as error:
        return [Finding("server", Verdict.PROBLEM, str(error), _connection_advice(error))]
    except LanguageModelError as error:
        return [Finding("key", Verdict.PROBLEM, str(error))]
    return _judged(_telling(answers), gateway)


def _telling(answers: Sequence[FetchResponse]) -> FetchResponse:
    """The answer that says most: that the key is refused, also where another list needs none, else a list."""
    refused = (answer for answer in answers if answer.status in (401, 403))
    return next(refused, None) or next((answer for answer in answers if answer.status == 200), answers[0])


def _connection_advice(error: UpstreamError) -> str:
    causes: Iterable[BaseException | None] = (error, error.__cause__, getattr(error.__cause__, "__cause__", None))
    if any(isinstance(cause, ssl.SSLError) for cause in causes) or "CERTIFICATE" in str(error).upper():
        return "name the certificate of your network in SSL_CERT_FILE"
    return "is the server running, and is the way there free? HTTPS_PROXY and NO_PROXY name proxies"


_ADVICE: Final = {
    401: "the server wants another key",
    403: "the key may not do this",
    404: "does the base URL end as the server wants it, often in /v1? If so: name models in `models`",
    405: "name models in `models`",
}
_NO_LIST: Final = frozenset({404, 405, 501})


def _judged(answer: FetchResponse, gateway: GatewayConfiguration) -> list[Finding]:
    if answer.status != 200:
        verdict = Verdict.WARNING if answer.status in _NO_LIST and not gateway.discovers else Verdict.PROBLEM
        says = f"it answers HTTP {answer.status} when asked for its models"
        return [Finding("server", verdict, says, _ADVICE.get(answer.status, "what does its own log say?"))]
    try:
        catalogue = read_catalogue(loads(answer.body))
    except (JSONDecodeError, UpstreamError):
        advice = "does the base URL end as the server wants it, often in /v1?"
        return [Finding("server", Verdict.PROBLEM, "its answer is not a list of models", advice)]
    listed = catalogue.entries.keys()
    findings = [Finding("server", Verdict.FINE, f"it answers, and lists {len(listed)} language models")]
    missing = sorted(_named(gateway) - listed)
    if missing:
        says = f"the server does not list {', '.join(missing)}"
        findings.append(Finding("models", Verdict.WARNING, says, "check the spelling; a server need not list all"))
    return findings


def _named(gateway: GatewayConfiguration) -> set[str]:
    """Every model that the configuration calls by its id."""
    others = (other for ids in gateway.fallbacks.values() for other in ids)
    default = [gateway.selection.default] if gateway.selection.default else []
    return {*gateway.selection.overrides, *gateway.model_requests, *gateway.fallbacks, *others, *default}
