"""Reports to write in every form: their checks have all verdicts, and their texts what acts on a reader."""

from typing import Any
from xml.etree import ElementTree as ET

from partstream_devtools.conformance.report import Blame, CheckResult, Verdict

NASTY = "</script><script>alert(1)</script> | `x` \x1b[31m \x00 \ud83d https://example.com @all ]]> <b>"
"""What a target can say: markup of HTML, XML and Markdown, characters that act on a terminal, half a character."""


def check(
    verdict: Verdict, rule: str = "tool-call.unique-call-id", scenario: str = "two-calls", **fields: Any
) -> CheckResult:
    """A check with a verdict."""
    said = {"promise": "No two tool calls of a response share a call id.", "duration_ms": 12.34} | fields
    return CheckResult(f"{rule}/{scenario}", rule, "3.2", "MUST", scenario, verdict, **said)


FAILED = check(
    Verdict.FAILED,
    blame=Blame.TARGET,
    got=f"call id 'c1' at parts 5 and 7 {NASTY}",
    index=1,
    at_ms=412.0,
    answer=0,
    transcript="two-calls",
    repeat="partstream conformance my_provider.py --replay conformance-failures/x.json",
    flaky={"failed": 2, "of": 3},
    hints=("a final snapshot is handed out again after the deltas",),
)
TRANSCRIPT: dict[str, Any] = {
    "transcript": "2",
    "scenario": "two-calls",
    "prompt": "Go on.",
    "script": {"answers": [{"blocks": [{"call": "get_weather", "arguments": {"city": "Oslo"}}]}]},
    "moves": ["send", "wait"],
    "answers": [
        {
            "request": {"model": "m", "messages": [], "tools": ["get_weather"], "options": {}},
            "events": [
                {"at": 8.0, "part": {"type": "tool_call", "call_id": "c1", "name": "get_weather", "input": {}}},
                {"at": 12.0, "part": {"type": "text", "value": NASTY.encode(errors="backslashreplace").decode()}},
                {"at": 13.5, "kind": "rejected", "error": {"type": "ValueError", "message": "no"}},
            ],
        }
    ],
    "upstream": [],
}


def report(*checks: CheckResult, name: str = "my_provider.py", **fields: Any) -> dict[str, Any]:
    """The JSON form of a report."""
    return {
        "kit": "0.11.0",
        "contract": "1.0",
        "requirements": "1.0",
        "target": {"name": name, "kind": "provider", "version": None},
        "checks": [one.to_json() for one in checks],
        "transcripts": {"two-calls": TRANSCRIPT},
    } | fields


EVERYTHING = report(
    FAILED,
    check(Verdict.PASSED, "text.string-value", "text"),
    check(Verdict.PASSED, "stream.visible-part", "text"),
    CheckResult("text.utf-8/text", "text.utf-8", "2.2", "SHOULD", "text", Verdict.WARNING, "UTF-8.", got="half"),
    check(Verdict.NOT_APPLICABLE, "request.images-arrive", "image", got="images are not declared"),
    check(Verdict.NOT_JUDGED, "tool-call.namespaced-call-id", "two-calls", got="needs the provider's namespace"),
    check(Verdict.UNTESTABLE, "tool-call.atomic", "two-calls", got="no call came after 3 tries"),
    check(Verdict.ERROR, "usage.as-reported", "usage", got="KeyError: 'usage'", blame=Blame.KIT),
    check(Verdict.FAILED, "thinking.string-id", "thinking", got="the id is 3", expected=True),
    check(Verdict.FAILED, "tokens.monotone", "tokens", got="3 < 4", scored=False),
)
"""Every verdict once, a known failure, and one that is not scored."""
KEPT = report(check(Verdict.PASSED), check(Verdict.NOT_APPLICABLE, "request.images-arrive", "image"))
UNJUDGED = report(check(Verdict.NOT_JUDGED))


def parsed(document: str) -> ET.Element:
    """The root of an XML document of ours."""
    return ET.fromstring(document.encode())  # noqa: S314 - it was written here
