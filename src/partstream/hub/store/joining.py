"""Codes with which people get their keys, each once: each function is a part of one transaction."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from partstream.codec.json_codec import dumps, loads
from partstream.hub.directory import Key, Put
from partstream.hub.store.directory_rows import change_directory
from partstream.hub.store.values import DirectoryConflictError

if TYPE_CHECKING:
    from partstream.hub.store.values import JoinCode, Transaction

__all__ = ["add_join_code", "join"]

_PERSON: Final = "SELECT is_disabled FROM hub_people WHERE name = ?"
_ADD: Final = (
    "INSERT INTO hub_join_codes (digest, person, expires_at, label, key_expires_at, key_models) "
    "VALUES (?, ?, ?, ?, ?, ?)"
)
_FORGET_OLD: Final = "DELETE FROM hub_join_codes WHERE expires_at <= ?"
_TAKE: Final = (
    "DELETE FROM hub_join_codes WHERE digest = ? AND expires_at > ? RETURNING person, label, key_expires_at, key_models"
)


def add_join_code(work: Transaction, code: JoinCode) -> None:
    """Keeps the digest of a code, and forgets those that are over."""
    work.run(_FORGET_OLD, (work.now(),))
    if not work.rows(_PERSON, (code.person,)):
        raise DirectoryConflictError(f"invite person {code.person}", f"there is no person {code.person}")
    models = None if code.key_models is None else dumps(code.key_models).decode()
    work.run(_ADD, (code.digest, code.person, code.expires_at, code.label, code.key_expires_at, models))


def join(work: Transaction, code_digest: bytes, key_id: str, key_digest: bytes) -> Key | None:
    """Makes a key for a code, which is deleted by that: of two that use it at once, one gets nothing."""
    found = work.rows(_TAKE, (code_digest, work.now()))
    if not found:
        return None
    person, label, expires_at, said = found[0]
    if any(is_disabled for (is_disabled,) in work.rows(_PERSON, (person,))):
        return None
    models = None if said is None else tuple(loads(said))
    key = Key(key_id, key_digest, person, label, models, expires_at=expires_at)
    change_directory(work, [Put(key)], f"join code of {person}", None)
    return key
