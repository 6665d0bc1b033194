"""The published schema of a report, and reports that are valid by it."""

import asyncio
import json
from typing import Any

import pytest
from report_samples import EVERYTHING
from scripted_targets import CallsTwice, plays

from partstream.lm.contract import Level
from partstream_devtools.conformance.report import REPORT_VERSION, Blame, Verdict, report_json_schema
from partstream_devtools.conformance.running import run
from partstream_devtools.conformance.transcript import TRANSCRIPT_VERSION

TYPES: dict[str, type | tuple[type, ...]] = {
    "object": dict,
    "array": list,
    "string": str,
    "number": (int, float),
    "integer": int,
    "boolean": bool,
    "null": type(None),
}


def _wrong(value: Any, schema: dict[str, Any], place: str = "report") -> list[str]:
    """The places where a value is not as the schema says, for the words that the schema uses."""
    if "anyOf" in schema:
        return [] if any(not _wrong(value, one) for one in schema["anyOf"]) else [place]
    if ("const" in schema and value != schema["const"]) or ("enum" in schema and value not in schema["enum"]):
        return [place]
    if "type" in schema and not isinstance(value, TYPES[schema["type"]]):
        return [place]
    if isinstance(value, dict):
        lacking = [f"{place}.{name}" for name in schema.get("required", ()) if name not in value]
        further = schema.get("additionalProperties", {})
        inner = (
            _wrong(one, schema.get("properties", {}).get(name, further), f"{place}.{name}")
            for name, one in value.items()
        )
        return [*lacking, *(each for found in inner for each in found)]
    if isinstance(value, list):
        inner = (_wrong(one, schema.get("items", {}), f"{place}[{number}]") for number, one in enumerate(value))
        return [each for found in inner for each in found]
    return []


@pytest.fixture(scope="module")
def told() -> dict[str, Any]:
    report = asyncio.run(run(plays(CallsTwice), select=["two-calls", "models"]))
    return json.loads(json.dumps(report.to_json()))


def test_a_real_report_is_valid_and_has_no_field_that_the_schema_does_not_name(told: dict[str, Any]):
    schema = report_json_schema()
    assert _wrong(told, schema) == []
    assert set(told) == set(schema["properties"])
    assert {name for check in told["checks"] for name in check} == set(
        schema["properties"]["checks"]["items"]["properties"]
    )


def test_the_schema_names_all_verdicts_levels_and_blames():
    schema = report_json_schema()
    check = schema["properties"]["checks"]["items"]["properties"]
    assert check["verdict"]["enum"] == [*schema["properties"]["counts"]["properties"]] == [*Verdict]
    assert check["level"]["enum"] == [*Level]
    assert check["blame"]["anyOf"][0]["enum"] == [*Blame]
    assert schema["properties"]["report"]["const"] == REPORT_VERSION
    assert schema["properties"]["transcripts"]["additionalProperties"]["properties"]["transcript"]["const"] == (
        TRANSCRIPT_VERSION
    )


@pytest.mark.parametrize(
    ("change", "place"),
    [
        ({"report": "0"}, "report.report"),
        ({"exit_code": 4}, "report.exit_code"),
        ({"checks": [{**EVERYTHING["checks"][0], "verdict": "fine"}]}, "report.checks[0].verdict"),
        ({"target": {"name": "a", "kind": "b"}}, "report.target.version"),
    ],
)
def test_what_is_no_report_is_not_valid(told: dict[str, Any], change: dict[str, Any], place: str):
    assert _wrong({**told, **change}, report_json_schema()) == [place]
