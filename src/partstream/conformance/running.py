"""Runs the kit against a target: opens it, has its conversations, judges them, and makes the report."""

from __future__ import annotations

import asyncio
import platform
import time
from contextlib import suppress
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any, Final

from partstream._version import __version__
from partstream.conformance.scenario_results import ScenarioResults
from partstream.devtools.conformance.checks import (
    CONTRACT_VERSION,
    LATEST,
    NotJudged,
    Probe,
    Scenario,
    unfit_for_parsers,
)
from partstream.devtools.conformance.driving import (
    Capability,
    Provocation,
    UnusableTargetError,
    drive,
    upstream_replies,
)
from partstream.devtools.conformance.report import Blame, CheckResult, Report, Verdict
from partstream.devtools.conformance.scenarios import any_script, rows_of, selected
from partstream.devtools.conformance.targets import ProviderTarget, open_target, target_of
from partstream.devtools.conformance.transcript import Transcript, TranscriptEventKind

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Mapping, Sequence

    from partstream.devtools.conformance.driving import Capabilities, TimeLimits
    from partstream.devtools.conformance.targets import Tested

__all__ = ["run", "run_scenario"]

_TRIES: Final = 3
"""How often a target that is told by the prompt alone is asked before a scenario counts as untestable."""
_UPSTREAM_SHARE: Final = 0.2
"""How long the kit waits for the scripted upstream to see that the target has left, as a share of the limit."""


@dataclass(slots=True)
class _Run:
    """What a run has found so far."""

    checks: list[CheckResult] = field(default_factory=list)
    transcripts: dict[str, Transcript] = field(default_factory=dict)


async def run(
    target: object,
    *,
    select: Collection[str] = (),
    section: str | None = None,
    capabilities: Capabilities | Mapping[str, Any] | None = None,
    limits: TimeLimits | None = None,
    requirements: str = LATEST,
    protocol: str | None = None,
    on_open: Callable[[Tested], object] | None = None,
    on_scenario: Callable[[str, Sequence[CheckResult]], object] | None = None,
) -> Report:
    """Tests a target with the fixed scenarios.

    Args:
        target: A target, a source of a provider (`file.py`, `module:attribute`), a provider, a function that makes
            one of `upstream` (a base URL) or of `script`, or a parser, known by a first parameter named `data` or
            `chunks` or annotated with bytes.
        select: Prefixes of the checks and scenarios to run; all without one.
        section: The section of the document whose promises are judged, such as `3` or `3.2`; all without one.
        capabilities: What the target can do, over what it says itself.
        limits: The limits of time.
        requirements: The name of the requirement set that counts.
        protocol: The name of the protocol that a target asks its upstream in, None for the default; that a parser
            reads.
        on_open: Called with the target when it runs, before it is asked anything.
        on_scenario: Called with the slug and the results of each scenario as it ends.

    Raises:
        UnusableTargetError: The target cannot be started, or lists no model.
        CallerError: A selection fits no check, or another argument is invalid.
    """
    began, date = time.monotonic(), datetime.now(UTC).isoformat(timespec="seconds")
    # In a thread: a file may run an event loop of its own when it is loaded.
    found = await asyncio.to_thread(target_of, target, protocol)
    if protocol is not None and isinstance(found, ProviderTarget) and Provocation.SANDWICH not in found.ways:
        got = f"got the protocol {protocol}, expected none"
        raise UnusableTargetError(found.description.name, f"{got}: it is no function of the parameter `upstream`")
    wanted = selected(select, section, rows_of(found))
    run = _Run()
    async with open_target(found, capabilities, limits, requirements) as tested:
        if on_open is not None:
            on_open(tested)
        for slug, ids in wanted.items():
            results, transcripts = await run_scenario(tested, slug, ids)
            run.checks += results
            run.transcripts.update(transcripts)
            if on_scenario is not None:
                on_scenario(slug, results)
        note = tested.session.note
        return Report(
            target=found.description,
            capabilities=tested.capabilities,
            ways=tuple(sorted(way.value for way in found.ways)),
            checks=tuple(run.checks),
            transcripts=run.transcripts,
            contract=CONTRACT_VERSION,
            requirements=requirements,
            environment=_environment(),
            date=date,
            seconds=time.monotonic() - began,
            notes=(note,) if note else (),
        )


# ---- one scenario ----


async def run_scenario(
    tested: Tested, slug: str, ids: Sequence[str]
) -> tuple[list[CheckResult], dict[str, Transcript]]:
    """Runs one scenario and judges it.

    Args:
        tested: The target.
        slug: The scenario.
        ids: The ids of the checks to judge.

    Returns:
        The results, and the transcripts by name.
    """
    row, began = rows_of(tested.target)[slug], time.monotonic()
    judge = ScenarioResults(tested, slug, ids)
    try:
        if unfit := _unfit(row, tested):
            return judge.all(*unfit), {}
        if isinstance(row, Probe):
            found = await row.ask(tested.session.provider(any_script()), tested.model, tested.limits.answer_seconds)
            return judge.of_findings(found, _ms(began)), {}
        transcripts, unprovoked = await _conversations(tested, row)
        named = {slug if place == 0 else f"{slug}-{place + 1}": one for place, one in enumerate(transcripts)}
        if unprovoked:
            has_promised = tested.has_promised(row.needs)
            return judge.unprovoked(transcripts, unprovoked, _ms(began), has_promised=has_promised), named
        return judge.of_transcripts(transcripts, _ms(began)), named
    except UnusableTargetError:
        raise
    except NotJudged as reason:
        return judge.all(Verdict.NOT_JUDGED, str(reason)), {}
    except Exception as error:  # a bug of the kit must not look like one of the target
        return judge.all(Verdict.ERROR, f"the kit failed: {error!r}", Blame.KIT), {}


def _unfit(row: Scenario | Probe, tested: Tested) -> tuple[Verdict, str] | None:
    """The verdict without asking the target, and why; None where it is asked."""
    if tested.way is Provocation.PARSER and (reason := unfit_for_parsers(row)):
        return Verdict.NOT_JUDGED, reason
    return None if isinstance(row, Probe) else _not_applicable(row, tested) or _not_drivable(row, tested)


def _not_applicable(row: Scenario, tested: Tested) -> tuple[Verdict, str] | None:
    missing = [one.value for one in row.needs if not tested.capabilities.has(one)]
    return (Verdict.NOT_APPLICABLE, f"not declared: {', '.join(sorted(missing))}") if missing else None


def _not_drivable(row: Scenario, tested: Tested) -> tuple[Verdict, str] | None:
    if tested.way is Provocation.PARSER or tested.way in row.ways or row.slug in tested.capabilities.prompts:
        return None
    # What the prompt cannot bring about, another kind of target can: docs/conformance-kit.md, "What can be tested".
    ways = " or ".join(said for way, said in _TARGETS.items() if way in row.ways)
    return Verdict.NOT_JUDGED, f"no prompt brings this about; name {ways}"


_TARGETS: Final = {
    Provocation.SANDWICH: "a function `make(upstream)` that returns the provider, FILE:make; the kit is its server",
    Provocation.SCRIPTED: "a file with `conformance(script)`",
}
"""What has to be tested for a scenario that needs a certain way."""


async def _conversations(tested: Tested, row: Scenario) -> tuple[list[Transcript], str]:
    """The conversations of a scenario, and why they do not show what it is about; empty if they do."""
    unprovoked, transcripts = "", []
    is_probable = tested.way is Provocation.DIRECTED and tested.has_promised(row.needs)
    for _ in range(_TRIES if is_probable else 1):
        transcripts = await _together(tested, row)
        unprovoked = _unprovoked(tested, row, transcripts)
        # What does not end would take the whole limit of time again.
        if not unprovoked or any(
            one.has(TranscriptEventKind.UNFINISHED) for each in transcripts for one in each.answers
        ):
            break
    return transcripts, unprovoked


def _unprovoked(tested: Tested, row: Scenario, transcripts: Sequence[Transcript]) -> str:
    """Why the conversations do not show what the scenario is about; empty if they do.

    A target that plays a script is judged by the script: what it leaves out is its own fault. Only thinking may be left
    out, unless the target itself has declared it.
    """
    has_declared = Capability.THINKING in row.needs and tested.promised.has(Capability.THINKING)
    if tested.way is Provocation.DIRECTED or has_declared:
        return next(filter(None, (row.provoked(transcript.answers) for transcript in transcripts)), "")
    if tested.way is Provocation.SANDWICH and not transcripts[0].upstream and row.asks_upstream:
        return "the target asked the model server behind it nothing"
    return ""


async def _together(tested: Tested, row: Scenario) -> list[Transcript]:
    session, upstream, began = tested.session, tested.session.upstream, time.monotonic()
    provider = session.provider(row.script)
    before = 0 if upstream is None or not upstream.requests else upstream.requests[-1].number
    script = None if tested.way is Provocation.DIRECTED else row.script
    prompts = [_prompt(tested, row, number) for number in range(row.copies)]
    transcripts = [Transcript(row.slug, row.moves, script, prompt) for prompt in prompts]

    async def one(transcript: Transcript) -> None:
        request = replace(row.request, prompt=transcript.prompt)
        transcript.answers = await drive(provider, tested.model, request, row.moves, tested.limits, upstream)

    await asyncio.gather(*map(one, transcripts))
    if upstream is not None:
        # A target that leaves is seen a moment later; one that does not is what a check is there to find.
        with suppress(TimeoutError):
            await upstream.until(lambda: upstream.open_streams == 0, _UPSTREAM_SHARE * tested.limits.answer_seconds)
        transcripts[0].upstream = upstream_replies(upstream, before, began)
    return transcripts


def _prompt(tested: Tested, row: Scenario, number: int) -> str:
    prompt = tested.capabilities.prompts.get(row.slug)
    if prompt is None:
        prompt = row.request.prompt
        if tested.way is Provocation.DIRECTED and row.directive:
            prompt = f"{prompt} ({row.directive})"
    return f"{prompt} mark-{number:03}-{row.slug}" if row.copies > 1 else prompt


def _ms(began: float) -> float:
    return (time.monotonic() - began) * 1000


def _environment() -> dict[str, str]:
    return {
        "python": platform.python_version(),
        "system": platform.system(),
        "machine": platform.machine(),
        "partstream": __version__,
    }
