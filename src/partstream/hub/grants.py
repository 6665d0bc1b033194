"""Which models a key may use: those that its team, its person and the key itself all allow; pure."""

from __future__ import annotations

from fnmatch import fnmatchcase
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from partstream.hub.directory import Directory, Key

__all__ = ["may_use"]


def may_use(directory: Directory, key: Key, model_id: str) -> bool:
    """Whether a key may use a model.

    Args:
        directory: Who there is.
        key: The key, of a person who is there.
        model_id: The id of the model as clients name it.
    """
    person = directory.people.get(key.person)
    if person is None:
        return False
    team = directory.team_of(person)
    lists = (key.models, person.models, None if team is None else team.models)
    return all(one is None or any(fnmatchcase(model_id, pattern) for pattern in one) for one in lists)
