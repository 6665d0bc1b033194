"""Makes the TypeScript types of the protocol between extension and sidecar from its table of methods."""

from __future__ import annotations

import inspect
from types import NoneType, UnionType
from typing import Any, Literal, NotRequired, Union, get_args, get_origin, get_type_hints, is_typeddict

from partstream.hosts.vscode import wire
from partstream.hosts.vscode.methods import METHODS, PROTOCOL_VERSION, Direction, ErrorCode, Method

_SCALARS = {
    str: "string",
    int: "number",
    float: "number",
    bool: "boolean",
    NoneType: "null",
    Any: "unknown",
}

_HEAD = """\
// Written by scripts/generate.py from src/partstream/hosts/vscode/{methods,wire*}.py: edit those and run it again.

/** Increases with every change that an older peer would misunderstand. */
export const PROTOCOL_VERSION = %d;
"""


def protocol_types() -> str:
    """The whole of `extension/src/protocol.generated.ts`."""
    sections = [_HEAD % PROTOCOL_VERSION, _error_codes()]
    sections.extend(_declaration(name, value) for name, value in _declared().items())
    sections.append(_methods("Requests", "Requests to the sidecar.", _is_request, _request_row))
    for name, doc, direction in (
        ("NotificationsToSidecar", "Notifications to the sidecar.", Direction.TO_SIDECAR),
        ("NotificationsToExtension", "Notifications to the extension.", Direction.TO_EXTENSION),
    ):
        sections.append(_methods(name, doc, _is_notification(direction), _notification_row))
    return "\n".join(sections)


def _declared() -> dict[str, Any]:
    names = set(wire.__all__)
    return {name: value for name, value in vars(wire).items() if name in names}


def _error_codes() -> str:
    rows = "".join(f"  {_camel(code.name)}: {code.value},\n" for code in ErrorCode)
    return f"/** The codes of error responses. */\nexport const ErrorCode = {{\n{rows}}} as const;\n"


def _camel(name: str) -> str:
    return "".join(word.capitalize() for word in name.split("_"))


def _declaration(name: str, value: Any) -> str:
    if not is_typeddict(value):
        return f"export type {name} = {_spell(value)};\n"
    fields = get_type_hints(value, include_extras=True)
    doc = _comment(inspect.getdoc(value) or "")
    if not fields:
        return f"{doc}export type {name} = Record<string, never>;\n"
    rows = "".join(f"  {_field(field, hint)};\n" for field, hint in fields.items())
    return f"{doc}export interface {name} {{\n{rows}}}\n"


def _field(name: str, hint: Any) -> str:
    if get_origin(hint) is NotRequired:
        return f"{name}?: {_type(get_args(hint)[0])}"
    return f"{name}: {_type(hint)}"


def _type(hint: Any) -> str:
    for name, value in _declared().items():
        if hint == value:
            return name
    return _spell(hint)


def _spell(hint: Any) -> str:
    if hint in _SCALARS:
        return _SCALARS[hint]
    origin, arguments = get_origin(hint), get_args(hint)
    if origin is Literal:
        return " | ".join(f'"{value}"' if isinstance(value, str) else str(value) for value in arguments)
    if origin in {Union, UnionType}:
        return " | ".join(_type(argument) for argument in arguments)
    if origin is list:
        item = _type(arguments[0])
        return f"({item})[]" if " | " in item else f"{item}[]"
    if origin is dict:
        return f"Record<string, {_type(arguments[1])}>"
    raise TypeError(f"no TypeScript for {hint!r}: add a rule to {__name__}")


def _comment(text: str, indent: str = "") -> str:
    lines = text.splitlines()
    if len(lines) == 1:
        return f"{indent}/** {text} */\n"
    body = "".join(f"{indent} * {line}".rstrip() + "\n" for line in lines)
    return f"{indent}/**\n{body}{indent} */\n"


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
    rows = "".join(_comment(method.doc, "  ") + row(method) for method in METHODS.values() if wanted(method))
    return f"{_comment(doc)}export interface {name} {{\n{rows}}}\n"
