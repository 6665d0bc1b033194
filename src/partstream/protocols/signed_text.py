"""JSON values that a server gives to clients and gets back, signed with a secret so that only its own are read again.

The text says what it holds to everybody who has it: it is signed, not encrypted.
"""

from __future__ import annotations

import hmac
import re
from base64 import urlsafe_b64decode, urlsafe_b64encode
from hashlib import blake2b
from typing import Any, Final

from partstream.codec.json_codec import JSONDecodeError, dumps, loads
from partstream.errors import CallerError

__all__ = ["MIN_SECRET_BYTES", "SIGNED", "WrongSignatureError", "open_signed", "sign"]

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
    except (ValueError, JSONDecodeError) as error:  # nobody signs this
        raise WrongSignatureError("got a signed text that holds no JSON") from error


def _signature(payload: str, secret: bytes) -> str:
    if len(secret) < MIN_SECRET_BYTES:
        raise ValueError(f"got a secret of {len(secret)} bytes, expected {MIN_SECRET_BYTES} or more")
    key = secret if len(secret) <= blake2b.MAX_KEY_SIZE else blake2b(secret).digest()
    return _base64(blake2b(payload.encode(), digest_size=32, key=key).digest())


def _base64(data: bytes) -> str:
    return urlsafe_b64encode(data).decode().rstrip("=")
