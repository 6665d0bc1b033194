"""Writes the templates for the extension: the files that *New Provider File* offers."""

from __future__ import annotations
import json
import keyword
from typing import Final

from partstream.cli.new import provider_template
from partstream.cli.provider_source import TEMPLATES

__all__ = ["provider_template_types"]

_HEAD: Final = """\
// Written by tools/generate.py from partstream/cli/new.py: edit its table or templates and run it again.
import * as l10n from "@vscode/l10n";

/** A provider file that a person can begin with. */
export interface ProviderTemplate {
  readonly title: () => string;
  readonly says: () => string;
  /** The name that is suggested for the file, without its ending. */
  readonly fileStem: string;
  /** What has to be installed beside Partstream, as pip takes it. */
  readonly requirements: readonly string[];
  /** The file, with `$title` and `$module` in place of the names. */
  readonly source: string;
}

/** The words of Python that cannot be the name of a module. */
export const PYTHON_KEYWORDS: readonly string[] = %s;

export const PROVIDER_TEMPLATES: readonly ProviderTemplate[] = [
"""


def provider_template_types() -> str:
    """The whole of `extension/src/providerTemplates.generated.ts`."""
    rows = []
    for template in TEMPLATES.values():
        fields = {
            "title": _text(template.title),
            "says": _text(template.says),
            "fileStem": _spelt(template.file_stem),
            "requirements": _spelt(list(template.requirements)),
            "source": _spelt(provider_template(template)),
        }
        spelt = (f"    {name}: {value},\n" for name, value in fields.items())
        rows.append("  {\n" + "".join(spelt) + "  },\n")
    return _HEAD % json.dumps(keyword.kwlist) + "".join(rows) + "];\n"


def _text(text: str) -> str:
    """A text as a function that finds its translation, which is not there yet when the module loads."""
    return f"() => l10n.t({_spelt(text)})"


def _spelt(value: str | list[str]) -> str:
    return json.dumps(value, ensure_ascii=False)
