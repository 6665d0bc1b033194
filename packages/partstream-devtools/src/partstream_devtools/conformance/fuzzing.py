"""Generated conversations: searches for those that break a requirement, makes each find small, and keeps it.

A search is bounded by a number of exercises and by seconds; six tenths of the time go to finding, the rest to making
smaller. Every find is repeated at the end: one that does not break the requirement each time is reported as flaky, with
its numbers. A kept failure is a transcript with the name of the requirement, so that what opens transcripts opens it,
and replaying needs no Hypothesis. The results are checks like those of the fixed scenarios, whose failures are made
smaller in the same way. At the end of a run, the baseline marks expected failures, and secrets leave the report.

:class:`VirtualTimeLoop` is an event loop that does not wait for its own clock. When only a timer can happen next, the
clock jumps to it, so that the pauses of a generated upstream take no time. It keeps real time while a thread outside of
the loop works, because the end of that work is unknown; targets in other processes need a loop of their own.
"""

from __future__ import annotations
import asyncio
import importlib.util
import json
import selectors
import shlex
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from partstream._version import __version__
from partstream.codec.checks import dataclass, field, replace
from partstream.codec.json_codec import loads
from partstream.codec.redaction import Redactor
from partstream.errors import CallerError, to_install
from partstream_devtools.conformance.checks import CONTRACT_VERSION, REQUIREMENTS, Breach
from partstream_devtools.conformance.driver import Provocation
from partstream_devtools.conformance.exercises import GENERATED, JUDGED, Exercise, Exercised, Relation, perform, shrink
from partstream_devtools.conformance.report import Baseline, CheckResult, KitFileError, Report, Verdict
from partstream_devtools.conformance.running import Opening, Results
from partstream_devtools.conformance.scenarios import all_rows, check_ids
from partstream_devtools.conformance.targets import Tested
from partstream_devtools.conformance.transcript import Transcript

if TYPE_CHECKING:
    from concurrent.futures import Executor


# ---- Searching ----

_BATCH: Final = 10
"""The exercises that one seed generates."""
_SEARCH_SHARE: Final = 0.6
"""The share of the time for finding; the rest is for making smaller."""


@dataclass(frozen=True, slots=True)
class FuzzSettings:
    """How long to look, and where.

    Attributes:
        seconds: The most seconds in all.
        examples: The most exercises; None for as many as the time allows.
        seed: The seed of what is generated.
        repetitions: How often the smallest exercise is repeated.
    """

    seconds: float = 30.0
    examples: int | None = 50
    seed: int = 0
    repetitions: int = 3

    def __post_init__(self) -> None:
        if not self.seconds > 0 or (self.examples is not None and self.examples < 1) or self.repetitions < 1:
            raise CallerError(f"fuzzing: got {self}, expected seconds, examples and repetitions above 0")


@dataclass(frozen=True, slots=True)
class Failure:
    """A broken requirement with the smallest exercise that was found to break it.

    `size_before` is the size of the exercise that was found first; `failed` of `repetitions` broke it again.
    """

    requirement: str
    exercise: Exercise
    exercised: Exercised
    size_before: int
    failed: int
    repetitions: int

    @property
    def finding(self) -> Breach:
        """What was found."""
        return self.exercised.broken[self.requirement]

    @property
    def is_flaky(self) -> bool:
        """Whether some repetition kept the requirement."""
        return self.failed < self.repetitions


@dataclass(slots=True)
class Fuzzed:
    """The finds of a search by requirement, how many exercises it tried, and the requirements that these judged."""

    tried: int = 0
    failures: dict[str, Failure] = field(default_factory=dict)
    judged: set[str] = field(default_factory=set)


async def fuzz(tested: Tested, settings: FuzzSettings | None = None, other: Tested | None = None) -> Fuzzed:
    """Looks for broken requirements of a target, as long and where the settings say.

    `other` is the same target over another protocol, which has to bring the same parts.

    Raises:
        CallerError: Hypothesis is not installed.
    """
    chosen = settings or FuzzSettings()
    result = Fuzzed()
    found: dict[str, tuple[Exercise, Exercised]] = {}
    made = _generated(tested, chosen, has_other=other is not None)
    first = next(made)  # before the clock runs: this loads Hypothesis
    began = time.monotonic()
    for exercise in chain([first], made):
        if time.monotonic() - began > chosen.seconds * _SEARCH_SHARE:
            break
        result.tried += 1
        exercised = await perform(tested, exercise, other)
        result.judged |= exercised.judged
        for requirement in exercised.broken:
            kept = found.get(requirement)
            if kept is None or exercise.size < kept[0].size:
                found[requirement] = (exercise, exercised)
    for number, (requirement, (exercise, exercised)) in enumerate(found.items()):
        rest = chosen.seconds - (time.monotonic() - began)
        share = max(rest, 0.0) / (len(found) - number)
        result.failures[requirement] = await minimal_failure(
            tested, requirement, exercise, exercised, seconds=share, repetitions=chosen.repetitions, other=other
        )
    return result


async def minimal_failure(
    tested: Tested,
    requirement: str,
    exercise: Exercise,
    exercised: Exercised,
    *,
    seconds: float,
    repetitions: int = 3,
    other: Tested | None = None,
) -> Failure:
    """Makes a find as small as `seconds` allow, and repeats the smallest exercise; `other` as for :func:`fuzz`."""
    until = time.monotonic() + seconds
    last = exercised

    async def still_fails(candidate: Exercise) -> bool:
        nonlocal last
        shown = await perform(tested, candidate, other)
        if requirement in shown.broken:
            last = shown
        return requirement in shown.broken

    smallest = await shrink(exercise, still_fails, has_time=lambda: time.monotonic() < until)
    failed = 0
    for _ in range(repetitions):
        failed += await still_fails(smallest)
    return Failure(requirement, smallest, last, exercise.size, failed, repetitions)


def check_can_generate() -> None:
    """Looks for what generating needs.

    Raises:
        CallerError: Hypothesis is not installed.
    """
    if importlib.util.find_spec("hypothesis") is None:
        raise CallerError(f"generating needs Hypothesis: {to_install('conformance')}")


def _generated(tested: Tested, settings: FuzzSettings, *, has_other: bool) -> Iterator[Exercise]:
    check_can_generate()
    from partstream_devtools.conformance.generated import exercises, generate  # noqa: PLC0415 - needs an extra

    if tested.way is Provocation.PARSER:
        raise CallerError("a parser has no conversations to generate; the kit cuts its streams at every place anyway")
    is_sandwich = tested.session.upstream is not None
    relations = [Relation.NONE, Relation.AGAIN, *([Relation.CUT] * is_sandwich), *([Relation.OTHER] * has_other)]
    strategy = exercises(plays=tested.way is not Provocation.DIRECTED, faults=is_sandwich, relations=tuple(relations))
    left = settings.examples
    batch = 0
    while left is None or left > 0:
        count = _BATCH if left is None else min(left, _BATCH)
        yield from generate(strategy, count, settings.seed + batch)
        left = None if left is None else left - count
        batch += 1


# ---- Kept failures ----

FOLDER: Final = "conformance-failures"
"""The folder of the files, below the one where the command runs."""


class FailureFileError(KitFileError):
    """A file is no kept failure."""

    _kind = "failure"


def failure_json(tested: Tested, failure: Failure) -> dict[str, Any]:
    """A failure as JSON values."""
    finding = failure.finding
    facts = {
        "kit": __version__,
        "contract": CONTRACT_VERSION,
        "target": tested.target.description.to_json(),
        "promise": failure.requirement,
        "got": finding.detail,
        "answer": finding.answer,
        "index": finding.index,
        "shrunk": {"from": failure.size_before, "to": failure.exercise.size},
        "failed": {"failed": failure.failed, "of": failure.repetitions},
        "relation": failure.exercise.relation.value,
    }
    return failure.exercised.transcript.to_json(**facts)


def write_failure(folder: Path, tested: Tested, failure: Failure, redactor: Redactor) -> Path:
    """Keeps a failure in `folder`, instead of an older one of the same requirement.

    Raises:
        OSError: The file cannot be written.
    """
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / f"{failure.requirement}.json"
    said = redactor.redact_values(failure_json(tested, failure), names=True)
    path.write_text(json.dumps(said, indent=1) + "\n", encoding="utf-8")
    return path


def read_failure(path: Path) -> tuple[str, Exercise]:
    """The requirement that a kept failure is about, and the exercise that breaks it.

    Raises:
        FailureFileError: The file cannot be read, or holds something else.
    """
    with FailureFileError.reading(path):
        value: Mapping[str, Any] = loads(path.read_bytes())
    requirement = value.get("promise") if isinstance(value, dict) else None
    if str(requirement) not in REQUIREMENTS:
        got = f"promise: got {str(requirement)[:80]!r}, expected the id of a promise"
        raise FailureFileError(str(path), got)
    try:
        return str(requirement), Exercise.from_json(value)
    except CallerError as error:
        raise FailureFileError(str(path), str(error)) from error


# ---- Results ----

GENERATED_CHECKS = tuple(f"{requirement}/{GENERATED}" for requirement in JUDGED)
"""The ids of the checks of generated conversations."""

_REPETITIONS = 3


def _result(tested: Tested, failure: Failure, path: Path, *, scenario: str = GENERATED, **facts: Any) -> CheckResult:
    """The result that tells of the smallest failure of a requirement."""
    description = tested.target.description
    words = ["partstream", "conformance", description.name]
    words += ["--parser"] * (tested.way is Provocation.PARSER)
    words += [] if description.protocol is None else ["--protocol", description.protocol]
    words += ["--replay", str(path)]
    finding, before, after = failure.finding, failure.size_before, failure.exercise.size
    return CheckResult.judged(
        failure.requirement,
        scenario,
        [finding],
        **{"transcript": _name(failure.requirement), **facts},
        got=f"{finding.detail} (shrunk from {before} events to {after})" if after < before else finding.detail,
        count=failure.failed,
        minimal=str(path),
        repeat=shlex.join(words),
        flaky={"failed": failure.failed, "of": failure.repetitions} if failure.is_flaky else None,
    )


def _name(requirement: str) -> str:
    return f"{GENERATED}-{requirement}"


# ---- Runs ----

_SHRINK_SECONDS: Final = 10.0
"""The most seconds in all for making failures of fixed scenarios smaller."""


async def search(opening: Opening, settings: FuzzSettings, folder: Path, redactor: Redactor | None = None) -> Report:
    """Looks for broken requirements with generated conversations; keeps the smallest failure of each in `folder`.

    A requirement that nothing broke has passed if some conversation could have broken it, and is not judged otherwise.

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

    async def searched(tested: Tested, other: Tested | None) -> Results:
        began = time.monotonic()
        found = await fuzz(tested, settings, other)
        hides = redactor or Redactor()
        files = {one: write_failure(folder, tested, failure, hides) for one, failure in found.failures.items()}
        facts: dict[str, Any] = {"duration_ms": (time.monotonic() - began) * 1000 / len(JUDGED)}
        silent = "no generated conversation says anything about it"
        checks = tuple(
            _result(tested, found.failures[one], files[one], **facts)
            if one in files
            else CheckResult.of(one, GENERATED, Verdict.PASSED, **facts)
            if one in found.judged
            else CheckResult.of(one, GENERATED, Verdict.NOT_JUDGED, got=silent)
            for one in JUDGED
        )
        transcripts = {_name(one): failure.exercised.transcript for one, failure in found.failures.items()}
        note = f"{found.tried} generated conversations were tried with the seed {settings.seed}."
        return Results(checks, transcripts, note)

    return await opening.use(searched)


async def replay(opening: Opening, path: Path) -> Report:
    """Repeats a kept failure, three times; needs no Hypothesis.

    Raises:
        UnusableTargetError: The target cannot be started.
        FailureFileError: The file cannot be read, or holds something else.
    """
    requirement, exercise = read_failure(path)

    async def replayed(tested: Tested, other: Tested | None) -> Results:
        began, shown = time.monotonic(), [await perform(tested, exercise, other) for _ in range(_REPETITIONS)]
        broken = [one for one in shown if requirement in one.broken]
        facts: dict[str, Any] = {"duration_ms": (time.monotonic() - began) * 1000}
        check = CheckResult.of(requirement, GENERATED, Verdict.PASSED, **facts)
        if broken:
            failure = Failure(requirement, exercise, broken[-1], exercise.size, len(broken), _REPETITIONS)
            check = _result(tested, failure, path, **facts)
        transcripts = {_name(requirement): (broken or shown)[-1].transcript}
        note = f"{path} was repeated {_REPETITIONS} times and broke its promise {len(broken)} times."
        return Results((check,), transcripts, note)

    return await opening.use(replayed)


async def with_minimal_failures(
    report: Report, opening: Opening, folder: Path, redactor: Redactor | None = None
) -> Report:
    """The report with the first failure of each requirement made as small as ten seconds allow, and kept in `folder`.

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
    first = {
        check.rule: check
        for check in reversed(report.checks)
        if check.breaks and check.rule in JUDGED and check.transcript in report.transcripts
    }
    if not first:
        return report
    until = time.monotonic() + _SHRINK_SECONDS
    smaller: dict[str, CheckResult] = {}
    transcripts: dict[str, Transcript] = {}
    async with opening.opened(opening.protocol) as tested:
        for check in reversed(first.values()):
            shown = report.transcripts[check.transcript or ""]
            exercise = Exercise(shown.actions, shown.script, shown.prompt)
            if time.monotonic() >= until:
                break
            exercised = await perform(tested, exercise)
            if check.rule in exercised.broken:
                seconds = max(until - time.monotonic(), 0.0)
                failure = await minimal_failure(tested, check.rule, exercise, exercised, seconds=seconds)
                path = write_failure(folder, tested, failure, redactor or Redactor())
                kept: dict[str, Any] = {"scored": check.scored, "duration_ms": check.duration_ms}
                kept |= {"scenario": check.scenario, "transcript": f"minimal-{check.rule}"}
                smaller[check.id] = _result(tested, failure, path, **kept)
                transcripts[kept["transcript"]] = failure.exercised.transcript
    checks = tuple(smaller.get(check.id, check) for check in report.checks)
    return replace(report, checks=checks, transcripts={**report.transcripts, **transcripts})


# ---- The end of a run ----


def all_checks() -> Mapping[str, tuple[str, ...]]:
    """The ids of all checks by scenario, with those of generated conversations."""
    return {**check_ids(all_rows()), GENERATED: GENERATED_CHECKS}


def with_generated(report: Report, generated: Report) -> Report:
    """The report of the fixed scenarios with the results of generated conversations after its own."""
    return replace(
        report,
        checks=(*report.checks, *generated.checks),
        transcripts={**report.transcripts, **generated.transcripts},
        notes=(*report.notes, *generated.notes),
        seconds=report.seconds + generated.seconds,
    )


def with_baseline(report: Report, baseline: Baseline) -> Report:
    """The report with what the baseline expects marked, and with the entries that are stale."""
    checks = tuple(map(baseline.apply, report.checks))
    stale = tuple(one.reason for one in baseline.stale(report.checks, all_checks()))
    return replace(report, checks=checks, stale=stale)


def without_secrets(report: Report, redactor: Redactor) -> Report:
    """The report without secrets, for people and as JSON."""
    description = report.target
    return replace(
        report,
        target=replace(description, name=redactor.redact(description.name)),
        checks=tuple(
            replace(check, got=redactor.redact(check.got), repeat=redactor.redact(check.repeat))
            for check in report.checks
        ),
        notes=tuple(map(redactor.redact, report.notes)),
        environment={name: redactor.redact(value) for name, value in report.environment.items()},
        redactor=redactor,
    )


# ---- Virtual time ----

_QUIET_SECONDS: Final = 0.002
"""The silence before the clock jumps: what was sent on loopback is there by then."""
_OF_EXECUTORS: Final = ("asyncio_", "ThreadPoolExecutor")
"""The names of threads that idle after their work."""


class _Selector(selectors.DefaultSelector):
    """Waits for sockets, and instead of waiting for a timer has the clock jump, if it may."""

    def __init__(self, may_jump: Callable[[], bool], jump: Callable[[float], None]) -> None:
        super().__init__()
        self._may_jump = may_jump
        self._jump = jump

    def select(self, timeout: float | None = None) -> Any:
        """What is ready."""
        if timeout is None or timeout <= _QUIET_SECONDS:
            return super().select(timeout)
        # Asked before it looks: a thread that ends its work in between has woken the loop by then.
        may_jump = self._may_jump()
        found = super().select(_QUIET_SECONDS)
        if found:
            return found
        if not may_jump:
            return super().select(timeout - _QUIET_SECONDS)
        self._jump(timeout - _QUIET_SECONDS)
        return found


class VirtualTimeLoop(asyncio.SelectorEventLoop):
    """A loop whose clock jumps over pauses, `skipped` seconds in all:
    `asyncio.Runner(loop_factory=VirtualTimeLoop)`.
    """

    def __init__(self) -> None:
        self.skipped = 0.0
        self._jobs = 0
        self._threads = frozenset(threading.enumerate())
        super().__init__(_Selector(self._may_skip, self._skip))

    def time(self) -> float:
        """The time of this loop: it goes on by itself, and jumps."""
        return super().time() + self.skipped

    def run_in_executor(self, executor: Executor | None, func: Callable[..., Any], *args: Any) -> asyncio.Future[Any]:  # type: ignore[override]
        """Runs a function in a thread; the clock does not jump meanwhile."""
        future = super().run_in_executor(executor, func, *args)
        self._jobs += 1
        future.add_done_callback(self._end_job)
        return future

    def _end_job(self, _: asyncio.Future[Any]) -> None:
        self._jobs -= 1

    def _may_skip(self) -> bool:
        return not self._jobs and not any(
            thread not in self._threads and not thread.name.startswith(_OF_EXECUTORS)
            for thread in threading.enumerate()
        )

    def _skip(self, seconds: float) -> None:
        self.skipped += seconds
