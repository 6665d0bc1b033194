"""Makes the types of the inspector's view, which the scripts of its page are checked with."""

from __future__ import annotations

from typescript_spelling import Spelling

from partstream_devtools.inspector import shapes as view_shapes

_HEAD = "// Written by tools/generate.py from partstream_devtools/inspector/shapes.py: edit that and run it again.\n"


def view_types() -> str:
    """The whole of `extension/pages/view.generated.d.ts`."""
    return "\n".join((_HEAD, *Spelling(view_shapes, export="").declarations()))
