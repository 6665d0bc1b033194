"""One configuration from all places of settings, and the keys that it names.

What reads places and keys is loaded when first used: the table of settings needs neither.
"""

from __future__ import annotations
from importlib import import_module
from typing import TYPE_CHECKING, Any

import partstream.codec.silent_log  # noqa: F401 - for its effect
from partstream.config.table import SETTINGS, RawValue, Resolved, Value
from partstream.settings.row import Setting, SettingSource

if TYPE_CHECKING:
    from partstream.config.loading import Configuration, load_configuration


__all__ = [
    "SETTINGS",
    "Configuration",
    "RawValue",
    "Resolved",
    "Setting",
    "SettingSource",
    "Value",
    "load_configuration",
]


def __getattr__(name: str) -> Any:
    if name not in {"Configuration", "load_configuration"}:
        raise AttributeError(f"module 'partstream.config' has no attribute {name!r}")
    return getattr(import_module("partstream.config.loading"), name)
