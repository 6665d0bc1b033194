"""Keys and headers for the commands, from environment variables: what stands in arguments, other users can see."""

from __future__ import annotations

import os
from typing import Final

import click

from partstream.gateway.secret import Secret

__all__ = ["KEY_VARIABLE", "header_of", "key_of"]

KEY_VARIABLE: Final = "PARTSTREAM_API_KEY"
"""Holds the key when no other variable is named."""


def key_of(variable: str | None) -> Secret | None:
    """The key in a variable, or in :data:`KEY_VARIABLE`, which may be unset.

    Raises:
        UsageError: The variable that was named holds none.
    """
    value = os.environ.get(variable or KEY_VARIABLE, "").strip()
    if variable and not value:
        raise click.UsageError(f"--api-key-env: got no value in the environment variable {variable}, expected a key")
    return Secret(value) if value else None


def header_of(pair: str) -> tuple[str, str]:
    """A header from `HEADER=VARIABLE`.

    Raises:
        UsageError: It is no such pair, or the variable holds nothing.
    """
    name, equals, variable = pair.partition("=")
    if not equals:
        raise click.UsageError(f"--header-env: got {pair!r}, expected HEADER=VARIABLE")
    value = os.environ.get(variable, "").strip()
    if not value:
        raise click.UsageError(f"--header-env: got no value in the environment variable {variable}, expected one")
    return name, value
