"""Makes the TypeScript types of the protocol between extension and sidecar from its table of methods."""

from __future__ import annotations
from typing import TYPE_CHECKING, Any

from typescript_spelling import Spelling, comment

from partstream.vscode import rpc_types as wire
from partstream.vscode.methods import METHODS, PROTOCOL_VERSION, Direction, Method
from partstream.vscode.rpc import ErrorCode

if TYPE_CHECKING:
    from collections.abc import Callable

_HEAD = """\
// Written by tools/generate.py from partstream/vscode/{methods,rpc_types}.py: edit those and run it again.

/** Increases with every change that an older peer would misunderstand. */
export const PROTOCOL_VERSION = %d;
"""


def protocol_types() -> str:
    """The whole of `extension/src/protocol.generated.ts`."""
    sections = [_HEAD % PROTOCOL_VERSION, _error_codes()]
    sections.extend(Spelling(wire).declarations())
    for name, doc, direction, is_request in (
        ("Requests", "Requests to the sidecar.", Direction.TO_SIDECAR, True),
        ("RequestsToExtension", "Requests to the extension.", Direction.TO_EXTENSION, True),
        ("NotificationsToSidecar", "Notifications to the sidecar.", Direction.TO_SIDECAR, False),
        ("NotificationsToExtension", "Notifications to the extension.", Direction.TO_EXTENSION, False),
    ):
        rows = [row for row in METHODS.values() if (row.direction, row.is_request) == (direction, is_request)]
        sections.append(_methods(name, doc, rows, _request_row if is_request else _notification_row))
    return "\n".join(sections)


def _error_codes() -> str:
    rows = "".join(f"  {_camel(code.name)}: {code.value},\n" for code in ErrorCode)
    return f"/** The codes of error responses. */\nexport const ErrorCode = {{\n{rows}}} as const;\n"


def _camel(name: str) -> str:
    return "".join(word.capitalize() for word in name.split("_"))


def _request_row(method: Method) -> str:
    return f'  "{method.name}": {{ params: {_name(method.params)}; result: {_name(method.result)} }};\n'


def _notification_row(method: Method) -> str:
    return f'  "{method.name}": {_name(method.params)};\n'


def _name(shape: type[Any] | None) -> str:
    return "null" if shape is None else shape.__name__


def _methods(name: str, doc: str, methods: list[Method], row: Callable[[Method], str]) -> str:
    rows = "".join(comment(method.doc, "  ") + row(method) for method in methods)
    return f"{comment(doc)}export interface {name} {{\n{rows}}}\n"
