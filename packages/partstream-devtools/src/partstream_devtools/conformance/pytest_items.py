"""The items that the plugin for pytest collects: one for each check, and one run for all checks of a scenario."""

from __future__ import annotations
import asyncio
import os
from pathlib import Path
from types import ModuleType
from typing import Any, Final

import pytest

from partstream.codec.redaction import Redactor
from partstream_devtools.conformance.checks import HINTS, load
from partstream_devtools.conformance.driver import TimeLimits, UnusableTargetError
from partstream_devtools.conformance.fuzzing import all_checks, without_secrets
from partstream_devtools.conformance.report import Baseline, CheckResult, Report, Verdict, read_baseline, secrets_of
from partstream_devtools.conformance.running import run
from partstream_devtools.conformance.scenarios import check_ids
from partstream_devtools.conformance.targets import BaseURLTarget, target_of
from partstream_devtools.conformance.transcript import lines_before

_OTHERS: Final = "others"
"""The item of a scenario for the rules that it is not about: `others/<scenario>`."""

_REPORTS: Final = pytest.StashKey[dict[tuple[str, str], "Report"]]()
"""The reports of this process, by the node that has the target and the scenario."""


class BreachError(Exception):
    """A check has failed; a person reads the message and no stack."""


class ConformanceItem(pytest.Function):
    """One check."""

    def repr_failure(self, excinfo: pytest.ExceptionInfo[BaseException], style: Any = None) -> Any:
        """The message alone of a broken requirement or an unusable target: the stack is that of the kit."""
        del style
        if isinstance(excinfo.value, BreachError | UnusableTargetError):
            return str(excinfo.value)
        return super().repr_failure(excinfo)

    def reportinfo(self) -> tuple[Path, int | None, str]:
        """The file of the target's fixture, and the id of the check."""
        return self.path, None, self.name


class ConformanceModule(pytest.Module):
    """The items of a target outside of a test module; `module` has the fixture of the target."""

    def __init__(self, *, module: ModuleType, **options: Any) -> None:
        super().__init__(**options)
        self._module = module

    def _getobj(self) -> ModuleType:
        return self._module

    def collect(self) -> list[pytest.Item | pytest.Collector]:
        """One item for each check."""
        return [*items_of(self)]


def items_of(collector: Any) -> list[pytest.Item]:
    """One item for each check, whose fixtures are those that the collector sees."""
    scored = load()
    items: list[pytest.Item] = []
    for slug, ids in check_ids().items():
        for check_id in (*ids, f"{_OTHERS}/{slug}"):
            item = ConformanceItem.from_parent(collector, name=check_id, callobj=_check_of(collector, slug, check_id))
            if check_id not in scored and not check_id.startswith(_OTHERS):
                item.add_marker("partstream_optional")
            items.append(item)
    return items


def module_of_command_line(session: pytest.Session) -> ConformanceModule:
    """What collects the items of the target that `--partstream-target` names."""
    module = ModuleType("partstream_conformance")
    made: ConformanceModule = ConformanceModule.from_parent(
        session, path=session.config.rootpath / "conformance", module=module
    )
    return made


def _check_of(collector: Any, slug: str, check_id: str) -> Any:
    def check(
        request: pytest.FixtureRequest,
        conformance_target: Any,
        conformance_capabilities: Any,
        conformance_baseline: Any,
    ) -> None:
        report = _report(request.config, collector.nodeid, slug, conformance_target, conformance_capabilities)
        baseline = Baseline() if conformance_baseline is None else read_baseline(Path(conformance_baseline))
        if check_id.startswith(_OTHERS):
            _judge_others(report, slug, baseline)
        else:
            _judge(next(one for one in report.checks if one.id == check_id), report, baseline)

    return check


def _report(config: pytest.Config, owner: str, slug: str, target: Any, capabilities: Any) -> Report:
    """The report of one scenario; runs it once."""
    reports = config.stash.setdefault(_REPORTS, {})
    key = (owner, slug)
    if key not in reports:
        limits = TimeLimits(config.getoption("--partstream-seconds"))
        found = BaseURLTarget(target) if isinstance(target, str) and "://" in target else target_of(target)
        report = asyncio.run(run(found, select=[f"/{slug}"], capabilities=capabilities, limits=limits))
        words = [target] if isinstance(target, str) else []
        reports[key] = without_secrets(report, Redactor(secrets_of(command=words, environment=os.environ)))
    return reports[key]


def _judge(result: CheckResult, report: Report, baseline: Baseline) -> None:
    """Makes the outcome of an item of a result.

    Raises:
        BreachError: The check has failed, or the baseline expects a failure that there is not.
    """
    stale = baseline.staleness(result)
    if stale is not None:
        raise BreachError(stale.reason)
    expected = baseline.apply(result).expected
    match result.verdict:
        case Verdict.FAILED | Verdict.UNTESTABLE | Verdict.ERROR if expected or not result.scored:
            pytest.xfail(f"expected: {result.got}" if expected else f"does not count: {result.got}")
        case Verdict.FAILED | Verdict.UNTESTABLE | Verdict.ERROR:
            raise BreachError(_told(result, report))
        case Verdict.NOT_APPLICABLE | Verdict.NOT_JUDGED:
            pytest.skip(f"{result.verdict.value}: {result.got}")
        case Verdict.WARNING:
            print(_told(result, report))  # noqa: T201 - pytest keeps it as the output of the item


def _judge_others(report: Report, slug: str, baseline: Baseline) -> None:
    """Judges what no item of its own is about: rules that a scenario is not about, and entries of no check.

    Raises:
        BreachError: Such a rule is broken, or such an entry of the baseline is stale.
    """
    scenarios = all_checks()
    broken = [one for one in report.checks if one.id not in scenarios[slug] and one.breaks]
    told = [_told(one, report) for one in broken if not baseline.apply(one).expected]
    is_first = slug == next(iter(scenarios))
    for stale in baseline.stale(report.checks, scenarios):
        of = stale.id.partition("/")[2]
        if (of == slug and stale.id not in scenarios[slug]) or (is_first and of not in scenarios):
            told.append(stale.reason)
    if told:
        raise BreachError("\n\n".join(told))


def _told(result: CheckResult, report: Report) -> str:
    """A result for a person: the requirement, what happened, the parts, and what is usually wrong."""
    lines = [
        f"{result.id}  {result.level}  {result.section}  ({result.verdict.value})",
        result.promise,
        f"Here: {result.got}",
    ]
    shown = lines_before(report.transcripts.get(result.transcript or ""), result.answer, result.index)
    lines += [f"    {line}" for line in shown]
    hint = HINTS.get(result.rule)
    if hint is not None:
        lines.append(f"{hint.seen} Often: {'; or '.join(hint.causes)}.")
    return report.redactor.redact("\n".join(lines))
