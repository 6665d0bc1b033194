"""Runs the kit against a target: opens it, has its conversations, judges them, and makes the report.

:class:`Opening` opens a target, also for generated conversations. A scenario runs in this order: what the target does
not declare, or what its prompt cannot bring about, is not asked; its conversations are had, together where it has
several; then the judgement becomes results. A target that only gets the prompt is asked up to three times, because its
model may answer otherwise. One fault is one failure: where a target does not show what a scenario is about, its other
checks are not judged. A bug of the kit is an error of the kit, never a failure of the target.

The end of the module tests a target with recorded exchanges: the kit is its model server and sends what a real one has
sent. What the model was to say is unknown then, so that only the requirements of :data:`_JUDGED` are judged.
"""

from __future__ import annotations
import platform
import shlex
import time
from collections.abc import AsyncGenerator, Awaitable, Callable, Collection, Mapping, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from datetime import UTC, datetime
from itertools import groupby
from operator import attrgetter
from typing import Any, Final

from partstream._version import __version__
from partstream.codec.checks import dataclass, replace
from partstream.codec.text import counted
from partstream.errors import CallerError
from partstream.lm.contract import RULES
from partstream.lm.messages import Tool
from partstream.lm.outputs import Finish
from partstream.upstream.context import run_in_thread
from partstream_devtools.bundles.exchange import RecordedExchange
from partstream_devtools.bundles.recorded import asked_of, content_of, recorded_outputs
from partstream_devtools.conformance import checks as rules
from partstream_devtools.conformance import driver
from partstream_devtools.conformance.exercises import judged_requirements
from partstream_devtools.conformance.report import Blame, CheckResult, Report, Verdict
from partstream_devtools.conformance.scenarios import any_script, rows_of, selected
from partstream_devtools.conformance.scripts import Action
from partstream_devtools.conformance.targets import ProviderTarget, Tested, open_target, target_of
from partstream_devtools.conformance.transcript import Transcript, TranscriptEventKind
from partstream_devtools.recorded_stream import RecordingError

# ---- Opening a target ----


@dataclass(frozen=True, slots=True)
class Results:
    """What a run makes: a result for each check, the transcripts by the names in the results, a sentence for people."""

    checks: tuple[CheckResult, ...]
    transcripts: Mapping[str, Transcript]
    note: str = ""


@dataclass(frozen=True, slots=True)
class Opening:
    """How a target is opened.

    Attributes:
        target: A target, or what :func:`partstream_devtools.conformance.run` takes for one.
        capabilities: What it can do, over what it says itself.
        limits: The limits of time.
        requirements: The name of the requirement set that counts.
        protocol: The name of the protocol that it asks its upstream in; None for the default.
        other_protocol: The name of another one, over which it has to bring the same parts; None for none.
    """

    target: object
    capabilities: driver.Capabilities | Mapping[str, Any] | None = None
    limits: driver.TimeLimits | None = None
    requirements: str = rules.LATEST
    protocol: str | None = None
    other_protocol: str | None = None

    async def use(self, use: Callable[[Tested, Tested | None], Awaitable[Results]]) -> Report:
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
                    got = "got a target that asks no server of the kit, expected a sandwich"
                    raise CallerError(f"other_protocol: {got}")
            results = await use(tested, other)
        return Report(
            target=tested.target.description,
            capabilities=tested.capabilities,
            ways=tuple(sorted(way.value for way in tested.target.ways)),
            checks=results.checks,
            transcripts=results.transcripts,
            contract=rules.CONTRACT_VERSION,
            requirements=self.requirements,
            environment={
                "python": platform.python_version(),
                "system": platform.system(),
                "machine": platform.machine(),
                "partstream": __version__,
            },
            date=date,
            seconds=time.monotonic() - began,
            notes=(results.note,) if results.note else (),
        )

    @asynccontextmanager
    async def opened(self, protocol: str | None) -> AsyncGenerator[Tested, None]:
        """Opens the target over a protocol.

        Raises:
            UnusableTargetError: It cannot be started, or lists no model.
        """
        # In a thread: a file may run an event loop of its own when it is loaded.
        target = await run_in_thread(lambda: target_of(self.target, protocol), "partstream-load")
        if target is self.target and protocol != self.protocol:
            raise CallerError("other_protocol: got a target that is made already, expected a file, a module or a maker")
        async with open_target(target, self.capabilities, self.limits, self.requirements) as tested:
            yield tested


# ---- A run ----


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

    async def scenarios(tested: Tested, _: Tested | None) -> Results:
        if protocol is not None and isinstance(tested.target, ProviderTarget) and tested.session.upstream is None:
            got = f"got the protocol {protocol}, expected none: it is no function of the parameter `upstream`"
            raise driver.UnusableTargetError(tested.target.description.name, got)
        wanted = selected(select, section, rows_of(tested.target))
        if on_open is not None:
            on_open(tested)
        checks: list[CheckResult] = []
        transcripts: dict[str, Transcript] = {}
        for slug in wanted:
            results, named = await _ScenarioRun(tested, slug, wanted[slug]).results()
            checks += results
            transcripts.update(named)
            if on_scenario is not None:
                on_scenario(slug, results)
        return Results(tuple(checks), transcripts, tested.session.note)

    return await Opening(target, capabilities, limits, requirements, protocol).use(scenarios)


# ---- A scenario ----

_TRIES: Final = 3
"""The requests to a target that only gets the prompt before a scenario counts as untestable."""
_TARGETS: Final = {
    driver.Provocation.SANDWICH: "a function `make(upstream)` that returns the provider, FILE:make; the kit is its "
    "server",
    driver.Provocation.SCRIPTED: "a file with `conformance(script)`",
}
"""What has to be tested for a scenario that needs a certain way."""


class _ScenarioRun:
    """One scenario with a target, and its checks with these ids."""

    def __init__(self, tested: Tested, slug: str, ids: Sequence[str]) -> None:
        self._tested = tested
        self._slug = slug
        self._rules = [one.partition("/")[0] for one in ids]
        self._row = rows_of(tested.target)[slug]
        self._began = time.monotonic()

    async def results(self) -> tuple[list[CheckResult], dict[str, Transcript]]:
        """The results, and the transcripts by name."""
        try:
            return await self._run()
        except driver.UnusableTargetError:
            raise
        except rules.NotJudged as reason:
            return self._alike(Verdict.NOT_JUDGED, str(reason)), {}
        except Exception as error:  # a bug of the kit must not look like one of the target
            return self._alike(Verdict.ERROR, f"the kit failed: {error!r}", blame=Blame.KIT), {}

    async def _run(self) -> tuple[list[CheckResult], dict[str, Transcript]]:
        row, tested = self._row, self._tested
        if unfit := self._unfit():
            return self._alike(*unfit), {}
        if isinstance(row, rules.Probe):
            found = await row.ask(tested.session.provider(any_script()), tested.model, tested.limits.answer_seconds)
            return [self._judged(rule, found.get(rule, [])) for rule in self._rules], {}
        transcripts, why = await self._conversations(row)
        results = self._of_conversations(transcripts)
        first, *others = transcripts
        named = {self._slug: first} | {f"{self._slug}-{number}": one for number, one in enumerate(others, 2)}
        return self._unprovoked(results, transcripts, why) if why else results, named

    def _unfit(self) -> tuple[Verdict, str] | None:
        """The verdict without asking the target, and why; None where it is asked."""
        row, tested = self._row, self._tested
        if tested.way is driver.Provocation.PARSER and (reason := rules.unfit_for_parsers(row)):
            return Verdict.NOT_JUDGED, reason
        if isinstance(row, rules.Probe):
            return None
        if missing := sorted(one for one in row.needs if not tested.capabilities.has(one)):
            return Verdict.NOT_APPLICABLE, f"not declared: {', '.join(missing)}"
        if tested.way is driver.Provocation.PARSER or tested.way in row.ways or row.slug in tested.capabilities.prompts:
            return None
        # Another kind of target provokes what the prompt cannot: docs/maintainers/conformance-kit.md, "What can be
        # tested".
        ways = " or ".join(said for way, said in _TARGETS.items() if way in row.ways)
        return Verdict.NOT_JUDGED, f"no prompt brings this about; name {ways}"

    async def _conversations(self, row: rules.Scenario) -> tuple[list[Transcript], str]:
        """The conversations, and why they do not show what the scenario is about; empty if they do."""
        tested, unprovoked, transcripts = self._tested, "", list[Transcript]()
        is_directed = tested.way is driver.Provocation.DIRECTED
        for _ in range(_TRIES if is_directed and tested.has_declared(row.needs) else 1):
            prompts = [self._prompt(row, number) for number in range(row.copies)]
            script = None if is_directed else row.script
            transcripts = [Transcript(row.slug, row.actions, script, prompt) for prompt in prompts]
            await tested.converse(transcripts, row.request)
            unprovoked = self._lacking(row, transcripts)
            # What does not end would take the whole limit of time again.
            if not unprovoked or any(
                one.has(TranscriptEventKind.UNFINISHED) for each in transcripts for one in each.answers
            ):
                break
        return transcripts, unprovoked

    def _prompt(self, row: rules.Scenario, number: int) -> str:
        prompt = self._tested.capabilities.prompts.get(row.slug)
        if prompt is None:
            prompt = row.request.prompt
            if self._tested.way is driver.Provocation.DIRECTED and row.directive:
                prompt = f"{prompt} ({row.directive})"
        return f"{prompt} mark-{number:03}-{row.slug}" if row.copies > 1 else prompt

    def _lacking(self, row: rules.Scenario, transcripts: Sequence[Transcript]) -> str:
        """Why the conversations do not show what the scenario is about; empty if they do.

        A target that plays a script is judged by the script: what it leaves out is its own fault. Only thinking may be
        left out, unless the target itself has declared it.
        """
        tested = self._tested
        has_declared = "thinking" in row.needs and tested.declared.has("thinking")
        if tested.way is driver.Provocation.DIRECTED or has_declared:
            return next(filter(None, (row.provoked(transcript.answers) for transcript in transcripts)), "")
        if tested.way is driver.Provocation.SANDWICH and not transcripts[0].upstream and row.asks_upstream:
            return "the target sent no request to its model server"
        return ""

    # Results

    def _of_conversations(self, transcripts: Sequence[Transcript]) -> list[CheckResult]:
        """The results, with the rules that were broken beside those of the scenario where all its checks are wanted."""
        case = rules.Case.of(transcripts, self._tested.capabilities, self._tested.way)
        broken = {rule.id for _, answer in case.answers for rule, _ in answer.broken}
        is_whole = set(self._rules) == set(self._row.checks)
        others = [one for one in RULES if is_whole and one in broken and one not in self._rules]
        results = []
        for rule in (*self._rules, *others):
            try:
                results.append(self._judged(rule, rules.check(rule, case), transcript=self._slug))
            except rules.NotJudged as reason:
                results.append(self._result(rule, Verdict.NOT_JUDGED, got=str(reason), duration_ms=self._milliseconds))
        return results

    def _unprovoked(
        self, results: Sequence[CheckResult], transcripts: Sequence[Transcript], why: str
    ) -> list[CheckResult]:
        """The results where the target did not show what the scenario is about: what it broke counts all the same."""
        error = next((answer.error for one in transcripts for answer in one.answers if answer.error is not None), None)
        got = why if error is None else f"{why}: the answer was rejected with {error!r}"
        has_declared = isinstance(self._row, rules.Scenario) and self._tested.has_declared(self._row.needs)
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

    def _alike(self, verdict: Verdict, got: str, **facts: Any) -> list[CheckResult]:
        return [self._result(rule, verdict, got=got, **facts) for rule in self._rules]

    def _result(self, rule: str, verdict: Verdict, **facts: Any) -> CheckResult:
        return CheckResult.of(rule, self._slug, verdict, **self._facts(rule), **facts)

    def _judged(self, rule: str, found: Sequence[rules.Breach], **facts: Any) -> CheckResult:
        return CheckResult.judged(rule, self._slug, found, **self._facts(rule), **facts, duration_ms=self._milliseconds)

    def _facts(self, rule: str) -> dict[str, Any]:
        check_id = f"{rule}/{self._slug}"
        return {
            "scored": check_id in self._tested.scored or (rule in RULES and rule not in self._rules),
            "repeat": f"partstream conformance {self._tested.target.description.name} {check_id}",
        }

    @property
    def _milliseconds(self) -> float:
        return (time.monotonic() - self._began) * 1000


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


async def _replayed(tested: Tested, exchanges: Sequence[RecordedExchange], file: str, pace: float) -> Results:
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
    facts = {"duration_ms": (time.monotonic() - began) * 1000 / len(_JUDGED)}
    broken = {
        "transcript": RECORDED,
        "repeat": shlex.join(["partstream", "conformance", tested.target.description.name, "--replay", file]),
    }
    checks = []
    for rule in _JUDGED:
        if rule not in findings:
            facts_of_rule = {"got": "no recorded answer says anything about it"}
            checks.append(CheckResult.of(rule, RECORDED, Verdict.NOT_JUDGED, **facts_of_rule, **facts))
            continue
        found = sorted(findings[rule], key=attrgetter("is_environment"))
        told = broken if found else {}
        checks.append(CheckResult.judged(rule, RECORDED, found, of_environment=Verdict.NOT_JUDGED, **told, **facts))
    counts = f"{counted(len(answers), 'answer')}, of {counted(len(exchanges), 'exchange')} with a server"
    note = f"Recorded in {file} and replayed: {counts}."
    return Results(tuple(checks), {RECORDED: transcript}, note)


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
