"""The manifest of the extension as a person reads it: with texts in place of their keys."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

__all__ = ["extension_manifest"]

_EXTENSION = Path(__file__).resolve().parents[1] / "extension"
_KEY = re.compile(r'"%([\w.]+)%"')


def extension_manifest() -> dict[str, Any]:
    """`extension/package.json` with the English texts of `package.nls.json`; a key without a text is a `KeyError`."""
    texts = json.loads((_EXTENSION / "package.nls.json").read_text(encoding="utf-8"))
    manifest = (_EXTENSION / "package.json").read_text(encoding="utf-8")
    return dict(json.loads(_KEY.sub(lambda found: json.dumps(texts[found[1]]), manifest)))
