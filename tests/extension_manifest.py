"""The manifest of the extension as VS Code has it: with the texts of `package.nls.json` instead of their keys."""

from __future__ import annotations
import json
import re
from pathlib import Path
from typing import Any

__all__ = ["MANIFEST", "SETTINGS_OF_VS_CODE"]

_EXTENSION = Path(__file__).parent.parent / "extension"
_TEXTS: dict[str, str] = json.loads((_EXTENSION / "package.nls.json").read_text(encoding="utf-8"))


def _text(key: re.Match[str]) -> str:
    return json.dumps(_TEXTS[key[1]])


MANIFEST: dict[str, Any] = json.loads(
    re.sub(r'"%([^%"]+)%"', _text, (_EXTENSION / "package.json").read_text(encoding="utf-8"))
)
SETTINGS_OF_VS_CODE: dict[str, dict[str, Any]] = {
    name: {**setting, "group": group["title"]}
    for group in MANIFEST["contributes"]["configuration"]
    for name, setting in group["properties"].items()
    if "markdownDeprecationMessage" not in setting
}
"""Every setting that has an effect, in the order of the editor, with the title of its group."""
