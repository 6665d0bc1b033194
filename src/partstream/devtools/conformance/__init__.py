"""The conformance kit: tests whether a provider or a model server keeps the contract.

::

    report = await partstream.devtools.conformance.run("my_provider.py")
    assert report.exit_code == 0, report.broken

The command `partstream conformance` and the plugin for pytest are made of :func:`run`. The kit shows defects, not their
absence.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    from partstream.devtools.conformance.assertions import (
        BrokenContractError,
        assert_contract,
        recorded_answer,
        recorded_answer_sync,
    )
    from partstream.devtools.conformance.driving import (
        Capabilities,
        Provocation,
        Target,
        TimeLimits,
        UnusableTargetError,
    )
    from partstream.devtools.conformance.exercises import Exercise, Relation
    from partstream.devtools.conformance.fuzzing import (
        FailureFileError,
        FuzzSettings,
        Opening,
        read_failure,
        replay,
        search,
        with_baseline,
        with_generated,
        with_minimal_failures,
        without_secrets,
    )
    from partstream.devtools.conformance.report import (
        Baseline,
        BaselineError,
        Blame,
        CheckResult,
        Report,
        ReportFileError,
        StaleEntry,
        Verdict,
        baseline_text,
        read_baseline,
        read_report,
        report_json_schema,
        secrets_of,
    )
    from partstream.devtools.conformance.report_formats import (
        badge_json,
        badge_svg,
        junit_xml,
        markdown_summary,
        matrix_html,
    )
    from partstream.devtools.conformance.running import run
    from partstream.devtools.conformance.scripts import Script, ScriptedAnswer
    from partstream.devtools.conformance.targets import ParserTarget
    from partstream.devtools.conformance.transcript import Transcript


__all__ = [
    "Baseline",
    "BaselineError",
    "Blame",
    "BrokenContractError",
    "Capabilities",
    "CheckResult",
    "Exercise",
    "FailureFileError",
    "FuzzSettings",
    "Opening",
    "ParserTarget",
    "Provocation",
    "Relation",
    "Report",
    "ReportFileError",
    "Script",
    "ScriptedAnswer",
    "StaleEntry",
    "Target",
    "TimeLimits",
    "Transcript",
    "UnusableTargetError",
    "Verdict",
    "assert_contract",
    "badge_json",
    "badge_svg",
    "baseline_text",
    "junit_xml",
    "markdown_summary",
    "matrix_html",
    "read_baseline",
    "read_failure",
    "read_report",
    "recorded_answer",
    "recorded_answer_sync",
    "replay",
    "report_json_schema",
    "run",
    "search",
    "secrets_of",
    "with_baseline",
    "with_generated",
    "with_minimal_failures",
    "without_secrets",
]

_MODULES: Final = {
    "Baseline": "partstream.devtools.conformance.report",
    "BaselineError": "partstream.devtools.conformance.report",
    "Blame": "partstream.devtools.conformance.report",
    "BrokenContractError": "partstream.devtools.conformance.assertions",
    "Capabilities": "partstream.devtools.conformance.driving",
    "CheckResult": "partstream.devtools.conformance.report",
    "Exercise": "partstream.devtools.conformance.exercises",
    "FailureFileError": "partstream.devtools.conformance.fuzzing",
    "FuzzSettings": "partstream.devtools.conformance.fuzzing",
    "TimeLimits": "partstream.devtools.conformance.driving",
    "Opening": "partstream.devtools.conformance.fuzzing",
    "ParserTarget": "partstream.devtools.conformance.targets",
    "Relation": "partstream.devtools.conformance.exercises",
    "Report": "partstream.devtools.conformance.report",
    "ReportFileError": "partstream.devtools.conformance.report",
    "Script": "partstream.devtools.conformance.scripts",
    "ScriptedAnswer": "partstream.devtools.conformance.scripts",
    "StaleEntry": "partstream.devtools.conformance.report",
    "Target": "partstream.devtools.conformance.driving",
    "Transcript": "partstream.devtools.conformance.transcript",
    "UnusableTargetError": "partstream.devtools.conformance.driving",
    "Verdict": "partstream.devtools.conformance.report",
    "Provocation": "partstream.devtools.conformance.driving",
    "assert_contract": "partstream.devtools.conformance.assertions",
    "badge_json": "partstream.devtools.conformance.report_formats",
    "badge_svg": "partstream.devtools.conformance.report_formats",
    "baseline_text": "partstream.devtools.conformance.report",
    "junit_xml": "partstream.devtools.conformance.report_formats",
    "markdown_summary": "partstream.devtools.conformance.report_formats",
    "matrix_html": "partstream.devtools.conformance.report_formats",
    "read_baseline": "partstream.devtools.conformance.report",
    "read_failure": "partstream.devtools.conformance.fuzzing",
    "read_report": "partstream.devtools.conformance.report",
    "recorded_answer": "partstream.devtools.conformance.assertions",
    "recorded_answer_sync": "partstream.devtools.conformance.assertions",
    "replay": "partstream.devtools.conformance.fuzzing",
    "report_json_schema": "partstream.devtools.conformance.report",
    "run": "partstream.devtools.conformance.running",
    "search": "partstream.devtools.conformance.fuzzing",
    "secrets_of": "partstream.devtools.conformance.report",
    "with_baseline": "partstream.devtools.conformance.fuzzing",
    "with_generated": "partstream.devtools.conformance.fuzzing",
    "with_minimal_failures": "partstream.devtools.conformance.fuzzing",
    "without_secrets": "partstream.devtools.conformance.fuzzing",
}


def __getattr__(name: str) -> Any:
    if name not in _MODULES:
        raise AttributeError(f"module 'partstream.devtools.conformance' has no attribute {name!r}")
    return getattr(import_module(_MODULES[name]), name)
