"""The status bar's text about the last answer: a line, and a tooltip in Markdown.

Names come from servers and from people: nothing in them may be markup or an icon. The tooltip leads to commands, which
the extension allows; no other link in it works.
"""

from __future__ import annotations
import re
from typing import TYPE_CHECKING, Final

from partstream.pages.usage import dollars, tokens

if TYPE_CHECKING:
    from partstream.tokens.usage import AnswerUsage, UsageSums
    from partstream.vscode import rpc_types as wire

WARNING_SHARE: Final = 0.75
ERROR_SHARE: Final = 0.9
"""The shares of a model's input limit at which the item changes its colour."""


def plain(text: str) -> str:
    """A text in Markdown, in which nothing is markup."""
    return re.sub(r"\s+", " ", re.sub(r"[\\`*_{}\[\]()#+!<>|$~]", r"\\\g<0>", text))


def usage_item(answer: AnswerUsage, told: wire.DidAnswerParams) -> wire.StatusItem:
    """What the last answer took: input, output, and if known, the cached share of the input and the cost."""
    filled = answer["inputTokens"] / answer["maxInputTokens"]
    pieces = [
        f"{'~' if answer['source'] == 'estimated' else ''}{tokens(answer['inputTokens'])} in",
        f"{tokens(answer['outputTokens'])} out",
    ]
    if answer["cachedTokens"] is not None:
        pieces.append(f"{_percent(answer['cachedTokens'], answer['inputTokens'])} cached")
    if answer["cost"] is not None:
        pieces.append(dollars(answer["cost"]))
    icon = "$(fold)" if answer["edits"] else "$(symbol-number)"
    most = answer["maxInputTokens"]
    full = _percent(answer["inputTokens"], most)  # VS Code's own widget measures against the whole context window
    of_limit = f"{full} of the {tokens(most)} that a prompt may take"
    lines = [
        f"**{plain(answer['model'])}**",
        f"Input: {of_limit} (the context window less what is kept for the answer)",
        *(f"Removed by the server: {plain(edit)}" for edit in answer["edits"]),
    ]
    if told["conversation"] is not None:
        lines.append(f"This conversation: {_sums(told['conversation'])}")
    lines.append(f"Today: {_sums(told['day'])}")
    if "budget" in told:
        lines.append(plain(told["budget"]))
    if answer["cost"] is None and answer["source"] == "reported":
        lines.append("No price of this model is known: the setting prices of the group sets one")
    if answer["source"] == "estimated":
        lines.append("~: estimated, because the server reported no numbers")
    commands = {"Show Token Usage": "showUsage", "Inspect Last Answer": "inspectLastAnswer"}
    lines.append(" · ".join(f"[{title}](command:partstream.{name})" for title, name in commands.items()))
    return {
        "text": f"{icon} {' · '.join(pieces)}",
        "tooltip": "\n\n".join(lines),
        "fullness": "error" if filled >= ERROR_SHARE else "warning" if filled >= WARNING_SHARE else "normal",
    }


def _sums(sums: UsageSums) -> str:
    about = "~" if sums["estimated"] > 0 else ""
    pieces = [
        "1 answer" if sums["answers"] == 1 else f"{sums['answers']} answers",
        f"{about}{tokens(sums['inputTokens'])} in ({_percent(sums['cachedTokens'], sums['inputTokens'])} cached)",
        f"{about}{tokens(sums['outputTokens'])} out",
    ]
    if sums["cost"] is not None:  # a minimum if some answers have no price
        pieces.append(f"{'≥ ' if sums['withoutCost'] > 0 else ''}{dollars(sums['cost'])}")
    return ", ".join(pieces)


def _percent(part: int, whole: int) -> str:
    return f"{int(100 * part / whole + 0.5) if whole else 0}%"
