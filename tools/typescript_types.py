"""Makes the TypeScript types of the protocol between extension and sidecar from its table of methods."""

from __future__ import annotations
from typing import Any

from typescript_spelling import Spelling, comment

from partstream.vscode import rpc_types as wire
from partstream.vscode.methods import METHODS, PROTOCOL_VERSION, Direction, Method
from partstream.vscode.rpc import ErrorCode

_HEAD = """\
// Written by tools/generate.py from partstream/vscode/{methods,rpc_types}.py: edit those and run it again.

/** Increases with every change that an older peer would misunderstand. */
export const PROTOCOL_VERSION = %d;
"""


def protocol_types() -> str:
    """The whole of `extension/src/protocol.generated.ts`."""
    sections = [_HEAD % PROTOCOL_VERSION, _error_codes()]
    sections.extend(Spelling(wire).declarations())
    sections.append(_methods("Requests", "Requests to the sidecar.", _is_request, _request_row))
    for name, doc, direction in (
        ("NotificationsToSidecar", "Notifications to the sidecar.", Direction.TO_SIDECAR),
        ("NotificationsToExtension", "Notifications to the extension.", Direction.TO_EXTENSION),
    ):
        sections.append(_methods(name, doc, _is_notification(direction), _notification_row))
    return "\n".join(sections)


def _error_codes() -> str:
    rows = "".join(f"  {_camel(code.name)}: {code.value},\n" for code in ErrorCode)
    return f"/** The codes of error responses. */\nexport const ErrorCode = {{\n{rows}}} as const;\n"


def _camel(name: str) -> str:
    return "".join(word.capitalize() for word in name.split("_"))


def _is_request(method: Method) -> bool:
    return method.is_request


def _is_notification(direction: Direction) -> Any:
    return lambda method: not method.is_request and method.direction is direction


def _request_row(method: Method) -> str:
    return f'  "{method.name}": {{ params: {_name(method.params)}; result: {_name(method.result)} }};\n'


def _notification_row(method: Method) -> str:
    return f'  "{method.name}": {_name(method.params)};\n'


def _name(shape: type[Any] | None) -> str:
    return "null" if shape is None else shape.__name__


def _methods(name: str, doc: str, wanted: Any, row: Any) -> str:
    rows = "".join(comment(method.doc, "  ") + row(method) for method in METHODS.values() if wanted(method))
    return f"{comment(doc)}export interface {name} {{\n{rows}}}\n"
