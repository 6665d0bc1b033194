"""The badge of a report: a static SVG, and the JSON that the badge service shields.io reads from an address.

It says the version of the contract, the checks that passed of those that were judged, how many did not apply, and the
day of the run: a number without these says less than it seems to.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final
from xml.sax.saxutils import escape, quoteattr

from partstream.devtools.conformance.report import tally_of

if TYPE_CHECKING:
    from collections.abc import Mapping

__all__ = ["badge_json", "badge_svg"]

_COLORS: Final = {"brightgreen": "#2e7d32", "red": "#c62828", "lightgrey": "#616161"}
"""The names that shields.io has for colours, and dark ones on which white letters can be read (WCAG 2.2, 1.4.3)."""

_LETTER: Final = 6.7  # units of the SVG for a letter of 11 units, on average
_PADDING: Final = 10


def badge_json(report: Mapping[str, Any], day: str) -> dict[str, Any]:
    """The JSON of a shields.io endpoint.

    Args:
        report: The JSON form of a report.
        day: The day of the run, such as `2026-11-22`.
    """
    label, message, color = _said(report, day)
    return {"schemaVersion": 1, "label": label, "message": message, "color": color}


def badge_svg(report: Mapping[str, Any], day: str) -> str:
    """The badge as an SVG document, for the same arguments."""
    label, message, color = _said(report, day)
    left, right = (round(len(text) * _LETTER + 2 * _PADDING) for text in (label, message))
    width = left + right
    text = f"{label}: {message}"
    letters = 'font-family="Verdana,DejaVu Sans,sans-serif" font-size="11" fill="#fff" text-anchor="middle"'
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{width}" height="20" role="img" aria-label={quoteattr(text)}>'
        f"<title>{escape(text)}</title>"
        f'<rect width="{left}" height="20" fill="#424242"/>'
        f'<rect x="{left}" width="{right}" height="20" fill="{_COLORS[color]}"/>'
        f"<g {letters}>"
        f'<text x="{left / 2:g}" y="14">{escape(label)}</text>'
        f'<text x="{left + right / 2:g}" y="14">{escape(message)}</text>'
        "</g></svg>\n"
    )


def _said(report: Mapping[str, Any], day: str) -> tuple[str, str, str]:
    tally = tally_of(report)
    label = f"partstream contract {report['contract']}"
    if not tally.judged:
        return label, f"not judged, {day}", "lightgrey"
    numbers = f"{tally.passed}/{tally.judged}, {tally.not_applicable} not applicable"
    known = f", {tally.expected} known" if tally.expected else ""
    return label, f"{numbers}{known}, {day}", "brightgreen" if tally.is_kept else "red"
