"""Writes the schema of a VS Code group into the extension's manifest, from the table of settings.

The manifest has a key for each text, as VS Code translates them; the texts are in `package.nls.json`.
"""

from __future__ import annotations
import json
from collections import Counter
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from project_files import with_addresses

from partstream.config.table import SETTINGS
from partstream.settings.row import Nesting, SettingSource

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from partstream.settings.row import Contents, Setting

__all__ = ["extension_manifest", "extension_texts"]

_EXTENSION: Final = Path(__file__).resolve().parent.parent / "extension"
_GROUP: Final = "group"
"""What the keys of the generated texts begin with; all other texts are written by hand."""

_TEXTS: Final = frozenset({"title", "description", "label"})
_TEXTS_OF_WORDS: Final = frozenset({"enumItemLabels", "enumDescriptions"})
"""One text for each word of `enum`."""
_SCHEMAS: Final = frozenset({"items", "additionalProperties"})
_LISTS_OF_SCHEMAS: Final = frozenset({"allOf", "anyOf"})


def extension_manifest() -> str:
    """The whole of `extension/package.json`, as it is but for the schema of a group and the project's addresses."""
    manifest = _read("package.json")
    provider = manifest["contributes"]["languageModelChatProviders"][0]
    provider["configuration"] = _keyed(_configuration(_rows()), _GROUP, {})
    return _written(with_addresses(manifest, _EXTENSION.parent))


def extension_texts() -> str:
    """The whole of `extension/package.nls.json`, as it is but for the texts of the schema of a group."""
    keys: dict[str, str] = {}
    _keyed(_configuration(_rows()), _GROUP, keys)
    if twice := [key for key, times in Counter(keys.values()).items() if times > 1]:
        raise ValueError(f"two texts have the key {twice[0]}")
    by_hand = {key: text for key, text in _read("package.nls.json").items() if not key.startswith(f"{_GROUP}.")}
    return _written({**by_hand, **{key: text for text, key in keys.items()}})


def _read(name: str) -> dict[str, Any]:
    value: dict[str, Any] = json.loads((_EXTENSION / name).read_text(encoding="utf-8"))
    return value


def _written(value: Mapping[str, Any]) -> str:
    return json.dumps(value, indent=2, ensure_ascii=False) + "\n"


def _rows() -> list[Setting]:
    return [row for row in SETTINGS.values() if SettingSource.GROUP in row.places]


def _keyed(schema: Mapping[str, Any], place: str, keys: dict[str, str]) -> dict[str, Any]:
    """A schema with keys instead of its texts.

    Args:
        schema: The schema, or a part of it.
        place: The names of the settings around it, with dots between; the beginning of each key.
        keys: The keys by their texts, which is added to: a text in several places has the key of the first,
            so that it is translated once.
    """

    def of_text(field: str, text: str) -> str:
        return f"%{keys.setdefault(text, f'{place}.{field}')}%"

    keyed: dict[str, Any] = {}
    for field, value in schema.items():
        if field in _TEXTS:
            keyed[field] = of_text(field, value)
        elif field in _TEXTS_OF_WORDS:
            # By the word and not by its number, which another word may take.
            keyed[field] = [of_text(f"{field}.{word}", text) for word, text in zip(schema["enum"], value, strict=True)]
        elif field == "properties":
            keyed[field] = {name: _keyed(inner, f"{place}.{name}", keys) for name, inner in value.items()}
        elif field in _SCHEMAS and isinstance(value, dict):
            keyed[field] = _keyed(value, place, keys)
        elif field == "defaultSnippets":
            keyed[field] = [_keyed(inner, f"{place}.snippet", keys) for inner in value]
        elif field in _LISTS_OF_SCHEMAS:
            keyed[field] = [_keyed(inner, place, keys) for inner in value]
        else:
            keyed[field] = value
    return keyed


def _configuration(rows: Iterable[Setting]) -> dict[str, Any]:
    """The schema of a group.

    VS Code's dialog asks for the properties at the top. If there is one that it cannot ask for, it opens the file and
    inserts a snippet into the new group; so all properties that are not asked for are in `allOf`, where the
    editor of the file finds them and the dialog does not look.
    """
    asked: dict[str, Any] = {}
    others: dict[str, Any] = {}
    required: list[str] = []
    for row in rows:
        (asked if row.dialog.is_asked else others)[row.name] = _of_group(row)
        if row.dialog.is_required:
            required.append(row.name)
    return {"type": "object", "properties": asked, "required": required, "allOf": [{"properties": others}]}


def _of_group(row: Setting) -> dict[str, Any]:
    schema = _schema(row)
    head = {"type": schema.pop("type"), "title": row.dialog.title}
    if row.dialog.snippet is not None:
        schema["defaultSnippets"] = [row.dialog.snippet]
    return {**head, **schema}


def _schema(row: Setting) -> dict[str, Any]:
    schema = {**row.kind.schema, "description": _description(row)}
    if "enumDescriptions" in schema:
        schema["enumDescriptions"] = [_plain(meaning) for meaning in schema["enumDescriptions"]]
    if row.default is not None:
        schema["default"] = row.default
    return schema if row.contents is None else {**schema, **_within(row.contents)}


def _within(contents: Contents) -> dict[str, Any]:
    fields: dict[str, Any] = {"properties": _properties(contents.rows)}
    if required := [row.name for row in contents.rows if row.is_required]:
        fields["required"] = required
    if not contents.is_open:
        fields["additionalProperties"] = False
    if contents.nesting is Nesting.OBJECT:
        return fields
    if contents.nesting is Nesting.BY_NAME:
        return {"additionalProperties": {"type": "object", **fields}}
    return {"items": {"type": ["object", "string"] if contents.short_for else "object", **fields}}


def _properties(rows: Iterable[Setting]) -> dict[str, Any]:
    properties: dict[str, list[dict[str, Any]]] = {}
    for row in rows:
        properties.setdefault(row.name, []).append(_schema(row))
    # Two protocols may have settings of one name.
    return {name: known[0] if len(known) == 1 else {"anyOf": known} for name, known in properties.items()}


def _description(row: Setting) -> str:
    """A sentence without marks: VS Code asks with it."""
    otherwise = f"; by default {row.otherwise}" if row.otherwise else ""
    owner = f" Only for the protocol {row.protocol}." if row.protocol else ""
    hint = f" {row.dialog.hint}" if row.dialog.hint else ""
    return _plain(f"{row.says}{otherwise}.{owner}{hint}")


def _plain(text: str) -> str:
    return text.replace("`", "")
