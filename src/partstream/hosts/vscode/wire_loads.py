"""The shapes of loading a person's own provider, as TypedDicts.

Part of :mod:`partstream.hosts.vscode.wire`, which exports them; evaluated at import, as that module is.
"""

from typing import TypedDict

__all__ = ["LoadProblem", "ProviderDidLoadParams"]


class LoadProblem(TypedDict):
    """Why a person's own provider could not be loaded.

    `message` is one sentence without the place; `file` and `line`, counted from 1, are the place in the code, or null.
    With `keepsOld` the version before still answers.
    """

    message: str
    file: str | None
    line: int | None
    keepsOld: bool


class ProviderDidLoadParams(TypedDict):
    """A person's own provider was loaded, or could not be loaded for the reason in `problem`.

    `group` is the group's id; null stands for the providers in the configuration. `file` is the provider's file; null
    if it is not known.
    """

    group: str | None
    provider: str
    file: str | None
    problem: LoadProblem | None
