"""Reads reports that were kept as JSON, for what is made of several of them."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any, Final

from partstream.conformance.report import REPORT_VERSION
from partstream.conformance.verdicts import Verdict
from partstream.errors import CallerError

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

__all__ = ["ReportFileError", "read_report"]

_VERDICTS: Final = frozenset(verdict.value for verdict in Verdict)
_TEXTS: Final = ("id", "rule", "section", "level", "scenario", "promise", "got")


class ReportFileError(CallerError):
    """A file is no report of the kit.

    Attributes:
        path: Which one.
        reason: What is wrong with it, and what was expected.
    """

    def __init__(self, path: str, reason: str) -> None:
        super().__init__(f"cannot read the report {path}: {reason}")
        self.path = path
        self.reason = reason


def read_report(path: Path) -> Mapping[str, Any]:
    """The JSON of a report.

    Raises:
        ReportFileError: The file cannot be read, or holds something else.
    """
    try:
        value: Any = json.loads(path.read_bytes())
    except OSError as error:
        raise ReportFileError(str(path), error.strerror or str(error)) from error
    except (ValueError, RecursionError) as error:
        raise ReportFileError(str(path), f"it is no JSON ({error})") from error
    if not isinstance(value, dict) or value.get("report") != REPORT_VERSION:
        expected = f"expected the file of `partstream conformance --json`, version {REPORT_VERSION}"
        raise ReportFileError(str(path), f"it is no report of this version; {expected}")
    wrong = _wrong(value)
    if wrong:
        raise ReportFileError(str(path), wrong)
    return value


def _wrong(report: Mapping[str, Any]) -> str:
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
