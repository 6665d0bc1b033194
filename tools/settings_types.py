"""Writes what the extension has to know of the settings of a group: what of them is secret, and which may be empty."""

from __future__ import annotations
import json
from typing import TYPE_CHECKING, Any, Final

from partstream.config.table import SETTINGS
from partstream.settings.kinds import KEY_IN_A_NAME
from partstream.settings.row import (
    PLAIN_WORD,
    SEPARATORS,
    SHORTEST_KEY,
    SHORTEST_SECRET,
    Nesting,
    Secrecy,
    SettingSource,
)

if TYPE_CHECKING:
    from collections.abc import Iterable

    from partstream.settings.row import Setting

__all__ = ["settings_types"]

_HEAD: Final = """\
// Written by tools/generate.py from the rows that partstream/config/table.py gathers: edit those and run
// it again.

/** What of a value is secret, see partstream/settings/row.py. */
export type Secrecy = %s;

/** How settings are written within the value of another. */
export type Nesting = %s;

/** What of a setting is secret; of an object or a list, what of the settings within. */
export type SecretRow =
  | { readonly secrecy: Secrecy }
  | {
      readonly nesting: Nesting;
      /** Whether a string may replace an object, as a model's id does. */
      readonly isShort: boolean;
      readonly rows: Readonly<Record<string, SecretRow>>;
    };

/** Characters; anything shorter is no key, and would blot out half of every text. */
export const SHORTEST_SECRET = %d;

/** The same where a text may be a key or any other word. */
export const SHORTEST_KEY = %d;

/** What is no key there. */
export const PLAIN_WORD = /^(?:%s)$/;

/** What a key in place of a name looks like. */
export const KEY_IN_A_NAME =
  /%s/;

/** What separates the words of a text; a word with a digit may be a key too. */
export const SEPARATORS = /%s/;

/** The settings for which the empty string is a value. */
export const MAY_BE_EMPTY: readonly string[] = %s;

/** What of every setting of a group is secret. */
export const SETTINGS: Readonly<Record<string, SecretRow>> = """


def settings_types() -> str:
    """The whole of `extension/src/settings.generated.ts`."""
    rows = [row for row in SETTINGS.values() if SettingSource.GROUP in row.places]
    may_be_empty = json.dumps([row.name for row in rows if row.may_be_empty])
    numbers = SHORTEST_SECRET, SHORTEST_KEY, PLAIN_WORD.pattern, KEY_IN_A_NAME.pattern, SEPARATORS
    return _HEAD % (_words(Secrecy), _words(Nesting), *numbers, may_be_empty) + _object(_rows(rows), "") + ";\n"


def _words(words: Iterable[str]) -> str:
    return " | ".join(f'"{word}"' for word in words)


def _rows(rows: Iterable[Setting]) -> dict[str, Any]:
    return {row.name: _row(row) for row in rows}


def _row(row: Setting) -> dict[str, Any]:
    if row.contents is None:
        return {"secrecy": row.secrecy.value}
    contents = row.contents
    is_short = contents.short_for is not None
    return {"nesting": contents.nesting.value, "isShort": is_short, "rows": _rows(contents.rows)}


def _object(value: Any, indent: str) -> str:
    """TypeScript as prettier writes it."""
    if not isinstance(value, dict):
        return json.dumps(value)
    short = "{ " + ", ".join(f"{name}: {_object(item, '')}" for name, item in value.items()) + " }"
    if "rows" not in value and "\n" not in short and len(value) <= 1:
        return short
    inner = indent + "  "
    return "{\n" + "".join(f"{inner}{name}: {_object(item, inner)},\n" for name, item in value.items()) + indent + "}"
