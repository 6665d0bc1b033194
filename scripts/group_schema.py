"""Writes the schema of a VS Code group into the extension's manifest, from the table of settings."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from partstream.configuration.table import SETTINGS
from partstream.settings.row import Nesting, Place

if TYPE_CHECKING:
    from collections.abc import Iterable

    from partstream.settings.row import Contents, Setting

__all__ = ["extension_manifest"]

_MANIFEST: Final = Path(__file__).resolve().parent.parent / "extension" / "package.json"


def extension_manifest() -> str:
    """The whole of `extension/package.json`, as it is but for the schema of a group."""
    manifest = json.loads(_MANIFEST.read_text(encoding="utf-8"))
    rows = [row for row in SETTINGS.values() if Place.GROUP in row.places]
    provider = manifest["contributes"]["languageModelChatProviders"][0]
    provider["configuration"] = _configuration(rows)
    return json.dumps(manifest, indent=2, ensure_ascii=False) + "\n"


def _configuration(rows: Iterable[Setting]) -> dict[str, Any]:
    """The schema of a group.

    VS Code's dialog asks for the properties at the top. If there is one that it cannot ask for, it opens the file and
    inserts a snippet into the new group; so all properties that nobody is asked for stand under `allOf`, where the
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
