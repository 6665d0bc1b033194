"""The shapes of a hub: joining it, and what is left of a person's budgets, as TypedDicts.

Part of :mod:`partstream.hosts.vscode.wire`, which exports them; evaluated at import, as that module is.
"""

from typing import NotRequired, TypedDict

__all__ = ["HubBudget", "HubStanding", "JoinHubParams", "JoinHubResult", "JoinedHub"]


class JoinHubParams(TypedDict):
    """Gives a join code for a key, at the hub whose address the person has confirmed. The code is never logged."""

    hub: str
    code: str


class JoinedHub(TypedDict):
    """What makes a group of a hub: the base URL and the key, in clear text, which is never logged.

    `person` is the name of the person whose key it is; empty where the hub does not say.
    """

    baseUrl: str
    apiKey: str
    person: str


class JoinHubResult(TypedDict):
    """What the hub gave, or in one sentence why it gave nothing."""

    joined: NotRequired[JoinedHub]
    problem: NotRequired[str]


class HubBudget(TypedDict):
    """What is left of one budget.

    `text` is that in a few words, such as `$3.20 of $5.00 left today`; `shareLeft` is from 0 to 1; `resetsAt` is in
    seconds since 1970, or null for a budget that never does.
    """

    text: str
    shareLeft: float
    resetsAt: float | None


class HubStanding(TypedDict):
    """What a hub says of the person whose key a group has.

    `hub` is its address and `page` its page for people. `budgets` are those that hold, the one with the smallest share
    left first; none if nothing limits this person. `problem` says why nothing is known now.
    """

    hub: str
    page: str
    person: str
    budgets: list[HubBudget]
    problem: NotRequired[str]
