"""A view as spans in the JSON of OTLP, which OpenTelemetry's collectors and viewers of traces read.

An answer is a span; its runs of parts, its gaps and what it broke are events of the span. No text of a person or a
model is in it. Names are those of the semantic conventions for generative AI where these have one
(server/telemetry.py has the same), else they begin with `partstream.`. Source of the form: OTLP 1.5, "JSON
Protobuf Encoding": ids in hexadecimal digits, enumerations as numbers, 64-bit numbers as texts.
"""

from __future__ import annotations

from hashlib import sha256
from typing import TYPE_CHECKING, Any, Final, TypeAlias

from partstream._version import __version__
from partstream.codec.json_codec import dumps
from partstream.devtools.bundles.exchange import nanoseconds_of

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from partstream.devtools.inspector.shapes import AnswerView, View

__all__ = ["otlp_json"]

_Value: TypeAlias = "str | bool | int | float | list[str]"
_CLIENT: Final = 3
"""SPAN_KIND_CLIENT."""
_ERROR: Final = 2
"""STATUS_CODE_ERROR."""
_MILLISECOND: Final = 1_000_000
_GOOD: Final = frozenset({"completed", "incomplete"})
_OPERATION: Final = "chat"

_TOKENS: Final = {
    "input": "gen_ai.usage.input_tokens",
    "output": "gen_ai.usage.output_tokens",
    "cached": "gen_ai.usage.cache_read.input_tokens",
    "reasoning": "gen_ai.usage.reasoning.output_tokens",
}
"""The attribute of each row of the usage."""


def otlp_json(view: View) -> bytes:
    """The bytes of an `.otlp.json`, with a trace for each answer."""
    resource: dict[str, _Value] = {"service.name": "partstream", "service.version": __version__}
    resource |= {f"partstream.version.{name}": version for name, version in view["versions"].items()}
    resource["partstream.codec.redaction"] = view["redaction"]["level"]
    spans = [_span(answer, view["title"]) for answer in view["answers"]]
    scope = {"scope": {"name": "partstream", "version": __version__}, "spans": spans}
    return (
        dumps({"resourceSpans": [{"resource": {"attributes": _attributes(resource)}, "scopeSpans": [scope]}]}) + b"\n"
    )


def _span(answer: AnswerView, title: str) -> dict[str, Any]:
    began = nanoseconds_of(answer["startedAt"] or "") or 0
    events = sorted(_events(answer), key=lambda one: one[0])
    moments = [at for at, _, _ in events] + [read[0] for read in answer["reads"] if read[0] is not None]
    ids = sha256(f"{title}\n{answer['startedAt']}\n{answer['id']}".encode(errors="replace")).hexdigest()
    span: dict[str, Any] = {
        "traceId": ids[:32],
        "spanId": ids[32:48],
        "name": f"{_OPERATION} {answer['model']}" if answer["model"] else _OPERATION,
        "kind": _CLIENT,
        "startTimeUnixNano": str(began),
        "endTimeUnixNano": str(_time(began, max(moments, default=0.0))),
        "attributes": _attributes(_facts(answer)),
        "events": [
            {"timeUnixNano": str(_time(began, at)), "name": name, "attributes": _attributes(facts)}
            for at, name, facts in events
        ],
    }
    if answer["outcome"] not in _GOOD:
        error = answer["error"]
        span["status"] = {"code": _ERROR, "message": answer["outcome"] if error is None else error["message"]}
    return span


def _facts(answer: AnswerView) -> dict[str, _Value]:
    request, response, protocol = answer["request"], answer["response"], answer["protocol"]
    facts: dict[str, _Value | None] = {
        "gen_ai.operation.name": _OPERATION,
        "gen_ai.request.model": answer["model"],
        "gen_ai.response.finish_reasons": None
        if answer["finishReason"] is None
        else [answer["finishReason"]["unified"]],
        "http.request.method": None if request is None else request["method"],
        "http.response.status_code": None if response is None else response["status"],
        "error.type": None if answer["error"] is None else answer["error"]["type"],
        "partstream.wire": None if protocol is None else protocol["name"],
        "partstream.outcome": answer["outcome"],
        "partstream.ending": answer["ending"],
        "partstream.blame": answer["blame"]["who"],
        "partstream.lm.cancellation": sum(event["count"] for event in answer["events"]),
        "partstream.rules_broken": answer["verdict"]["broken"],
    }
    for label, count in () if answer["usage"] is None else answer["usage"]["rows"]:
        facts[_TOKENS.get(label, f"partstream.lm.parts.{label}")] = count
    for number in answer["numbers"]:
        facts[f"partstream.{number['id']}{_UNITS.get(number['unit'], '')}"] = number["value"]
    return {name: value for name, value in facts.items() if value is not None}


_UNITS: Final = {"ms": "_ms", "%": "_percent"}
"""What stands behind the name of a number with a unit."""


def _events(answer: AnswerView) -> Iterator[tuple[float, str, Mapping[str, _Value]]]:
    """Moments of an answer in milliseconds, each with its name and its facts; what has no time is at the beginning."""
    if answer["response"] is not None:
        yield answer["response"]["at"] or 0.0, "partstream.response_head", {}
    parts = answer["parts"]
    for run in answer["runs"]:
        of_run = parts[run["from"] : run["to"] + 1]
        at = run["at"] or 0.0
        facts: dict[str, _Value] = {
            "partstream.lm.parts": len(of_run),
            "partstream.characters": sum(len(part["text"]) for part in of_run),
            "partstream.duration_ms": float((run["until"] or at) - at),
        }
        if of_run and of_run[0]["name"]:
            facts["gen_ai.tool.name"] = of_run[0]["name"]
        if of_run and of_run[0]["callId"]:
            facts["gen_ai.tool.call.id"] = of_run[0]["callId"]
        yield at, f"partstream.{run['kind']}", facts
    times = {event["n"]: event["at"] or 0.0 for event in answer["events"]}
    for gap in answer["gaps"]:
        name = "partstream.stall" if gap["stall"] else "partstream.gap"
        yield times.get(gap["after"], 0.0), name, {"partstream.duration_ms": float(gap["ms"])}
    last = max(times.values(), default=0.0)
    for one in answer["violations"]:
        at = last if one["event"] is None else times.get(one["event"], last)
        facts = {"partstream.rule": one["rule"], "partstream.level": one["level"], "partstream.section": one["section"]}
        yield at, "partstream.broken_rule", facts
    for unmapped in answer["unmapped"]:
        at = min((times.get(number, last) for number in unmapped["events"]), default=0.0)
        yield at, "partstream.unmapped", {"partstream.type": unmapped["type"], "partstream.count": unmapped["count"]}
    if answer["error"] is not None:
        error = answer["error"]
        facts = {"exception.type": error["type"], "exception.message": error["message"]}
        yield last, "exception", facts


def _time(began: int, milliseconds: float) -> int:
    return began + round(milliseconds * _MILLISECOND)


def _attributes(facts: Mapping[str, _Value]) -> list[dict[str, Any]]:
    return [{"key": name, "value": _value(value)} for name, value in facts.items()]


def _value(value: _Value) -> dict[str, Any]:
    if isinstance(value, bool):
        return {"boolValue": value}
    if isinstance(value, int):
        return {"intValue": str(value)}
    if isinstance(value, float):
        return {"doubleValue": value}
    if isinstance(value, list):
        return {"arrayValue": {"values": [_value(one) for one in value]}}
    return {"stringValue": value}
