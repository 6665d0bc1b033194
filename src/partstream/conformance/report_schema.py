"""The JSON schema of a report, made of the values that a report holds; docs/conformance-report.schema.json is this.

A field that is added needs no new version: readers leave out what they do not know. What is here stays.
"""

from __future__ import annotations

from typing import Any, Final

from partstream.conformance.report import REPORT_VERSION
from partstream.conformance.verdicts import Blame, Verdict
from partstream.devtools.conformance.transcript import TRANSCRIPT_VERSION
from partstream.lm.contract import Level

__all__ = ["report_json_schema"]

_TEXT: Final = {"type": "string"}
_NUMBER: Final = {"type": "number"}
_COUNT: Final = {"type": "integer", "minimum": 0}


def report_json_schema() -> dict[str, Any]:
    """The schema, in JSON Schema 2020-12."""
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": f"Report of partstream conformance, version {REPORT_VERSION}",
        **_object(
            {
                "report": {"const": REPORT_VERSION, "description": "The version of this form."},
                "kit": _text("The version of Partstream."),
                "contract": _text("The version of the contract."),
                "requirements": _text("The name of the requirement set that counts."),
                "date": _text("When the run began, in ISO 8601, or empty."),
                "seconds": _NUMBER,
                "target": _object(
                    {"name": _TEXT, "kind": _TEXT, "version": _or_null(_TEXT)}, {"protocol": _or_null(_TEXT)}
                ),
                "capabilities": {"type": "object", "description": "What the target declares; null where it does not."},
                "ways": {"type": "array", "items": _TEXT},
                "environment": {"type": "object", "additionalProperties": _TEXT},
                "notes": {"type": "array", "items": _TEXT},
                "exit_code": {"enum": [0, 1, 2, 3]},
                "counts": {
                    "type": "object",
                    "description": "The checks that count, by verdict.",
                    "properties": {verdict.value: _COUNT for verdict in Verdict},
                },
                "stale": {
                    "type": "array",
                    "items": _TEXT,
                    "description": "Entries of the baseline that are not right.",
                },
                "checks": {"type": "array", "items": _check()},
                "transcripts": {"type": "object", "additionalProperties": _transcript()},
            }
        ),
    }


def _check() -> dict[str, Any]:
    return _object(
        {
            "id": _text("`<promise>/<scenario>`; the same for ever."),
            "rule": _text("The id of the promise."),
            "section": _text("The section of the contract, or `kit`."),
            "level": {"enum": [level.value for level in Level]},
            "scenario": _TEXT,
            "verdict": {"enum": [verdict.value for verdict in Verdict]},
            "blame": _or_null({"enum": [blame.value for blame in Blame]}),
            "index": _or_null(_COUNT, "The part of the answer that broke the promise, from 0."),
            "at_ms": _or_null(_NUMBER, "When that was, in milliseconds since the request."),
            "promise": _text("The promise as one sentence."),
            "got": _text("What happened instead, or why there is no verdict."),
            "count": _COUNT,
            "answer": _or_null(_COUNT, "The answer in the transcript, from 0."),
            "hint": {"type": "array", "items": _TEXT},
            "scored": {"type": "boolean", "description": "Whether the check is of the requirement set."},
            "expected": {"type": "boolean", "description": "Whether the baseline expects the failure."},
            "flaky": _or_null(_object({"failed": _COUNT, "of": _COUNT})),
            "duration_ms": _NUMBER,
            "transcript": _or_null(_TEXT, "The name of its transcript in `transcripts`."),
            "minimal": _or_null(_TEXT, "The file of the smallest transcript that was found."),
            "repeat": _text("The command that repeats the check, or empty."),
        }
    )


def _transcript() -> dict[str, Any]:
    answer = _object(
        {
            "request": _object(
                {"model": _TEXT, "messages": {"type": "array"}, "tools": {"type": "array", "items": _TEXT}}
            ),
            "events": {"type": "array", "items": _object({"at": _NUMBER})},
        }
    )
    return _object(
        {
            "transcript": {"const": TRANSCRIPT_VERSION},
            "scenario": _TEXT,
            "prompt": _TEXT,
            "script": _or_null({"type": "object"}, "What the model was to say."),
            "moves": {"type": "array", "items": _TEXT},
            "answers": {"type": "array", "items": answer},
            "upstream": {"type": "array", "items": {"type": "object"}},
        }
    )


def _object(properties: dict[str, Any], added: dict[str, Any] | None = None) -> dict[str, Any]:
    """An object; what was added to it later is missing in reports that were kept before."""
    return {"type": "object", "properties": {**properties, **(added or {})}, "required": [*properties]}


def _text(description: str) -> dict[str, Any]:
    return {**_TEXT, "description": description}


def _or_null(schema: dict[str, Any], description: str = "") -> dict[str, Any]:
    said = {"description": description} if description else {}
    return {"anyOf": [schema, {"type": "null"}], **said}
