"""The conformance kit: tests whether a provider or a model server keeps the contract.

::

    report = await partstream.conformance.run("my_provider.py")
    assert report.exit_code == 0, report.broken

The command `partstream conformance` and the plugin for pytest are made of :func:`run`. The kit shows defects, not their
absence.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    from partstream.conformance.assertions import (
        BrokenContractError,
        assert_contract,
        recorded_answer,
        recorded_answer_sync,
    )
    from partstream.conformance.capabilities import Capabilities, Way
    from partstream.conformance.driving import Limits
    from partstream.conformance.report import Report
    from partstream.conformance.running import run
    from partstream.conformance.scripts import Script, ScriptedAnswer
    from partstream.conformance.targets.target import Target, UnusableTargetError
    from partstream.conformance.transcript import Transcript
    from partstream.conformance.verdicts import Blame, CheckResult, Verdict

__all__ = [
    "Blame",
    "BrokenContractError",
    "Capabilities",
    "CheckResult",
    "Limits",
    "Report",
    "Script",
    "ScriptedAnswer",
    "Target",
    "Transcript",
    "UnusableTargetError",
    "Verdict",
    "Way",
    "assert_contract",
    "recorded_answer",
    "recorded_answer_sync",
    "run",
]

_MODULES: Final = {
    "Blame": "partstream.conformance.verdicts",
    "BrokenContractError": "partstream.conformance.assertions",
    "Capabilities": "partstream.conformance.capabilities",
    "CheckResult": "partstream.conformance.verdicts",
    "Limits": "partstream.conformance.driving",
    "Report": "partstream.conformance.report",
    "Script": "partstream.conformance.scripts",
    "ScriptedAnswer": "partstream.conformance.scripts",
    "Target": "partstream.conformance.targets.target",
    "Transcript": "partstream.conformance.transcript",
    "UnusableTargetError": "partstream.conformance.targets.target",
    "Verdict": "partstream.conformance.verdicts",
    "Way": "partstream.conformance.capabilities",
    "assert_contract": "partstream.conformance.assertions",
    "recorded_answer": "partstream.conformance.assertions",
    "recorded_answer_sync": "partstream.conformance.assertions",
    "run": "partstream.conformance.running",
}


def __getattr__(name: str) -> Any:
    if name not in _MODULES:
        raise AttributeError(f"module 'partstream.conformance' has no attribute {name!r}")
    return getattr(import_module(_MODULES[name]), name)
