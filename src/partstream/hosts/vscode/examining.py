"""Finds out what keeps a model from answering: the checks of `partstream doctor`, for a person before an editor."""

from __future__ import annotations

import asyncio
from dataclasses import asdict
from typing import TYPE_CHECKING, Any, Final, cast

from partstream.config.examination import (
    Advice,
    CheckStatus,
    Finding,
    HarnessFacts,
    examine,
    examine_loaded,
    finding_on_harness,
    finding_on_load,
)
from partstream.settings.kinds import ConfigurationError
from partstream.vscode.failures import ProviderFailedError
from partstream.vscode.gateway import GatewayLoader
from partstream.vscode.pages.usage import findings_text

if TYPE_CHECKING:
    from collections.abc import Awaitable, Mapping, Sequence

    from partstream.vscode import rpc_types as wire
    from partstream.vscode.gateway import GatewaySurroundings
    from partstream.vscode.hosted import HostedProvider

__all__ = ["EXAMINATION_SECONDS", "IN_THE_EDITOR", "examine_hosted", "examine_server", "result_of"]

EXAMINATION_SECONDS: Final = 120.0
"""The most seconds for all checks: each has a limit of its own, but a person's own code may add anything."""

_AT_THE_GEAR: Final = "choose Update API Key at the gear of this group, in Partstream: Manage Models"
IN_THE_EDITOR: Final = Advice(
    no_server="set `baseUrl` of this group: Partstream: Edit Groups as JSON opens the file",
    no_key=f"no key was sent: {_AT_THE_GEAR}",
    another_key=f"If not, {_AT_THE_GEAR}",
    perhaps_a_key=f"no key was sent; if the server wants one: {_AT_THE_GEAR}",
    no_model="name one in `models` of this group: Partstream: Edit Groups as JSON opens the file",
    other_model="the model picker shows what it lists now",
    not_asked="no model was asked for an answer",
    fault="this is a fault of Partstream; Partstream: Show Log shows more at the level Debug",
)


async def examine_server(
    configuration: Mapping[str, Any], surroundings: GatewaySurroundings, model_id: str | None
) -> list[Finding]:
    """Examines the model server of a group.

    Args:
        configuration: The keys and values of the group.
        surroundings: The other things that a gateway needs; learns every key before its first use.
        model_id: The model that is asked for a short answer, which may cost something; None asks none.
    """
    values = dict(configuration) if model_id is None else {**configuration, "defaultModel": model_id}
    try:
        settings = GatewayLoader(values, surroundings).settings()
    except ConfigurationError as error:
        return [Finding("settings", CheckStatus.PROBLEM, str(error))]
    return await examine(settings, asks=model_id is not None, advice=IN_THE_EDITOR, on_key=surroundings.learn)


async def examine_hosted(hosted: HostedProvider, model_id: str | None) -> list[Finding]:
    """Examines a person's own provider as it is loaded here; one that could not be loaded is loaded once more.

    Args:
        hosted: The provider.
        model_id: The model that is asked one short question, which may cost something; None asks none.
    """
    try:
        generation = await hosted.current(retry=True)
    except ProviderFailedError as failure:
        return [finding_on_load(failure.error, hosted.file)]
    kind = type(generation.provider).__name__
    loaded = Finding("provider", CheckStatus.FINE, f"{hosted.name} was loaded; its provider is of type {kind}")
    if hosted.failure is not None:
        broken = finding_on_load(hosted.failure.error, hosted.file)
        loaded = Finding("provider", broken.verdict, f"{broken.says}; the version before still answers", broken.advice)
    async with hosted.using(generation):
        asks = model_id is not None
        found = await examine_loaded(generation.provider, hosted.name, model_id, asks=asks, advice=IN_THE_EDITOR)
    return [loaded, *found]


async def result_of(
    name: str, examined: Awaitable[Sequence[Finding]], harness: wire.HarnessSettings | None = None
) -> wire.ExamineResult:
    """What was found, for the wire; at most after :data:`EXAMINATION_SECONDS`.

    Args:
        name: How the person calls what is examined.
        examined: The checks.
        harness: What the window says of VS Code's Copilot harness; None where there is none.
    """
    try:
        async with asyncio.timeout(EXAMINATION_SECONDS):
            findings = await examined
    except TimeoutError:
        findings = [Finding("checks", CheckStatus.PROBLEM, f"they did not end within {EXAMINATION_SECONDS:g} s")]
    if harness is not None:
        facts = HarnessFacts(harness["isRemote"], harness["listsModels"], harness["allowsSignedOut"])
        findings = [*findings, finding_on_harness(facts)]
    shown = cast("list[wire.ShownFinding]", [asdict(finding) for finding in findings])
    return {"findings": shown, "report": findings_text(name, shown)}
