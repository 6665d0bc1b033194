"""Provider state that a wire has no place for, as a text that clients give back as it is.

:func:`seal_state` makes opaque state: one item and the other fields of the metadata, which say who gave it. A protocol
chooses the place of the text: a signature, an entry of its own, an encrypted field.

:func:`sign` makes the text of a JSON value that a server gives to clients and gets back: it is signed with a secret, so
that the server reads only its own texts again, and it is not encrypted.
"""

from __future__ import annotations
import hmac
import re
from base64 import urlsafe_b64decode, urlsafe_b64encode
from collections.abc import Mapping
from hashlib import blake2b
from typing import Any, Final, NamedTuple

from partstream.codec.json_codec import JSONDecodeError, dumps, is_json, loads
from partstream.conversation.provider_state import ITEMS, decode_state, encode_state
from partstream.errors import CallerError


class OpaqueState(NamedTuple):
    """What was sealed: one item in the metadata of thinking.

    Attributes:
        item: The item, or None where the metadata lists none.
        beside: The other fields of the metadata.
    """

    item: Mapping[str, Any] | None
    beside: Mapping[str, Any]


def beside_items(metadata: Mapping[str, Any]) -> dict[str, Any]:
    """The fields of the metadata of thinking, without its list of items."""
    return {name: value for name, value in metadata.items() if name != ITEMS}


def seal_state(item: Mapping[str, Any] | None, beside: Mapping[str, Any]) -> str | None:
    """The text that carries an item, of printable ASCII; None if JSON has no form for it.

    Args:
        item: The item, or None where the metadata lists none.
        beside: The other fields of the metadata.
    """
    sealed = {"item": item, "beside": beside}
    return encode_state(sealed) if is_json(sealed) else None


def open_state(text: str) -> OpaqueState | None:
    """Opens what :func:`seal_state` sealed; None for any other text."""
    sealed = decode_state(text)
    if not isinstance(sealed, dict):
        return None
    item, beside = sealed.get("item"), sealed.get("beside")
    return OpaqueState(item, beside) if isinstance(item, Mapping | None) and isinstance(beside, Mapping) else None


NO_STATE: Final = encode_state({"item": None, "beside": {}})
"""The text that says no state at all, for a field that must not be empty."""


# ---- Signed text ----

MIN_SECRET_BYTES: Final = 16

SIGNED: Final = "partstream-signed"
"""What every signed text begins with, whatever its version."""

_FORM: Final = re.compile(rf"{SIGNED}1\.([A-Za-z0-9_-]+)\.([A-Za-z0-9_-]{{43}})")


class WrongSignatureError(CallerError):
    """A text was not signed with this secret, or was changed."""


def sign(value: object, secret: bytes) -> str:
    """The text of a JSON value: ASCII letters, digits, dots, hyphens and underscores.

    Args:
        value: The value.
        secret: 16 bytes or more; of more than 64, the digest counts.

    Raises:
        ValueError: The secret is too short.
    """
    payload = _base64(dumps(value))
    return f"{SIGNED}1.{payload}.{_signature(payload, secret)}"


def open_signed(text: str, secret: bytes) -> Any:
    """The value in a text from :func:`sign`.

    Raises:
        WrongSignatureError: The text is not one of this secret.
    """
    match = _FORM.fullmatch(text)
    if match is None or not hmac.compare_digest(match[2], _signature(match[1], secret)):
        raise WrongSignatureError("got a text that this server has not signed")
    try:
        return loads(urlsafe_b64decode(match[1] + "=" * (-len(match[1]) % 4)))
    except (ValueError, JSONDecodeError) as error:  # no code of ours signs this
        raise WrongSignatureError("got a signed text that holds no JSON") from error


def _signature(payload: str, secret: bytes) -> str:
    if len(secret) < MIN_SECRET_BYTES:
        raise ValueError(f"got a secret of {len(secret)} bytes, expected {MIN_SECRET_BYTES} or more")
    key = secret if len(secret) <= blake2b.MAX_KEY_SIZE else blake2b(secret).digest()
    return _base64(blake2b(payload.encode(), digest_size=32, key=key).digest())


def _base64(data: bytes) -> str:
    return urlsafe_b64encode(data).decode().rstrip("=")
