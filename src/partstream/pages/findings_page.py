"""What keeps a model from answering, for people: each check with a sign, what was found and what helps.

The page stands in a webview of VS Code, whose extension answers what its buttons ask for. The text is for reports.
"""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, Final

from partstream.codec.text import visible
from partstream.vscode.pages.document import document, resource, text

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from partstream.pages.shown_finding import ShownFinding
    from partstream.vscode.pages.document import ContentPolicy

__all__ = ["findings_html", "findings_text"]

_PACKAGE: Final = "partstream.vscode.pages.document"
_SIGNS: Final[Mapping[str, str]] = {"fine": "✓", "warning": "!", "problem": "✗"}
_BUTTONS: Final = (
    ("copy", "Copy", "The report is in the clipboard."),
    ("again", "Test Again", "The checks run again."),
)
"""The type of the message that a button posts, its label, and what is said when it is pressed."""


def findings_html(name: str, findings: Sequence[ShownFinding], policy: ContentPolicy) -> str:
    """The page as one document.

    Args:
        name: How the person calls what was examined.
        findings: What was found, in the order of the checks.
        policy: How the page names what it allows.
    """
    title = _title(name)
    rows = "".join(map(_row, findings))
    buttons = "".join(
        f'<button type="button" data-message="{message}" data-said="{text(said)}">{label}</button>'
        for message, label, said in _BUTTONS
    )
    body = (
        f"<main><h1>{text(title)}</h1><p>{text(_summary(findings))}</p>"
        f'<ol class="findings">{rows}</ol><p class="buttons">{buttons}</p>'
        '<p class="quiet" id="said" role="status"></p></main>'
    )
    styles = (resource(_PACKAGE, "theme.css") + resource(_PACKAGE, "findings.css"),)
    return document(title, body, policy, styles=styles, scripts=(resource(_PACKAGE, "findings.js"),))


def findings_text(name: str, findings: Sequence[ShownFinding]) -> str:
    """The same as Markdown, to be pasted into a report."""
    lines = [f"## {visible(_title(name))}", "", _summary(findings), ""]
    for finding in findings:
        lines.append(f"- {_SIGNS[finding['verdict']]} **{_line(finding['subject'])}**: {_line(finding['says'])}")
        if finding["advice"]:
            lines.append(f"  What helps: {_line(finding['advice'])}")
    return "\n".join([*lines, ""])


def _title(name: str) -> str:
    return f"Connection of {name}"


def _row(finding: ShownFinding) -> str:
    verdict = finding["verdict"]
    advice = f'<p class="advice"><span class="quiet">What helps:</span> {text(finding["advice"])}</p>'
    return (
        f'<li class="{verdict}"><span class="sign" aria-hidden="true">{_SIGNS[verdict]}</span>'
        f'<div><p><span class="unseen">{verdict}: </span><strong>{text(finding["subject"])}</strong>: '
        f"{text(finding['says'])}</p>{advice if finding['advice'] else ''}</div></li>"
    )


def _summary(findings: Sequence[ShownFinding]) -> str:
    """How it is all in all."""
    counts = Counter(finding["verdict"] for finding in findings)
    problems, warnings = (_counted(counts[verdict], verdict) for verdict in ("problem", "warning"))
    if counts["problem"]:
        return f"{problems}{f' and {warnings}' if counts['warning'] else ''} found."
    return f"No problem found{f', and {warnings}' if counts['warning'] else ''}."


def _counted(count: int, thing: str) -> str:
    return f"{count} {thing}{'' if count == 1 else 's'}"


def _line(words: str) -> str:
    return " ".join(visible(words).split())
