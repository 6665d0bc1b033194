"""The badge of a report."""

from report_samples import EVERYTHING, FAILED, KEPT, UNJUDGED, check, parsed, report

from partstream_devtools.conformance.report import Verdict
from partstream_devtools.conformance.report_formats import badge_json, badge_svg
from rows import one_test_for

DAY = "2026-11-22"


@one_test_for(
    ("value", "message", "color"),
    [
        (KEPT, "1/1, 1 not applicable, 2026-11-22", "brightgreen"),
        (report(check(Verdict.WARNING)), "1/1, 0 not applicable, 2026-11-22", "brightgreen"),
        (EVERYTHING, "3/7, 1 not applicable, 1 known, 2026-11-22", "red"),
        (report(check(Verdict.UNTESTABLE)), "0/1, 0 not applicable, 2026-11-22", "red"),
        (report(check(Verdict.ERROR)), "0/1, 0 not applicable, 2026-11-22", "red"),
        (UNJUDGED, "not judged, 2026-11-22", "lightgrey"),
        (report(check(Verdict.FAILED, scored=False)), "not judged, 2026-11-22", "lightgrey"),
        (
            report(check(Verdict.PASSED), stale=["a is passed now."]),
            "1/1, 0 not applicable, 2026-11-22",
            "red",
        ),
    ],
)
def test_a_badge_says_how_much_was_judged_and_is_green_only_for_what_was_kept(value: dict, message: str, color: str):
    assert badge_json(value, DAY) == {
        "schemaVersion": 1,
        "label": "partstream contract 1.0",
        "message": message,
        "color": color,
    }


def test_the_svg_says_the_same_to_eyes_and_to_a_screen_reader():
    root = parsed(badge_svg(KEPT, DAY))
    texts = [one.text for one in root.iter("{http://www.w3.org/2000/svg}text")]
    assert texts == ["partstream contract 1.0", "1/1, 1 not applicable, 2026-11-22"]
    assert root.get("role") == "img"
    assert root.get("aria-label") == ": ".join(texts)


def test_the_svg_holds_what_a_report_says_as_text_and_asks_for_nothing():
    root = parsed(badge_svg(report(FAILED, contract='"/><script href="https://example.com">'), DAY))
    assert {one.tag.rpartition("}")[2] for one in root.iter()} == {"svg", "title", "rect", "g", "text"}
    assert not any(name in one.attrib for one in root.iter() for name in ("href", "src", "style", "onload"))
