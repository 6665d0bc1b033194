"""The report of a run, as values: results, their tally, the baseline, and the secrets that no report may hold.

A report keeps one result a check, with its verdict and with whom the verdict blames. A result breaks the contract if it
counts (a requirement set says so), if no baseline expects it, and if its verdict is not green. Reports are kept as
JSON; the schema is made of the same values, and a field that is added needs no new version, because readers leave out
what they do not know. A tally works on that JSON, so that a kept report counts like a new one.

The baseline is a file of the target's author with the checks that are known to fail, so that CI fails for new ones
only. An entry that no longer fails is stale and fails the run: a baseline only gets shorter. The command and the pytest
plugin read the same file::

    [expected]
    "tool-call.unique-call-id/two-calls" = "the final snapshot is reported again: issue 12"

or, as JSON, `{"expected": {"tool-call.unique-call-id/two-calls": "..."}}`.
"""

from __future__ import annotations
import json
import re
from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from difflib import get_close_matches
from enum import IntEnum, StrEnum
from importlib.resources import files
from pathlib import Path
from types import MappingProxyType
from typing import Any, Final
from urllib.parse import unquote, urlsplit

from partstream._version import __version__
from partstream.codec.checks import dataclass, field, fields, replace
from partstream.codec.json_codec import JSONDecodeError, loads
from partstream.codec.redaction import Redactor, secrets_in_header
from partstream.codec.settings_files import loads_toml
from partstream.errors import CallerError
from partstream.lm.contract import RULES, Level
from partstream.settings.row import SHORTEST_KEY
from partstream_devtools.conformance.checks import HINTS, REQUIREMENTS, Breach
from partstream_devtools.conformance.driver import Capabilities, TargetDescription
from partstream_devtools.conformance.transcript import Transcript

# ---- Results ----


class Verdict(StrEnum):
    """The verdict on one check."""

    PASSED = "passed"
    FAILED = "failed"
    WARNING = "warning"
    """A SHOULD is broken."""
    NOT_APPLICABLE = "not applicable"
    """The target does not declare the capability."""
    UNTESTABLE = "untestable"
    """The target declares the capability, and could not be made to show it: counts as failed."""
    NOT_JUDGED = "not judged"
    """The target cannot give the evidence that the check needs."""
    ERROR = "error"
    """The kit itself has failed."""


class Blame(StrEnum):
    """Whose fault a verdict is."""

    TARGET = "target"
    KIT = "kit"
    ENVIRONMENT = "environment"
    """A limit of time, a refused connection, a model without the ability: says nothing about the contract."""


@dataclass(frozen=True, slots=True)
class CheckResult:
    """The result of one check.

    Attributes:
        id: `<rule>/<scenario>`; the same for ever.
        rule: The id of the rule or of the kit's own requirement.
        section: The section of the document that states the requirement; empty for a requirement of the kit alone.
        level: `MUST` or `SHOULD`.
        scenario: The slug of the scenario.
        verdict: The verdict.
        promise: The requirement as one sentence.
        blame: Who is to blame; None for a verdict without blame.
        got: What happened instead, or why there is no verdict; empty for a check that passed.
        index: The index of the part that broke the requirement, from 0, or None.
        at_ms: When that was, in milliseconds since the request, or None.
        count: How often the requirement was broken.
        answer: The index of the answer in the transcript that broke the requirement, from 0, or None.
        transcript: The name of the transcript in the report, or None.
        duration_ms: How long the scenario took, in milliseconds.
        scored: Whether the check is of the requirement set that counts.
        minimal: The file of the minimal transcript, or None.
        repeat: The command that repeats the check; empty where there is none.
        flaky: `{"failed": n, "of": m}` where repetitions of the same actions did not agree, or None.
        expected: Whether a baseline expects the failure.
    """

    id: str
    rule: str
    section: str
    level: str
    scenario: str
    verdict: Verdict
    promise: str
    blame: Blame | None = None
    got: str = ""
    index: int | None = None
    at_ms: float | None = None
    count: int = 0
    answer: int | None = None
    transcript: str | None = None
    duration_ms: float = 0.0
    scored: bool = True
    minimal: str | None = None
    repeat: str = ""
    flaky: Mapping[str, int] | None = None
    expected: bool = False
    hints: tuple[str, ...] = ()

    @classmethod
    def of(cls, rule: str, scenario: str, verdict: Verdict, **facts: Any) -> CheckResult:
        """The result of the check of a requirement in a scenario, with the other fields of this class."""
        requirement = REQUIREMENTS[rule]
        if verdict in {Verdict.FAILED, Verdict.WARNING}:
            facts["hints"] = HINTS[rule].causes
        level, text = requirement.level.value, requirement.text
        return cls(f"{rule}/{scenario}", rule, requirement.section, level, scenario, verdict, text, **facts)

    @classmethod
    def judged(
        cls,
        rule: str,
        scenario: str,
        found: Sequence[Breach],
        *,
        of_environment: Verdict = Verdict.UNTESTABLE,
        **facts: Any,
    ) -> CheckResult:
        """The result by the findings against a requirement, of which it tells the first.

        `of_environment` is the verdict where that one blames the environment.
        """
        if not found:
            return cls.of(rule, scenario, Verdict.PASSED, **facts)
        first = found[0]
        verdict = Verdict.FAILED if REQUIREMENTS[rule].level is Level.MUST else Verdict.WARNING
        told = {
            "blame": Blame.ENVIRONMENT if first.is_environment else Blame.TARGET,
            "got": first.detail,
            "index": first.index,
            "at_ms": first.at_ms,
            "answer": first.answer,
            "count": len(found),
        }
        return cls.of(rule, scenario, of_environment if first.is_environment else verdict, **(told | facts))

    @property
    def breaks(self) -> bool:
        """Whether the check breaks the contract: it counts, no baseline expects it, and its verdict is not green."""
        return self.scored and not self.expected and self.verdict in {Verdict.FAILED, Verdict.UNTESTABLE}

    def to_json(self) -> dict[str, Any]:
        """The result as JSON values; times are rounded to a tenth of a millisecond."""
        said = {one.name: getattr(self, one.name) for one in fields(self)}
        said["hint"] = list(said.pop("hints"))
        said["at_ms"] = None if self.at_ms is None else round(self.at_ms, 1)
        said["duration_ms"] = round(self.duration_ms, 1)
        said["flaky"] = None if self.flaky is None else dict(self.flaky)
        return said


# ---- Reports ----

REPORT_VERSION: Final = "1"
"""Increases with every change that a reader of a kept report would misunderstand."""


class ReportCode(IntEnum):
    """The exit code of a run."""

    KEPT = 0
    BROKEN = 1
    NOT_USABLE = 2
    KIT_ERROR = 3


@dataclass(frozen=True, slots=True)
class Report:
    """What a run has found.

    Attributes:
        target: What was tested.
        capabilities: What it declares.
        ways: How it was driven.
        checks: The results, in the order of the scenarios.
        transcripts: The conversations by the name that results give.
        contract: The version of the contract.
        requirements: The name of the requirement set.
        environment: Facts about the machine and the programs, without secrets.
        date: When the run began, in ISO 8601; empty where it is not to be said.
        seconds: How long it took.
        notes: Sentences about the run for a person.
        stale: What is wrong with entries of the baseline that are not right any more, a sentence each.
        redactor: Removes the secrets of the run from the report as JSON.
    """

    target: TargetDescription
    capabilities: Capabilities
    ways: tuple[str, ...]
    checks: Sequence[CheckResult]
    transcripts: Mapping[str, Transcript]
    contract: str
    requirements: str
    environment: Mapping[str, str] = field(default_factory=dict)
    date: str = ""
    seconds: float = 0.0
    notes: tuple[str, ...] = ()
    stale: tuple[str, ...] = ()
    redactor: Redactor = field(default_factory=Redactor)

    @property
    def counts(self) -> Counter[Verdict]:
        """How many checks that count have each verdict."""
        return Counter(check.verdict for check in self.checks if check.scored)

    @property
    def broken(self) -> list[CheckResult]:
        """The checks that break the contract."""
        return [check for check in self.checks if check.breaks]

    @property
    def exit_code(self) -> ReportCode:
        """0 if the contract is kept, 1 if it is broken or the baseline is stale, 3 if the kit itself failed."""
        if self.broken or self.stale:
            return ReportCode.BROKEN
        has_errors = any(check.verdict is Verdict.ERROR for check in self.checks)
        return ReportCode.KIT_ERROR if has_errors else ReportCode.KEPT

    def to_json(self) -> dict[str, Any]:
        """The report as JSON values, without secrets."""
        said: dict[str, Any] = self.redactor.redact_values(
            {
                "report": REPORT_VERSION,
                "kit": __version__,
                "contract": self.contract,
                "requirements": self.requirements,
                "date": self.date,
                "seconds": round(self.seconds, 2),
                "target": self.target.to_json(),
                "capabilities": self.capabilities.to_json(),
                "ways": list(self.ways),
                "environment": dict(self.environment),
                "notes": list(self.notes),
                "exit_code": int(self.exit_code),
                "counts": {verdict.value: self.counts[verdict] for verdict in Verdict},
                "stale": list(self.stale),
                "checks": [check.to_json() for check in self.checks],
                "transcripts": {name: transcript.to_json() for name, transcript in self.transcripts.items()},
            },
            names=True,
        )
        return said


# ---- Kept reports ----

_VERDICTS: Final = frozenset(verdict.value for verdict in Verdict)
_TEXTS: Final = ("id", "rule", "section", "level", "scenario", "promise", "got")


class KitFileError(CallerError):
    """A file of the kit cannot be read.

    Attributes:
        path: The file.
        reason: What is wrong with it, and what was expected.
    """

    _kind = "file"

    def __init__(self, path: str, reason: str) -> None:
        super().__init__(f"cannot read the {self._kind} {path}: {reason}")
        self.path = path
        self.reason = reason

    @classmethod
    @contextmanager
    def reading(cls, path: Path) -> Iterator[None]:
        """Raises what fails in the block, which reads the file, as this error."""
        try:
            yield
        except OSError as error:
            raise cls(str(path), error.strerror or str(error)) from error
        except JSONDecodeError as error:
            raise cls(str(path), f"it is no JSON ({error})") from error
        except (ValueError, RecursionError) as error:  # of TOML, of UTF-8
            raise cls(str(path), str(error)) from error


class ReportFileError(KitFileError):
    """A file is no report of the kit."""

    _kind = "report"


def read_report(path: Path) -> Mapping[str, Any]:
    """The JSON of a report.

    Raises:
        ReportFileError: The file cannot be read, or holds something else.
    """
    with ReportFileError.reading(path):
        value: Any = loads(path.read_bytes())
    if not isinstance(value, dict) or value.get("report") != REPORT_VERSION:
        expected = f"expected the file of `partstream conformance --json`, version {REPORT_VERSION}"
        raise ReportFileError(str(path), f"it is no report of this version; {expected}")
    wrong = _first_fault(value)
    if wrong:
        raise ReportFileError(str(path), wrong)
    return value


def _first_fault(report: Mapping[str, Any]) -> str:
    """What is wrong with the parts of a report that others read; empty if nothing is."""
    target, checks, transcripts = report.get("target"), report.get("checks"), report.get("transcripts")
    if not isinstance(target, dict) or not isinstance(target.get("name"), str):
        return "target: expected an object with a name"
    if not isinstance(transcripts, dict) or not all(isinstance(one, dict) for one in transcripts.values()):
        return "transcripts: expected an object of objects"
    if not isinstance(checks, list):
        return "checks: expected an array"
    for place, check in enumerate(checks):
        if not isinstance(check, dict) or check.get("verdict") not in _VERDICTS:
            return f"checks[{place}]: expected an object with a verdict"
        odd = [name for name in _TEXTS if not isinstance(check.get(name), str)]
        if odd:
            return f"checks[{place}].{odd[0]}: expected a text"
    return ""


def report_json_schema() -> dict[str, Any]:
    """The schema of a report, in JSON Schema 2020-12."""
    schema: dict[str, Any] = loads((files(__package__) / "report.schema.json").read_bytes())
    return schema


# ---- Tally ----


def counts(check: Mapping[str, Any]) -> bool:
    """Whether a failure of the check breaks the contract: it is of the requirement set, and no baseline expects it."""
    return bool(check.get("scored", True)) and not check.get("expected")


@dataclass(frozen=True, slots=True)
class Tally:
    """The numbers of the scored checks of a report by verdict, without those of failures that the baseline expects."""

    verdicts: Mapping[Verdict, int]
    expected: int = 0
    stale: int = 0

    @property
    def passed(self) -> int:
        """The number of checks that passed; a warning passes, because it is about a SHOULD."""
        return self.verdicts.get(Verdict.PASSED, 0) + self.verdicts.get(Verdict.WARNING, 0)

    @property
    def judged(self) -> int:
        """The number of checks with a verdict about the target."""
        failed = (Verdict.FAILED, Verdict.UNTESTABLE, Verdict.ERROR)
        return self.passed + self.expected + sum(self.verdicts.get(one, 0) for one in failed)

    @property
    def not_applicable(self) -> int:
        """The number of checks of abilities that the target does not have."""
        return self.verdicts.get(Verdict.NOT_APPLICABLE, 0)

    @property
    def is_kept(self) -> bool:
        """Whether nothing counts against the target, and something was judged at all."""
        return self.judged > 0 and self.judged == self.passed + self.expected and not self.stale

    @property
    def word(self) -> str:
        """The tally's line about the contract."""
        return "kept" if self.is_kept else "broken" if self.judged else "not judged"


def tally_of(report: Mapping[str, Any]) -> Tally:
    """The tally of a report's JSON."""
    scored = [check for check in report["checks"] if check.get("scored", True)]
    return Tally(
        Counter(Verdict(check["verdict"]) for check in scored if not check.get("expected")),
        sum(bool(one.get("expected")) for one in scored),
        len(report.get("stale", ())),
    )


# ---- Baseline ----

_FAILING: Final = frozenset({Verdict.FAILED, Verdict.UNTESTABLE, Verdict.WARNING})
"""The verdicts that an entry may expect."""
_SAYING_NOTHING: Final = frozenset({Verdict.NOT_JUDGED, Verdict.ERROR})
"""The verdicts that do not show whether an entry is still right."""


class BaselineError(KitFileError):
    """A baseline cannot be read."""

    _kind = "baseline"


@dataclass(frozen=True, slots=True)
class StaleEntry:
    """An entry that is no longer right.

    Attributes:
        id: The id of the check.
        reason: Why it is not right, as a sentence.
    """

    id: str
    reason: str


@dataclass(frozen=True, slots=True)
class Baseline:
    """The failures that are known.

    Attributes:
        expected: Why each of them is expected, by the id of the check; a reason may be empty.
    """

    expected: Mapping[str, str] = field(default_factory=dict)

    def apply(self, result: CheckResult) -> CheckResult:
        """The result, marked as expected if the baseline expects its failure."""
        if result.id in self.expected and result.verdict in _FAILING:
            return replace(result, expected=True)
        return result

    def staleness(self, result: CheckResult) -> StaleEntry | None:
        """The stale entry of a check that ran; None where there is no entry, or where it is still right."""
        if result.id not in self.expected or result.verdict in _FAILING | _SAYING_NOTHING:
            return None
        return StaleEntry(result.id, f"{result.id} is {result.verdict.value} now: take it out of the baseline.")

    def stale(self, results: Sequence[CheckResult], scenarios: Mapping[str, Collection[str]]) -> tuple[StaleEntry, ...]:
        """All stale entries: those of checks that do not fail any more, and those of no check at all.

        Args:
            results: The checks that ran. An entry of a check that was not chosen is not stale.
            scenarios: The checks of every scenario, by its slug. A rule that a scenario is not about is a check of it
                only where it is broken: its entry is stale when the whole scenario ran without that.
        """
        ran = {result.id for result in results}
        found = [stale for result in results if (stale := self.staleness(result)) is not None]
        for one in self.expected:
            rule, _, slug = one.partition("/")
            checks = scenarios.get(slug)
            if checks is None or (one not in checks and rule not in RULES):
                near = get_close_matches(one, [each for ids in scenarios.values() for each in ids], n=1)
                meant = f"; did you mean {near[0]}?" if near else "."
                found.append(StaleEntry(one, f"{one} is no check of this version{meant}"))
            elif one not in checks and one not in ran and ran.issuperset(checks):
                found.append(StaleEntry(one, f"{one} is not broken now: take it out of the baseline."))
        return tuple(found)


def read_baseline(path: Path) -> Baseline:
    """Reads a baseline: TOML, or JSON if the name of the file ends with `.json`.

    Raises:
        BaselineError: The file cannot be read, or has another shape.
    """
    with BaselineError.reading(path):
        data = path.read_bytes()
        value: Any = loads(data) if path.suffix == ".json" else loads_toml(data.decode())
    match value:
        case {"expected": dict() as expected, **others} if not others and all(
            isinstance(reason, str) for reason in expected.values()
        ):
            return Baseline(MappingProxyType(expected))
    raise BaselineError(str(path), "expected one table named `expected`, from the id of a check to the reason")


def baseline_text(results: Iterable[CheckResult], reason: str = "") -> str:
    """The baseline, as TOML, that expects every failure of a run; to begin with."""
    failing = [one.id for one in results if one.verdict in {Verdict.FAILED, Verdict.UNTESTABLE} and one.scored]
    lines = [f"{json.dumps(one)} = {json.dumps(reason)}" for one in sorted(failing)]
    return "\n".join(("[expected]", *lines, ""))


# ---- Secrets ----

_SECRET_NAME: Final = re.compile(
    r"(?:key|token|secret|passw(?:or)?d|credential|cookie|authorization|auth|bearer|signature)s?$", re.IGNORECASE
)
"""What the name of a variable, an option, a header or a parameter ends with whose value is secret."""
_ISSUED: Final = re.compile(r"(?:sk|pk|rk|gsk|xai|vck|psk|psj|ghp|hf|AIza)[-_]?[A-Za-z0-9_-]{12,}")
"""Keys that show by their first letters who has issued them."""
_OPTION: Final = re.compile(r"-{0,2}([A-Za-z][\w.-]*)(?:[=:]\s*(.*))?", re.DOTALL)


def secrets_of(
    *,
    command: Sequence[str] = (),
    environment: Mapping[str, str] | None = None,
    headers: Mapping[str, str] | None = None,
    urls: Iterable[str] = (),
) -> frozenset[str]:
    """The secrets of a run.

    Args:
        command: The command line, word by word: of the kit and of the target.
        environment: The environment of the kit and of the target.
        headers: Headers that are sent, by name.
        urls: Addresses that are asked.
    """
    found = {
        *_of_command(command),
        *(value for name, value in (environment or {}).items() if _SECRET_NAME.search(name)),
        *(
            secret
            for name, value in (headers or {}).items()
            if _SECRET_NAME.search(name)
            for secret in secrets_in_header(value)
        ),
        *(secret for url in urls for secret in _of_url(url)),
    }
    return frozenset(secret for secret in found if len(secret) >= SHORTEST_KEY)


def _of_command(words: Sequence[str]) -> Iterator[str]:
    is_value = False
    for word in words:
        if is_value and not word.startswith("-"):
            yield from secrets_in_header(word)
        yield from _ISSUED.findall(word)
        if "://" in word:
            yield from _of_url(word)
        option = _OPTION.fullmatch(word)
        is_named = option is not None and _SECRET_NAME.search(option[1]) is not None
        if option is not None and is_named and option[2]:
            yield from secrets_in_header(option[2])
        is_value = is_named and option is not None and word.startswith("-") and option[2] is None


def _of_url(url: str) -> Iterator[str]:
    try:
        address = urlsplit(url)
    except ValueError:
        return
    _, _, password = address.netloc.rpartition("@")[0].partition(":")
    values = [
        value
        for name, _, value in (pair.partition("=") for pair in address.query.split("&"))
        if _SECRET_NAME.search(name)
    ]
    for secret in (password, *values):
        yield secret
        yield unquote(secret)
