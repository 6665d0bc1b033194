"""The JSON schema of a report of the conformance kit, for programs that read one."""

from __future__ import annotations
import json

from partstream_devtools.conformance.report import report_json_schema

__all__ = ["conformance_schema"]


def conformance_schema() -> str:
    """The content of docs/conformance-report.schema.json."""
    return json.dumps(report_json_schema(), indent=2) + "\n"
