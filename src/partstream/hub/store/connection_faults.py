"""Why Postgres cannot be reached, in our words.

The words of libpq are looked for and never shown: where an address is wrong, they hold pieces of its password.
"""

from __future__ import annotations

from typing import Final

__all__ = ["fault_of_connecting"]

_FAULTS: Final = (
    ("password authentication failed", "it does not take this user with this password"),
    ("no password supplied", "it wants a password"),
    ("no encryption", "its pg_hba.conf does not let this user in without TLS: try ?sslmode=require behind the address"),
    ("pg_hba.conf", "its pg_hba.conf does not let this user in from here"),
    ('FATAL:  database "', "it has no database of this name: `createdb` makes one"),
    ('FATAL:  role "', "it has no user of this name: `createuser` makes one"),
    ("does not support SSL", "it speaks no TLS, which the address wants"),
    ("certificate verify failed", "its certificate cannot be verified"),
    ("onnection refused", "nothing takes connections there: does it run, at this host and port?"),
    ("failed to resolve host", "no host of this name is known; in a password, write @ as %40, / as %2F and # as %23"),
    ("could not translate host name", "no host of this name is known"),
    ("No such file or directory", "there is no socket of Postgres there: does it run?"),
    ("timeout expired", "it does not answer in good time"),
    ("timed out", "it does not answer in good time"),
    ("too many clients", "it has no connection left: see its max_connections"),
    ("remaining connection slots", "it has no connection left: see its max_connections"),
    ("starting up", "it is starting up"),
    ("shutting down", "it is shutting down"),
    ("in recovery mode", "it is recovering"),
)
"""What libpq or the server says, in English, and what is said of it; the first that is found."""


def fault_of_connecting(message: str) -> str | None:
    """Why a connection could not be made; None if the message is not known.

    Args:
        message: What the driver says, which is not to be shown.
    """
    return next((said for words, said in _FAULTS if words in message), None)
