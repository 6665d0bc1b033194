"""Finds out what keeps a model from answering: the checks of `partstream doctor`, for a person before an editor.

:func:`try_server` asks a server for its models before it becomes a group, and remembers nothing.
"""

from __future__ import annotations
import asyncio
from collections import Counter
from collections.abc import Awaitable, Mapping, Sequence
from contextlib import suppress
from typing import TYPE_CHECKING, Any, Final, NotRequired, TypedDict
from urllib.parse import urlsplit, urlunsplit

from partstream.codec.checks import replace
from partstream.codec.text import markdown_text, visible
from partstream.config import examination
from partstream.errors import LanguageModelError, UpstreamError, UpstreamHTTPError
from partstream.pages import document as html
from partstream.settings.kinds import ConfigurationError
from partstream.upstream.endpoint import is_loopback
from partstream.vscode.failures import NOT_THERE, ProviderFailedError, problem_kind
from partstream.vscode.gateway import GatewayLoader, GatewaySurroundings

if TYPE_CHECKING:
    from partstream.upstream.configuration import GatewayConfiguration
    from partstream.upstream.discovery import ModelList
    from partstream.upstream.model_information import ModelRecord, OfferedModel
    from partstream.vscode import rpc_types as wire
    from partstream.vscode.hosted import HostedProvider

EXAMINATION_SECONDS: Final = 120.0
"""The most seconds for all checks: each has a limit of its own, but a person's own code may add anything."""

_AT_THE_GEAR: Final = "choose Update API Key at the gear of this group, in Partstream: Manage Models"
IN_THE_EDITOR: Final = examination.Advice(
    no_server="set `baseUrl` of this group: Partstream: Edit Groups as JSON opens the file",
    no_key=f"no key was sent: {_AT_THE_GEAR}",
    another_key=f"if it is wrong, {_AT_THE_GEAR}",
    perhaps_a_key=f"no key was sent; if the server wants one: {_AT_THE_GEAR}",
    no_model="name one in `models` of this group: Partstream: Edit Groups as JSON opens the file",
    other_model="the model picker shows what it lists now",
    not_asked="no model was asked for an answer",
    fault="this is a fault of Partstream; Partstream: Show Log shows more at the level Debug",
)


async def examine_server(
    configuration: Mapping[str, Any], surroundings: GatewaySurroundings, model_id: str | None
) -> list[examination.Finding]:
    """Examines the model server of a group.

    Args:
        surroundings: The other things that a gateway needs; learns every key before its first use.
        model_id: The model that is asked for a short answer, which may cost something; None asks none.
    """
    values = dict(configuration) if model_id is None else {**configuration, "defaultModel": model_id}
    try:
        settings = GatewayLoader(values, surroundings).settings()
    except ConfigurationError as error:
        return [examination.Finding("settings", examination.CheckStatus.PROBLEM, str(error))]
    return await examination.examine(
        settings, asks=model_id is not None, advice=IN_THE_EDITOR, on_key=surroundings.learn
    )


async def examine_hosted(hosted: HostedProvider, model_id: str | None) -> list[examination.Finding]:
    """Examines a person's own provider as it is loaded here; one that could not be loaded is loaded once more.

    The model `model_id` is asked one short question, which may cost something; None asks none.
    """
    try:
        generation = await hosted.current(retry=True)
    except ProviderFailedError as failure:
        return [examination.finding_on_load(failure.error, hosted.file)]
    kind = type(generation.provider).__name__
    loaded = examination.Finding(
        "provider", examination.CheckStatus.FINE, f"{hosted.name} was loaded; its provider is of type {kind}"
    )
    if hosted.failure is not None:
        broken = examination.finding_on_load(hosted.failure.error, hosted.file)
        loaded = examination.Finding(
            "provider", broken.verdict, f"{broken.says}; the previous version still answers", broken.advice
        )
    async with hosted.using(generation):
        asks = model_id is not None
        found = await examination.examine_loaded(
            generation.provider, hosted.name, model_id, asks=asks, advice=IN_THE_EDITOR
        )
    return [loaded, *found]


async def findings_of(
    examined: Awaitable[Sequence[examination.Finding]], harness: examination.HarnessFacts | None
) -> list[examination.Finding]:
    """What was found, for a page; at most after :data:`EXAMINATION_SECONDS`. `harness` is the window's report on VS
    Code's Copilot harness, None where there is none."""
    try:
        async with asyncio.timeout(EXAMINATION_SECONDS):
            findings = [*await examined]
    except TimeoutError:
        says = f"they did not end within {EXAMINATION_SECONDS:g} s"
        findings = [examination.Finding("checks", examination.CheckStatus.PROBLEM, says)]
    if harness is not None:
        findings.append(examination.finding_on_harness(harness))
    return findings


TRIAL_SECONDS: Final = 20.0

_DETAILS_SECONDS: Final = 3.0
"""The most seconds for the details of each model: a person waits, and the list is useful without."""

_UNENCRYPTED_SECONDS: Final = 3.0
"""The most seconds for the address without encryption: what is wrong with the given one is known by then."""


class TriedModel(TypedDict):
    """A model that the server lists; it is usable unless it is known to call no tools."""

    id: str
    name: str
    details: str
    isUsable: bool


class Spoken(TypedDict):
    """The title of the protocol that the server speaks, below which base URL for people, and how that is known."""

    protocol: str
    baseUrl: str
    reason: str


class ServerProblem(TypedDict):
    """Why the server cannot be used, in one sentence; `baseUrl` is the address that answers instead, where one does."""

    kind: wire.ServerProblemKind
    message: str
    baseUrl: NotRequired[str]


class Trial(TypedDict):
    """The models of the server, or its problem; and what it speaks, as far as that is known. Every value is JSON."""

    models: list[TriedModel]
    spoken: NotRequired[Spoken]
    problem: NotRequired[ServerProblem]


async def try_server(configuration: Mapping[str, Any], surroundings: GatewaySurroundings) -> Trial:
    """The models of a server as a group with these keys and values would list them, or the problem.

    Nothing is remembered, and no file is written.
    """
    try:
        gateway = GatewayLoader(configuration, surroundings).configuration()
    except ConfigurationError as error:
        return {"models": [], "problem": {"kind": problem_kind(error), "message": str(error)}}
    result = await _asked(gateway)
    if "problem" in result and result["problem"]["kind"] == "connection":
        other = await _unencrypted(gateway)
        if other is not None:
            result["problem"]["baseUrl"] = other
    return result


async def _asked(gateway: GatewayConfiguration) -> Trial:
    """What the server says when it is asked for its models."""
    from partstream.upstream.detection import open_upstream  # noqa: PLC0415 - with httpx2, which takes 0.1 s

    result: Trial = {"models": []}
    try:
        async with open_upstream(gateway) as upstream:
            if (found := upstream.detected) is not None and found.is_certain:
                result["spoken"] = {"protocol": found.title, "baseUrl": found.shown_url, "reason": found.reason}
            result["models"] = [_tried(model) for model in await _with_details(upstream.models)]
    except (LanguageModelError, ConfigurationError) as error:
        has_no_list = "spoken" in result and isinstance(error, UpstreamHTTPError) and error.http_status in NOT_THERE
        result["problem"] = {"kind": "list" if has_no_list else problem_kind(error), "message": str(error)}
    return result


async def _unencrypted(gateway: GatewayConfiguration) -> str | None:
    """The same address without encryption, if something answers there; on this machine only, for the key's sake."""
    address = urlsplit(gateway.base_url)
    if address.scheme != "https" or not is_loopback(address.hostname or ""):
        return None
    other = urlunsplit(address._replace(scheme="http"))
    with suppress(TimeoutError):
        async with asyncio.timeout(_UNENCRYPTED_SECONDS):
            result = await _asked(replace(gateway, base_url=other))
            return None if "problem" in result and result["problem"]["kind"] == "connection" else other
    return None


async def _with_details(models: ModelList) -> Sequence[OfferedModel]:
    """The models, with the details that arrive in a short time."""
    try:
        async with asyncio.timeout(TRIAL_SECONDS):
            offered = await models.offered()
    except TimeoutError as error:
        raise UpstreamError(f"the server did not list its models within {TRIAL_SECONDS:g} s") from error
    with suppress(TimeoutError):
        async with asyncio.timeout(_DETAILS_SECONDS):
            await models.settle()
            offered = await models.offered()
    return offered


def _tried(model: OfferedModel) -> TriedModel:
    from partstream.upstream.model_information import parse_identity  # noqa: PLC0415 - as above

    record = model.record
    name = model.override.name or record.name or parse_identity(record.id).display_name
    is_usable = record.tool_calling is None or record.tool_calling.value
    return {"id": record.id, "name": name, "details": details(record), "isUsable": is_usable}


def details(record: ModelRecord) -> str:
    """The known facts about a model in a few words: `128K · tools · images · $1 / $2`."""
    from partstream.upstream.model_information import price_words, token_words  # noqa: PLC0415 - as above

    window, tools = record.context_window or record.max_input_tokens, record.tool_calling
    pricing = None if record.pricing is None else record.pricing.value
    pieces = [
        "" if window is None else token_words(window.value),
        "" if tools is None else "tools" if tools.value else "no tools: not in agent mode",
        "images" if record.image_input is not None and record.image_input.value else "",
        "" if pricing is None or pricing.input is None else price_words(pricing),
    ]
    return " · ".join(filter(None, pieces))


# ---- The page of findings ----

_SIGNS: Final[Mapping[str, str]] = {"fine": "✓", "warning": "!", "problem": "✗"}
_BUTTONS: Final = (
    ("copy", "Copy", "The report is in the clipboard."),
    ("again", "Test Again", "The checks run again."),
)
"""The type of the message that a button posts, its label, and the status text when it is pressed."""


def findings_html(name: str, findings: Sequence[examination.Finding], policy: html.ContentPolicy) -> str:
    """The page as one document; `name` is the person's name for what was examined."""
    title = _title(name)
    rows = ""
    for one in findings:
        verdict = one.verdict
        advice = f'<p class="advice"><span class="quiet">What helps:</span> {html.text(one.advice)}</p>'
        rows += (
            f'<li class="{verdict}"><span class="sign" aria-hidden="true">{_SIGNS[verdict]}</span>'
            f'<div><p><span class="unseen">{verdict}: </span><strong>{html.text(one.subject)}</strong>: '
            f"{html.text(one.says)}</p>{advice if one.advice else ''}</div></li>"
        )
    buttons = "".join(
        f'<button type="button" data-message="{message}" data-said="{html.text(said)}">{label}</button>'
        for message, label, said in _BUTTONS
    )
    body = (
        f"<main><h1>{html.text(title)}</h1><p>{html.text(_summary(findings))}</p>"
        f'<ol class="findings">{rows}</ol><p class="buttons">{buttons}</p>'
        '<p class="quiet" id="said" role="status"></p></main>'
    )
    style, script = (html.resource("partstream.vscode", f"findings.{one}") for one in ("css", "js"))
    return html.document(title, body, policy, styles=(style,), scripts=(script,))


def findings_text(name: str, findings: Sequence[examination.Finding]) -> str:
    """The same as Markdown, to be pasted into a report."""
    lines = [f"## {_line(_title(name))}", "", _summary(findings), ""]
    for finding in findings:
        lines.append(f"- {_SIGNS[finding.verdict]} **{_line(finding.subject)}**: {_line(finding.says)}")
        if finding.advice:
            lines.append(f"  What helps: {_line(finding.advice)}")
    return "\n".join([*lines, ""])


def _title(name: str) -> str:
    return f"Connection of {name}"


def _summary(findings: Sequence[examination.Finding]) -> str:
    counts = Counter[str](finding.verdict for finding in findings)
    problems, warnings = (f"{counts[one]} {one}{'' if counts[one] == 1 else 's'}" for one in ("problem", "warning"))
    if counts["problem"]:
        return f"{problems}{f' and {warnings}' if counts['warning'] else ''} found."
    return f"No problem found{f', and {warnings}' if counts['warning'] else ''}."


def _line(words: str) -> str:
    return markdown_text(" ".join(visible(words).split()))
