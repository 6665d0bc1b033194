"""The shapes of what is asked of a group as a whole, as TypedDicts.

Part of :mod:`partstream.hosts.vscode.wire`, which exports them; evaluated at import, as that module is.
"""

from typing import Any, NotRequired, TypedDict

from partstream.hosts.vscode.wire_hubs import HubStanding

__all__ = ["ForgetGroupParams", "Group", "HubStandingParams", "HubStandingResult", "KeyNeed"]


class Group(TypedDict):
    """One group of chatLanguageModels.json, sent whole with every request for its models.

    A restarted sidecar therefore needs no earlier message. `id` is the extension's own stable key of the group. `name`
    is what the person calls it, for the log and errors; absent where the extension does not know it, because VS Code
    does not tell. `configuration` holds the group's keys and values, with secrets in clear text: it
    is never logged. The provider file in the key `provider` serves a group that has one; the built-in gateway serves
    all others.
    """

    id: str
    name: NotRequired[str]
    configuration: dict[str, Any]


class KeyNeed(TypedDict):
    """A provider file asks for an API key; `source` names the file as the group or the configuration does.

    `hadKey` tells whether the provider had a key, which it wants replaced.
    """

    source: str
    hadKey: bool


class HubStandingParams(TypedDict):
    """Asks the hub of a group what is left of the person's budgets."""

    group: Group


class HubStandingResult(TypedDict):
    """What the hub says; null where the group's server is no hub, and then nobody was asked."""

    standing: HubStanding | None


class ForgetGroupParams(TypedDict):
    """The person has removed the group with this id, or has changed its settings, which gives it another id."""

    group: str
