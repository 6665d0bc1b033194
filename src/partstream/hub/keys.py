"""Keys of people, and codes with which they get one: made here, shown once, and known only by their digests.

A key is `psk_ID_SECRET`: a public id by which it is found and named, and 256 random bits. So much randomness needs no
slow digest, and one SHA-256 tells whether a key is right. Nothing is asked for that: a worker has all digests in its
snapshot of the directory.
"""

from __future__ import annotations

import hmac
import re
import secrets
from hashlib import sha256
from typing import TYPE_CHECKING, Final, NamedTuple

from partstream.upstreams.secret import Secret

if TYPE_CHECKING:
    from partstream.hub.directory import Directory, Key

__all__ = ["NewCode", "NewKey", "code_digest", "is_valid", "new_code", "new_key", "read_key", "verified_key"]

_ALPHABET: Final = "abcdefghijkmnpqrstuvwxyz23456789"
"""Letters and digits that nobody mistakes for each other."""
_ID_LENGTH: Final = 10
_SECRET_BYTES: Final = 32
_KEY: Final = re.compile(rf"psk_([{_ALPHABET}]{{{_ID_LENGTH}}})_[A-Za-z0-9_-]{{43}}", re.ASCII)
_CODE: Final = re.compile(r"psj_[A-Za-z0-9_-]{43}", re.ASCII)
_NO_DIGEST: Final = bytes(32)
"""No text has this digest."""


class NewKey(NamedTuple):
    """A key that was just made. Its text is nowhere else.

    Attributes:
        id: The public id.
        secret: The whole key, `psk_ID_SECRET`.
        digest: What the directory keeps of it, 32 bytes.
    """

    id: str
    secret: Secret
    digest: bytes


class NewCode(NamedTuple):
    """A code that was just made, with which its person gets a key once.

    Attributes:
        secret: The code, `psj_SECRET`.
        digest: What the database keeps of it, 32 bytes.
    """

    secret: Secret
    digest: bytes


def new_key() -> NewKey:
    """Makes a key of 256 random bits."""
    key_id = "".join(secrets.choice(_ALPHABET) for _ in range(_ID_LENGTH))
    text = f"psk_{key_id}_{secrets.token_urlsafe(_SECRET_BYTES)}"
    return NewKey(key_id, Secret(text), _digest(text))


def new_code() -> NewCode:
    """Makes a code of 256 random bits."""
    text = f"psj_{secrets.token_urlsafe(_SECRET_BYTES)}"
    return NewCode(Secret(text), _digest(text))


def code_digest(text: str) -> bytes | None:
    """The digest of a code that somebody gives; None for a text that is none."""
    return _digest(text) if _CODE.fullmatch(text) else None


def read_key(text: str) -> tuple[str, bytes] | None:
    """The id and the digest of a key that somebody gives; None for a text that is none."""
    found = _KEY.fullmatch(text)
    return None if found is None else (found[1], _digest(text))


def verified_key(directory: Directory, text: str, time: float) -> Key | None:
    """The key that a text is; None if it is unknown, wrong, expired or revoked, or its person or team is disabled.

    All of these take the same steps up to the comparison, which takes the same time wherever the digests differ.

    Args:
        directory: Who there is.
        text: What a request carries.
        time: The time of the database, in seconds since 1970.
    """
    said = read_key(text)
    key_id, digest = ("", _digest(text)) if said is None else said
    key = directory.keys.get(key_id)
    is_right = hmac.compare_digest(digest, _NO_DIGEST if key is None else key.digest)
    return key if key is not None and is_right and is_valid(directory, key, time) else None


def is_valid(directory: Directory, key: Key, time: float) -> bool:
    """Whether a key of the directory is accepted at a time: it is not expired and not revoked, its person is there, and
    neither the person nor the team is disabled."""
    if key.revoked_at is not None or (key.expires_at is not None and key.expires_at <= time):
        return False
    person = directory.people.get(key.person)
    if person is None or person.is_disabled:
        return False
    team = directory.team_of(person)
    return team is None or not team.is_disabled


def _digest(text: str) -> bytes:
    return sha256(text.encode(errors="surrogatepass")).digest()
