"""The shapes of the trial of a server that is no group yet, as TypedDicts.

Part of :mod:`partstream.hosts.vscode.wire`, which exports them; evaluated at import, as that module is.
"""

from typing import Any, Literal, NotRequired, TypeAlias, TypedDict

__all__ = ["ServerProblem", "ServerProblemKind", "SpokenHere", "TriedModel", "TryServerParams", "TryServerResult"]


class TryServerParams(TypedDict):
    """Asks a server for its models before it becomes a group.

    `configuration` holds the keys and values that the group would have, with secrets in clear text: it is never logged.
    """

    configuration: dict[str, Any]


ServerProblemKind: TypeAlias = Literal["address", "key", "connection", "list", "other"]


class ServerProblem(TypedDict):
    """Why the server cannot be used.

    `kind` says what a person can change: the address, the key, or what keeps the connection from being made; `list` is
    a server that can be used and does not list its models. `message` is one sentence that names what was found and what
    helps. `baseUrl` is the address that answers instead, where one does.
    """

    kind: ServerProblemKind
    message: str
    baseUrl: NotRequired[str]


class SpokenHere(TypedDict):
    """What the server speaks: the protocol's title, below which base URL, and how that is known.

    `baseUrl` is for people: what may be secret in it is hidden.
    """

    protocol: str
    baseUrl: str
    reason: str


class TriedModel(TypedDict):
    """A model that the server lists; a field is absent where nobody says it. Prices are dollars per million tokens."""

    id: str
    name: str
    contextWindow: NotRequired[int]
    toolCalling: NotRequired[bool]
    imageInput: NotRequired[bool]
    inputPrice: NotRequired[float]
    outputPrice: NotRequired[float]


class TryServerResult(TypedDict):
    """The models of the server, or its problem; and what it speaks, as far as that is known."""

    models: list[TriedModel]
    spoken: NotRequired[SpokenHere]
    problem: NotRequired[ServerProblem]
