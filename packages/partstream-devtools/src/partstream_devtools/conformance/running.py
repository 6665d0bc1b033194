"""Runs the kit against a target: opens it, has its conversations, judges them, and makes the report.

A scenario runs in this order: what the target does not declare, or what its prompt cannot bring about, is not asked;
its conversations are had, together where it has several; then :class:`ScenarioResults` turns the judgement into
results. A target that only gets the prompt is asked up to three times, because its model may answer otherwise.
One fault is one failure: where a target does not show what a scenario is about, its other checks are not judged. A bug
of the kit is an error of the kit, never a failure of the target.

The end of the module tests a target with recorded exchanges: the kit is its model server and sends what a real one has
sent. What the model was to say is unknown then, so that only the requirements of :data:`_JUDGED` are judged.
"""

from __future__ import annotations
import asyncio
import platform
import shlex
import time
from collections.abc import Callable, Collection, Mapping, Sequence
from contextlib import suppress
from datetime import UTC, datetime
from itertools import groupby
from operator import attrgetter
from typing import Any, Final

from partstream._version import __version__
from partstream.codec.checks import replace
from partstream.codec.text import counted
from partstream.errors import CallerError
from partstream.lm.contract import RULES, Level, Rule
from partstream.lm.messages import Tool
from partstream.lm.outputs import Finish
from partstream.upstream.context import run_in_thread
from partstream_devtools.bundles.exchange import RecordedExchange
from partstream_devtools.bundles.recorded import asked_of, content_of, recorded_outputs
from partstream_devtools.conformance import checks as rules
from partstream_devtools.conformance import driver
from partstream_devtools.conformance.exercises import hint_of, judged_requirements, requirement_of
from partstream_devtools.conformance.fuzzing import GeneratedResults, Opening
from partstream_devtools.conformance.report import Blame, CheckResult, Report, Verdict, facts_of
from partstream_devtools.conformance.scenarios import any_script, check_ids, rows_of, selected
from partstream_devtools.conformance.scripts import Action
from partstream_devtools.conformance.targets import ProviderTarget, Tested, open_target, target_of
from partstream_devtools.conformance.transcript import Transcript, TranscriptEventKind
from partstream_devtools.recorded_stream import RecordingError

# ---- Results of a scenario ----


class ScenarioResults:
    """Makes the results of one scenario."""

    def __init__(self, tested: Tested, slug: str, ids: Sequence[str]) -> None:
        self._tested = tested
        self._slug = slug
        self._ids = ids

    def all(self, verdict: Verdict, got: str, blame: Blame | None = None) -> list[CheckResult]:
        """The same verdict for every check."""
        return [self._result(one, verdict, got=got, blame=blame) for one in self._ids]

    def unprovoked(
        self, transcripts: Sequence[Transcript], why: str, milliseconds: float, *, has_declared: bool
    ) -> list[CheckResult]:
        """The results where the target did not show what the scenario is about: what it broke counts all the same.

        `has_declared` is whether the target has declared what it did not show.
        """
        results = self.of_transcripts(transcripts, milliseconds)
        error = next((answer.error for one in transcripts for answer in one.answers if answer.error is not None), None)
        got = why if error is None else f"{why}: the answer was rejected with {error!r}"
        # One fault is one failure: the other checks of the scenario have nothing to judge because of it.
        is_told = any(one.verdict is Verdict.FAILED for one in results) or not has_declared
        of = Blame.ENVIRONMENT if self._tested.way is driver.Provocation.DIRECTED else Blame.TARGET
        verdict, blame = (Verdict.NOT_JUDGED, None) if is_told else (Verdict.UNTESTABLE, of)
        return [
            one
            if one.verdict in {Verdict.FAILED, Verdict.WARNING}
            else replace(one, verdict=verdict, got=got, blame=blame, transcript=self._slug)
            for one in results
        ]

    def of_findings(self, found: Mapping[str, list[rules.Breach]], milliseconds: float) -> list[CheckResult]:
        """The results of a probe."""
        return [self._judged(one, found.get(one.partition("/")[0], []), milliseconds, None) for one in self._ids]

    def of_transcripts(self, transcripts: Sequence[Transcript], milliseconds: float) -> list[CheckResult]:
        """The results of conversations, with the rules that were broken beside those of the scenario."""
        namespace = self._tested.capabilities.call_id_namespace
        judged = [rules.judge_transcript(one, namespace) for one in transcripts]
        case = rules.Case(transcripts, judged, self._tested.capabilities, self._tested.way)
        broken = {rule.id for answers in judged for answer in answers for rule, _ in answer.broken}
        others = [f"{one}/{self._slug}" for one in RULES if one in broken and f"{one}/{self._slug}" not in self._ids]
        is_whole = set(check_ids()[self._slug]) == set(self._ids)
        return [self._of(one, case, milliseconds) for one in (*self._ids, *(others if is_whole else ()))]

    def _of(self, check_id: str, case: rules.Case, milliseconds: float) -> CheckResult:
        try:
            findings = rules.check(check_id.partition("/")[0], case)
        except rules.NotJudged as reason:
            return self._result(check_id, Verdict.NOT_JUDGED, got=str(reason), duration_ms=milliseconds)
        return self._judged(check_id, findings, milliseconds, self._slug)

    def _judged(
        self, check_id: str, findings: Sequence[rules.Breach], milliseconds: float, transcript: str | None
    ) -> CheckResult:
        if not findings:
            return self._result(check_id, Verdict.PASSED, duration_ms=milliseconds, transcript=transcript)
        first = findings[0]
        requirement = rules.REQUIREMENTS[check_id.partition("/")[0]]
        verdict = Verdict.FAILED if requirement.level is Level.MUST else Verdict.WARNING
        if first.is_environment:
            verdict = Verdict.UNTESTABLE
        return self._result(
            check_id,
            verdict,
            duration_ms=milliseconds,
            transcript=transcript,
            **facts_of(first, len(findings)),
        )

    def _result(self, check_id: str, verdict: Verdict, **facts: Any) -> CheckResult:
        rule = check_id.partition("/")[0]
        has_failed = verdict in {Verdict.FAILED, Verdict.WARNING}
        return CheckResult.of(
            rules.REQUIREMENTS[rule],
            self._slug,
            verdict,
            scored=check_id in self._tested.scored or (rule in RULES and check_id not in self._ids),
            hints=rules.HINTS[rule].causes if has_failed and rule in rules.HINTS else (),
            repeat=f"partstream conformance {self._tested.target.description.name} {check_id}",
            **facts,
        )


# ---- A run ----

_TRIES: Final = 3
"""The requests to a target that only gets the prompt before a scenario counts as untestable."""
_UPSTREAM_SHARE: Final = 0.2
"""How long the kit waits for the scripted upstream to see that the target has left, as a share of the limit."""


async def run(
    target: object,
    *,
    select: Collection[str] = (),
    section: str | None = None,
    capabilities: driver.Capabilities | Mapping[str, Any] | None = None,
    limits: driver.TimeLimits | None = None,
    requirements: str = rules.LATEST,
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
        section: The section of the document whose requirements are judged, such as `3` or `3.2`; all without one.
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
    found = await run_in_thread(lambda: target_of(target, protocol), "partstream-load")
    if protocol is not None and isinstance(found, ProviderTarget) and driver.Provocation.SANDWICH not in found.ways:
        got = f"got the protocol {protocol}, expected none"
        raise driver.UnusableTargetError(
            found.description.name, f"{got}: it is no function of the parameter `upstream`"
        )
    wanted = selected(select, section, rows_of(found))
    checks: list[CheckResult] = []
    transcripts: dict[str, Transcript] = {}
    async with open_target(found, capabilities, limits, requirements) as tested:
        if on_open is not None:
            on_open(tested)
        for slug, ids in wanted.items():
            results, named = await run_scenario(tested, slug, ids)
            checks += results
            transcripts.update(named)
            if on_scenario is not None:
                on_scenario(slug, results)
        note = tested.session.note
        return Report(
            target=found.description,
            capabilities=tested.capabilities,
            ways=tuple(sorted(way.value for way in found.ways)),
            checks=tuple(checks),
            transcripts=transcripts,
            contract=rules.CONTRACT_VERSION,
            requirements=requirements,
            environment={
                "python": platform.python_version(),
                "system": platform.system(),
                "machine": platform.machine(),
                "partstream": __version__,
            },
            date=date,
            seconds=time.monotonic() - began,
            notes=(note,) if note else (),
        )


# ---- A scenario ----


async def run_scenario(
    tested: Tested, slug: str, ids: Sequence[str]
) -> tuple[list[CheckResult], dict[str, Transcript]]:
    """Runs one scenario and judges the checks with these ids; returns the results, and the transcripts by name."""
    row, began = rows_of(tested.target)[slug], time.monotonic()
    judge = ScenarioResults(tested, slug, ids)
    try:
        if unfit := _unfit(row, tested):
            return judge.all(*unfit), {}
        if isinstance(row, rules.Probe):
            found = await row.ask(tested.session.provider(any_script()), tested.model, tested.limits.answer_seconds)
            return judge.of_findings(found, _ms(began)), {}
        transcripts, unprovoked = await _conversations(tested, row)
        named = {slug if place == 0 else f"{slug}-{place + 1}": one for place, one in enumerate(transcripts)}
        if unprovoked:
            has_declared = tested.has_declared(row.needs)
            return judge.unprovoked(transcripts, unprovoked, _ms(began), has_declared=has_declared), named
        return judge.of_transcripts(transcripts, _ms(began)), named
    except driver.UnusableTargetError:
        raise
    except rules.NotJudged as reason:
        return judge.all(Verdict.NOT_JUDGED, str(reason)), {}
    except Exception as error:  # a bug of the kit must not look like one of the target
        return judge.all(Verdict.ERROR, f"the kit failed: {error!r}", Blame.KIT), {}


_TARGETS: Final = {
    driver.Provocation.SANDWICH: "a function `make(upstream)` that returns the provider, FILE:make; the kit is its "
    "server",
    driver.Provocation.SCRIPTED: "a file with `conformance(script)`",
}
"""What has to be tested for a scenario that needs a certain way."""


def _unfit(row: rules.Scenario | rules.Probe, tested: Tested) -> tuple[Verdict, str] | None:
    """The verdict without asking the target, and why; None where it is asked."""
    if tested.way is driver.Provocation.PARSER and (reason := rules.unfit_for_parsers(row)):
        return Verdict.NOT_JUDGED, reason
    if isinstance(row, rules.Probe):
        return None
    if missing := sorted(one for one in row.needs if not tested.capabilities.has(one)):
        return Verdict.NOT_APPLICABLE, f"not declared: {', '.join(missing)}"
    if tested.way is driver.Provocation.PARSER or tested.way in row.ways or row.slug in tested.capabilities.prompts:
        return None
    # Another kind of target provokes what the prompt cannot: docs/maintainers/conformance-kit.md, "What can be tested".
    ways = " or ".join(said for way, said in _TARGETS.items() if way in row.ways)
    return Verdict.NOT_JUDGED, f"no prompt brings this about; name {ways}"


async def _conversations(tested: Tested, row: rules.Scenario) -> tuple[list[Transcript], str]:
    """The conversations of a scenario, and why they do not show what it is about; empty if they do."""
    unprovoked, transcripts = "", []
    is_probable = tested.way is driver.Provocation.DIRECTED and tested.has_declared(row.needs)
    for _ in range(_TRIES if is_probable else 1):
        transcripts = await _together(tested, row)
        unprovoked = _unprovoked(tested, row, transcripts)
        # What does not end would take the whole limit of time again.
        if not unprovoked or any(
            one.has(TranscriptEventKind.UNFINISHED) for each in transcripts for one in each.answers
        ):
            break
    return transcripts, unprovoked


def _unprovoked(tested: Tested, row: rules.Scenario, transcripts: Sequence[Transcript]) -> str:
    """Why the conversations do not show what the scenario is about; empty if they do.

    A target that plays a script is judged by the script: what it leaves out is its own fault. Only thinking may be left
    out, unless the target itself has declared it.
    """
    has_declared = "thinking" in row.needs and tested.declared.has("thinking")
    if tested.way is driver.Provocation.DIRECTED or has_declared:
        return next(filter(None, (row.provoked(transcript.answers) for transcript in transcripts)), "")
    if tested.way is driver.Provocation.SANDWICH and not transcripts[0].upstream and row.asks_upstream:
        return "the target sent no request to its model server"
    return ""


async def _together(tested: Tested, row: rules.Scenario) -> list[Transcript]:
    session, upstream, began = tested.session, tested.session.upstream, time.monotonic()
    provider = session.provider(row.script)
    before = driver.last_number(upstream)
    script = None if tested.way is driver.Provocation.DIRECTED else row.script
    prompts = [_prompt(tested, row, number) for number in range(row.copies)]
    transcripts = [Transcript(row.slug, row.actions, script, prompt) for prompt in prompts]

    async def one(transcript: Transcript) -> None:
        request = replace(row.request, prompt=transcript.prompt)
        transcript.answers = await driver.drive(provider, tested.model, request, row.actions, tested.limits, upstream)

    await asyncio.gather(*map(one, transcripts))
    if upstream is not None:
        # A target that leaves is seen a moment later; one that does not is what a check is there to find.
        with suppress(TimeoutError):
            await upstream.until(lambda: upstream.open_streams == 0, _UPSTREAM_SHARE * tested.limits.answer_seconds)
        transcripts[0].upstream = driver.upstream_replies(upstream, before, began)
    return transcripts


def _prompt(tested: Tested, row: rules.Scenario, number: int) -> str:
    prompt = tested.capabilities.prompts.get(row.slug)
    if prompt is None:
        prompt = row.request.prompt
        if tested.way is driver.Provocation.DIRECTED and row.directive:
            prompt = f"{prompt} ({row.directive})"
    return f"{prompt} mark-{number:03}-{row.slug}" if row.copies > 1 else prompt


def _ms(began: float) -> float:
    return (time.monotonic() - began) * 1000


# ---- A run with recorded exchanges ----

RECORDED: Final = "recorded"
"""The slug of the scenario of recorded exchanges."""

_JUDGED: Final = (*RULES, "stream.ends", "stream.resolves", "failure.rejects")
"""The requirements that an answer can break when the words of the model are unknown."""
_PROMPT: Final = "Go on."
_NO_SERVER: Final = (
    "--replay: got a target that does not ask the kit's model server, expected one whose base URL the kit can set; "
    "`partstream check FILE` judges the recording itself"
)


async def replay_exchanges(opening: Opening, exchanges: Sequence[RecordedExchange], file: str, pace: float) -> Report:
    """Has a target answer once for each recorded answer, with its exchanges as what the model server sends.

    The exchanges of one answer have one number of the answer. `file` is what the recording is called; `pace` is how
    many times as fast as they were recorded, 0 for at once.

    Raises:
        UnusableTargetError: The target cannot be started.
        CallerError: It does not ask the kit's model server.
    """
    return await opening.use(lambda tested, _: _replayed(tested, exchanges, file, pace))


async def _replayed(tested: Tested, exchanges: Sequence[RecordedExchange], file: str, pace: float) -> GeneratedResults:
    upstream, began = tested.session.upstream, time.monotonic()
    if upstream is None:
        raise CallerError(_NO_SERVER)
    provider = tested.session.provider(None)
    answers = [tuple(group) for _, group in groupby(exchanges, attrgetter("answer"))]
    transcript = Transcript(RECORDED, (Action("send"),) * len(answers), None, _PROMPT)
    for group in answers:
        upstream.replay(group, pace)
        request = driver.Request(_PROMPT, tools=_tools_of(group, tested))
        transcript.answers += await driver.drive(
            provider, tested.model, request, (Action("send"),), tested.limits, upstream
        )
    upstream.replay(None)
    transcript.upstream = driver.upstream_replies(upstream, 0, began)
    findings = {**judged_requirements(tested, transcript), **_compare_ends(transcript, answers, file)}
    repeat = shlex.join(["partstream", "conformance", tested.target.description.name, "--replay", file])
    milliseconds = (time.monotonic() - began) * 1000 / len(_JUDGED)
    checks = tuple(_result(requirement_of(one), findings.get(one), repeat, milliseconds) for one in _JUDGED)
    counts = f"{counted(len(answers), 'answer')}, of {counted(len(exchanges), 'exchange')} with a server"
    note = f"Recorded in {file} and replayed: {counts}."
    return GeneratedResults(checks, {RECORDED: transcript}, note)


def _tools_of(exchanges: Sequence[RecordedExchange], tested: Tested) -> tuple[Tool, ...]:
    """The tools that the recorded request offered."""
    request = exchanges[0].request
    if request is None or not tested.capabilities.tool_calling:
        return ()
    try:
        row = content_of(exchanges[0], "").protocol
    except RecordingError:
        return ()
    asked = None if row is None else asked_of(request, row)
    return () if asked is None else tuple(asked.options.tools)


def _compare_ends(
    transcript: Transcript, answers: Sequence[Sequence[RecordedExchange]], file: str
) -> dict[str, list[rules.Breach]]:
    """The findings against what the end of an answer promises: it failed where the recorded one failed, else not."""
    findings: dict[str, list[rules.Breach]] = {}
    for place, (answer, exchanges) in enumerate(zip(transcript.answers, answers, strict=True)):
        try:
            *_, last = recorded_outputs(exchanges[-1], file)
        except RecordingError as unreadable:
            raise CallerError(f"--replay: {unreadable}") from unreadable
        error = last.error if isinstance(last, Finish) else None
        requirement, wrong = (
            ("stream.resolves", TranscriptEventKind.REJECTED)
            if error is None
            else ("failure.rejects", TranscriptEventKind.RESOLVED)
        )
        found = findings.setdefault(requirement, [])
        end = answer.end
        if end is not None and end.kind is wrong:
            said = (
                f"it was rejected: {end.value}" if error is None else f"it resolved, though the answer failed: {error}"
            )
            found.append(rules.Breach(said, place, None, end.at_ms))
    return findings


def _result(
    requirement: rules.Requirement | Rule, found: list[rules.Breach] | None, repeat: str, milliseconds: float
) -> CheckResult:
    facts: dict[str, Any] = {"verdict": Verdict.PASSED}
    if found is None:
        facts = {"verdict": Verdict.NOT_JUDGED, "got": "no recorded answer says anything about it"}
    elif found:
        first = next((one for one in found if not one.is_environment), found[0])
        hint = hint_of(requirement.id)
        failed = Verdict.FAILED if requirement.level is Level.MUST else Verdict.WARNING
        facts = {
            "verdict": Verdict.NOT_JUDGED if first.is_environment else failed,
            **facts_of(first, len(found)),
            "transcript": RECORDED,
            "repeat": repeat,
            "hints": () if hint is None else hint.causes,
        }
    return CheckResult.of(requirement, RECORDED, duration_ms=milliseconds, **facts)
