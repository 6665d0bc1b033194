"""Runs of the kit beside the fixed scenarios: generated conversations, a kept failure, and failures made smaller."""

from __future__ import annotations

import asyncio
import time
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any, Final

from partstream.codec.redaction import Redactor
from partstream.conformance.fuzzing import minimal_failure
from partstream.conformance.generated_results import facts_of_failure, replayed, searched
from partstream.conformance.kept_failures import write_failure
from partstream.devtools.conformance.checks import CONTRACT_VERSION, LATEST
from partstream.devtools.conformance.exercises import JUDGED, exercise_of, perform
from partstream.devtools.conformance.report import Report
from partstream.devtools.conformance.targets import open_target, target_of
from partstream.errors import CallerError

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator, Awaitable, Callable, Mapping
    from pathlib import Path

    from partstream.conformance.fuzzing import FuzzSettings
    from partstream.conformance.generated_results import GeneratedResults
    from partstream.devtools.conformance.driving import Capabilities, TimeLimits
    from partstream.devtools.conformance.report import CheckResult
    from partstream.devtools.conformance.targets import Tested
    from partstream.devtools.conformance.transcript import Transcript

__all__ = ["Opening", "replay", "search", "with_minimal_failures"]

_SHRINK_SECONDS: Final = 10.0
"""The most seconds in all for making failures of fixed scenarios smaller."""


@dataclass(frozen=True, slots=True)
class Opening:
    """How a target is opened.

    Attributes:
        target: A target, or what :func:`partstream.devtools.conformance.run` takes for one.
        capabilities: What it can do, over what it says itself.
        limits: The limits of time.
        requirements: The name of the requirement set that counts.
        protocol: The name of the protocol that it asks its upstream in; None for the default.
        other_protocol: The name of another one, over which it has to bring the same parts; None for none.
    """

    target: object
    capabilities: Capabilities | Mapping[str, Any] | None = None
    limits: TimeLimits | None = None
    requirements: str = LATEST
    protocol: str | None = None
    other_protocol: str | None = None

    async def use(self, use: Callable[[Tested, Tested | None], Awaitable[GeneratedResults]]) -> Report:
        """Opens the target, and reports what `use` makes of it.

        Raises:
            UnusableTargetError: The target cannot be started, or lists no model.
            CallerError: An argument is invalid.
        """
        began, date = time.monotonic(), datetime.now(UTC).isoformat(timespec="seconds")
        async with AsyncExitStack() as stack:
            tested = await stack.enter_async_context(self.opened(self.protocol))
            other = None
            if self.other_protocol is not None:
                other = await stack.enter_async_context(self.opened(self.other_protocol))
                if other.session.upstream is None:
                    raise CallerError(
                        "other_protocol: got a target that asks no server of the kit, expected a sandwich"
                    )
            results = await use(tested, other)
        return Report(
            target=tested.target.description,
            capabilities=tested.capabilities,
            ways=tuple(sorted(way.value for way in tested.target.ways)),
            checks=results.checks,
            transcripts=results.transcripts,
            contract=CONTRACT_VERSION,
            requirements=self.requirements,
            date=date,
            seconds=time.monotonic() - began,
            notes=(results.note,),
        )

    @asynccontextmanager
    async def opened(self, protocol: str | None) -> AsyncGenerator[Tested, None]:
        """Opens the target over a protocol.

        Raises:
            UnusableTargetError: It cannot be started, or lists no model.
        """
        # In a thread: a file may run an event loop of its own when it is loaded.
        target = await asyncio.to_thread(target_of, self.target, protocol)
        if target is self.target and protocol != self.protocol:
            raise CallerError("other_protocol: got a target that is made already, expected a file, a module or a maker")
        async with open_target(target, self.capabilities, self.limits, self.requirements) as tested:
            yield tested


async def search(opening: Opening, settings: FuzzSettings, folder: Path, redactor: Redactor | None = None) -> Report:
    """Looks for broken promises with generated conversations; keeps the smallest failure of each in `folder`.

    Args:
        opening: How the target is opened.
        settings: How long to look, and where.
        folder: The folder of the files.
        redactor: Removes the secrets of the run from the files.

    Raises:
        UnusableTargetError: The target cannot be started.
        CallerError: Hypothesis is not installed, or an argument is invalid.
        OSError: A file cannot be written.
    """
    return await opening.use(lambda tested, other: searched(tested, settings, folder, other=other, redactor=redactor))


async def replay(opening: Opening, path: Path) -> Report:
    """Repeats a kept failure.

    Raises:
        UnusableTargetError: The target cannot be started.
        FailureFileError: The file cannot be read, or holds something else.
    """
    return await opening.use(lambda tested, other: replayed(tested, path, other=other))


async def with_minimal_failures(
    report: Report, opening: Opening, folder: Path, redactor: Redactor | None = None
) -> Report:
    """The report with the first failure of each promise made as small as ten seconds allow, and kept in `folder`.

    What a bare conversation does not show again stays as it is: a scenario can begin with a history or an image.

    Args:
        report: A report of the fixed scenarios.
        opening: How the target is opened once more.
        folder: The folder of the files.
        redactor: Removes the secrets of the run from the files.

    Raises:
        UnusableTargetError: The target cannot be started once more.
        OSError: A file cannot be written.
    """
    first = {check.rule: check for check in reversed(report.checks) if _can_shrink(check, report)}
    if not first:
        return report
    until = time.monotonic() + _SHRINK_SECONDS
    smaller: dict[str, CheckResult] = {}
    transcripts: dict[str, Transcript] = {}
    async with opening.opened(opening.protocol) as tested:
        for check in reversed(first.values()):
            found = await _minimal(tested, report, check, until, folder, redactor or Redactor())
            if found is not None:
                smaller[check.id], transcript = found
                transcripts[smaller[check.id].transcript or ""] = transcript
    checks = tuple(smaller.get(check.id, check) for check in report.checks)
    return replace(report, checks=checks, transcripts={**report.transcripts, **transcripts})


def _can_shrink(check: CheckResult, report: Report) -> bool:
    return check.breaks and check.rule in JUDGED and check.transcript in report.transcripts


async def _minimal(
    tested: Tested, report: Report, check: CheckResult, until: float, folder: Path, redactor: Redactor
) -> tuple[CheckResult, Transcript] | None:
    exercise = exercise_of(report.transcripts[check.transcript or ""])
    if time.monotonic() >= until:
        return None
    exercised = await perform(tested, exercise)
    if check.rule not in exercised.broken:
        return None
    seconds = max(until - time.monotonic(), 0.0)
    failure = await minimal_failure(tested, check.rule, exercise, exercised, seconds=seconds)
    path = write_failure(folder, tested, failure, redactor)
    facts = {**facts_of_failure(tested, failure, path), "transcript": f"minimal-{check.rule}", "hints": check.hints}
    return replace(check, **facts), failure.exercised.transcript
