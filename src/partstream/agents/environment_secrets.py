"""The keys in the environment, which an agent's client may put into the text of an error."""

from __future__ import annotations

import os
import re
from typing import Final

from partstream.redaction import Redactor

__all__ = ["without_secrets"]

_SECRET_NAME: Final = re.compile(r"KEY|TOKEN|SECRET|PASSWORD|CREDENTIAL", re.IGNORECASE)
_SHORTEST: Final = 8
"""The fewest characters of a value that is taken for a secret: `TOKEN_LIMIT=500` holds none."""


def without_secrets(text: str) -> str:
    """A text without the values of the environment variables that are called like secrets."""
    found = [value for name, value in os.environ.items() if _SECRET_NAME.search(name) and len(value) >= _SHORTEST]
    return Redactor(found).redact(text)
