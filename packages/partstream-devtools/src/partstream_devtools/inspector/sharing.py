"""The files in which a recording is given away, each in the form that the ending of its name says.

- `.md`: the view as Markdown for an issue: what was asked, how it ended, whose fault it is, numbers, and how to repeat
  it. Every text of a stream is escaped or code, so that it acts on nothing.
- `.otlp.json`: the view as spans in the JSON of OTLP, which OpenTelemetry's collectors and viewers of traces read. An
  answer is a span; its runs of parts, its gaps and what it broke are events of the span. No text of a person or a model
  is in it. Names are those of the semantic conventions for generative AI where these have one (server/telemetry.py has
  the same), else they begin with `partstream.`. Source of the form: OTLP 1.5, "JSON Protobuf Encoding": ids in
  hexadecimal digits, enumerations as numbers, 64-bit numbers as texts.
- `.html`: the page to read; the archive of a bundle holds it too.
- The forms of bundles: devtools/bundles/forms.py.
"""

from __future__ import annotations
from collections.abc import Callable, Iterator, Mapping
from hashlib import sha256
from pathlib import PurePath
from typing import TYPE_CHECKING, Any, Final, TypeAlias

from partstream._version import __version__
from partstream.codec.json_codec import dumps
from partstream.codec.text import inline_code, markdown_text, visible
from partstream.lm.outputs import VALID
from partstream.pages.document import Hashes
from partstream_devtools.bundles.archive import BUNDLE_ENDING, write_bundle
from partstream_devtools.bundles.exchange import Bundle, RedactionLevel, nanoseconds_of
from partstream_devtools.bundles.forms import FORMS, write_as
from partstream_devtools.inspector.page.assembly import page_html, source_sentence
from partstream_devtools.inspector.shapes import AnswerView, View
from partstream_devtools.inspector.view import ViewedFile, account_of, facts_of, view_of

if TYPE_CHECKING:
    from partstream_devtools.redaction.redacting import RedactionReport

# ---- What a file will hold ----

_LONGEST_SAMPLE: Final = 120  # characters


def preview_lines(report: RedactionReport) -> Iterator[str]:
    """Counts by rule, redacted samples, and texts that stay (docs/wires/practice.md#preview-before-saving)."""
    replaced = sorted(report.counts.items(), key=lambda rule: -rule[1])
    yield "Replaced: " + (", ".join(f"{name} {count:,}" for name, count in replaced) or "nothing")
    kept = ", ".join(f"{place} ({count:,})" for place, count in report.kept.items())
    yield "Texts that stay: " + ("all" if report.level is RedactionLevel.NONE else kept or "none")
    if report.samples:
        yield from ("", "As it will read:")
    for sample in report.samples:
        shown = " ".join(sample.text.split())
        more = "…" if len(shown) > _LONGEST_SAMPLE else ""
        yield f"{sample.rule}, {sample.place}: {shown[:_LONGEST_SAMPLE]}{more}"


# ---- Markdown ----

_LONGEST_TEXT: Final = 600


def summary_markdown(view: View) -> bytes:
    """The bytes of a `.md`."""
    versions = ", ".join(f"{name} {version}" for name, version in view["versions"].items())
    lines = [f"# {_text(view['title'])}", "", f"- Versions: {_text(versions) or 'unknown'}"]
    lines.append(f"- Recording: {_text(source_sentence(view))}")
    if view["redaction"]["kept"]:
        lines.append(f"- Kept at wish: {', '.join(view['redaction']['kept'])}")
    for answer in view["answers"]:
        lines += ["", f"## {_text(answer['title'])}", ""]
        lines += [f"- {name}: {_code(value)}" for name, value in facts_of(answer)]
        for row in account_of(answer):
            begin = "  " * (row.level - 1) + "- " + (f"{_text(row.name)}: " if row.name else "")
            shown = _code if row.form == "quoted" else _text
            lines += [begin + shown(line) for line in row.value.splitlines()]
    if view["commands"]:
        lines += ["", "## Repeat it", "", "```sh", *(_line(one["text"]) for one in view["commands"]), "```"]
    return ("\n".join(lines) + "\n").encode(errors="replace")


def _line(text: str) -> str:
    return visible(text.replace("\r", "").replace("\n", " "))


def _text(text: str) -> str:
    """A text of ours, which may quote others."""
    return markdown_text(_line(text)[:_LONGEST_TEXT])


def _code(text: str) -> str:
    """A text of a stream, in a row of a table too."""
    return inline_code(_line(text)[:_LONGEST_TEXT] or "(empty)").replace("|", "\\|")


# ---- OTLP ----

_Value: TypeAlias = "str | bool | int | float | list[str]"
_CLIENT: Final = 3  # SPAN_KIND_CLIENT
_ERROR: Final = 2  # STATUS_CODE_ERROR
_MILLISECOND: Final = 1_000_000
_OPERATION: Final = "chat"

_TOKENS: Final = {
    "input": "gen_ai.usage.input_tokens",
    "output": "gen_ai.usage.output_tokens",
    "cached": "gen_ai.usage.cache_read.input_tokens",
    "reasoning": "gen_ai.usage.reasoning.output_tokens",
}
"""The attribute of each row of the usage."""
_UNITS: Final = {"ms": "_ms", "%": "_percent"}
"""The ending of the name of a number with a unit."""


def otlp_json(view: View) -> bytes:
    """The bytes of an `.otlp.json`, with a trace for each answer."""
    resource: dict[str, _Value] = {"service.name": "partstream", "service.version": __version__}
    resource |= {f"partstream.version.{name}": version for name, version in view["versions"].items()}
    resource["partstream.redaction"] = view["redaction"]["level"]
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
        "attributes": _attributes(_otlp_facts(answer)),
        "events": [
            {"timeUnixNano": str(_time(began, at)), "name": name, "attributes": _attributes(facts)}
            for at, name, facts in events
        ],
    }
    if answer["outcome"] not in VALID:
        error = answer["error"]
        span["status"] = {"code": _ERROR, "message": answer["outcome"] if error is None else error["message"]}
    return span


def _otlp_facts(answer: AnswerView) -> dict[str, _Value]:
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
        "partstream.events": sum(event["count"] for event in answer["events"]),
        "partstream.rules_broken": answer["verdict"]["broken"],
    }
    for label, count in () if answer["usage"] is None else answer["usage"]["rows"]:
        facts[_TOKENS.get(label, f"partstream.usage.{label}")] = count
    for number in answer["numbers"]:
        facts[f"partstream.{number['id']}{_UNITS.get(number['unit'], '')}"] = number["value"]
    return {name: value for name, value in facts.items() if value is not None}


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


# ---- The forms ----

VIEW_EXPORTS: Final[Mapping[str, Callable[[View], bytes]]] = {".otlp.json": otlp_json, ".md": summary_markdown}
"""Files that are made of a view, by the endings of their names."""
_PAGE: Final = ".html"
_ZIPS: Final = next(form.endings for form in FORMS if BUNDLE_ENDING in form.endings)
_NAMES: Final = {".otlp.json": "OpenTelemetry traces", ".md": "summary for an issue"}

SHARED_FORMS: Final[Mapping[str, tuple[str, ...]]] = {
    **{form.name: form.endings for form in FORMS if form.write is not None},
    **{_NAMES.get(ending, ending): (ending,) for ending in VIEW_EXPORTS},
    "page to read": (_PAGE,),
}
"""The endings of names by the forms, with the dot; the first of a form is used for new files."""


def shared_bytes(bundle: Bundle, name: str) -> bytes:
    """A bundle, redacted already, in the form that the name of the file says, with or without folders.

    Raises:
        BundleError: The ending says no form, or the form cannot hold the bundle.
    """
    lower, shown = name.lower(), PurePath(name).name
    export = next((made for ending, made in VIEW_EXPORTS.items() if lower.endswith(ending)), None)
    if export is None and not lower.endswith((_PAGE, *_ZIPS)):
        return write_as(bundle, name)
    view = view_of([ViewedFile(shown, "bundle", bundle, shown)])
    if export is not None:
        return export(view)
    page = page_html(view, Hashes())
    return page.encode() if lower.endswith(_PAGE) else write_bundle(bundle, page)
