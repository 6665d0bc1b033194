"""The conformance kit: tests whether a provider or a model server keeps the contract.

::

    report = await partstream_devtools.conformance.run("my_provider.py")
    assert report.exit_code == 0, report.broken

The command `partstream conformance` and the plugin for pytest are made of :func:`run`. The kit shows defects, not their
absence.
"""

from __future__ import annotations
from importlib import import_module
from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    from partstream_devtools.conformance.assertions import (
        BrokenContractError,
        assert_contract,
        recorded_answer,
        recorded_answer_sync,
    )
    from partstream_devtools.conformance.driver import (
        Capabilities,
        Provocation,
        Target,
        TimeLimits,
        UnusableTargetError,
    )
    from partstream_devtools.conformance.exercises import Exercise, Relation
    from partstream_devtools.conformance.fuzzing import (
        FailureFileError,
        FuzzSettings,
        read_failure,
        replay,
        search,
        with_baseline,
        with_generated,
        with_minimal_failures,
        without_secrets,
    )
    from partstream_devtools.conformance.report import (
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
    from partstream_devtools.conformance.report_formats import (
        badge_json,
        badge_svg,
        junit_xml,
        markdown_summary,
        matrix_html,
    )
    from partstream_devtools.conformance.running import Opening, run
    from partstream_devtools.conformance.scripts import Script, ScriptedAnswer
    from partstream_devtools.conformance.targets import ParserTarget
    from partstream_devtools.conformance.transcript import Transcript


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

_MODULES: Final = (
    *("driver", "scripts", "transcript", "report", "assertions", "exercises", "report_formats", "targets"),
    *("running", "fuzzing"),
)
"""Where the names are, in the order in which they are looked for: what is quick to load comes first."""


def __getattr__(name: str) -> Any:
    for module in _MODULES if name in __all__ else ():
        if hasattr(found := import_module(f"{__name__}.{module}"), name):
            return getattr(found, name)
    raise AttributeError(f"module 'partstream_devtools.conformance' has no attribute {name!r}")
