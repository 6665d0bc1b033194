"""The shapes of what was found to keep a model from answering, as TypedDicts.

Part of :mod:`partstream.hosts.vscode.wire`, which exports them; evaluated at import, as that module is.
"""

from typing import NotRequired, TypedDict

from partstream.hosts.vscode.wire_groups import Group
from partstream.pages.shown_finding import ShownFinding

__all__ = ["ExamineParams", "ExamineResult", "FindingsPageParams", "HarnessSettings", "ShownFinding"]


class HarnessSettings(TypedDict):
    """What decides whether VS Code's Copilot harness offers the models: the kind of window, and two settings."""

    isRemote: bool
    listsModels: bool
    allowsSignedOut: bool


class ExamineParams(TypedDict):
    """Asks what keeps the models of a group from answering, or with `group` null those of a provider in the settings.

    `provider` is the name of that provider, and null for a group. `model` is the id of a listed model, which is asked
    for a short answer: only that may cost something; null asks none. `name` is how the person calls what is examined.
    `harness` is missing where VS Code has no such harness.
    """

    group: Group | None
    provider: str | None
    model: str | None
    name: str
    harness: NotRequired[HarnessSettings]


class ExamineResult(TypedDict):
    """What was found, in the order of the checks; `report` says the same in Markdown. No key is in either."""

    findings: list[ShownFinding]
    report: str


class FindingsPageParams(TypedDict):
    """Asks for the page of what was found, for the webview of `PageParams`; `name` and `findings` stand in it."""

    nonce: str
    source: str
    name: str
    findings: list[ShownFinding]
