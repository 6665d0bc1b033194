"""How the types of a Python module are spelled in TypeScript."""

from __future__ import annotations
import inspect
from types import NoneType, UnionType
from typing import TYPE_CHECKING, Any, Literal, NotRequired, Union, get_args, get_origin, get_type_hints, is_typeddict

if TYPE_CHECKING:
    from collections.abc import Iterator
    from types import ModuleType

_SCALARS = {
    str: "string",
    int: "number",
    float: "number",
    bool: "boolean",
    NoneType: "null",
    Any: "unknown",
}


class Spelling:
    """The types that a module exports, in TypeScript.

    Args:
        module: The module; its public types are declared, also those that it imports.
        export: What precedes a declaration: nothing, where all files of a program know it.
    """

    def __init__(self, module: ModuleType, export: str = "export ") -> None:
        public = ((name, value) for name, value in vars(module).items() if not name.startswith("_"))
        self._declared = {name: value for name, value in public if _is_type(value)}
        self._export = export

    def declarations(self) -> Iterator[str]:
        """The declaration of each type, in the order of the module."""
        for name, value in self._declared.items():
            yield self._declaration(name, value)

    def _declaration(self, name: str, value: Any) -> str:
        if not is_typeddict(value):
            return f"{self._export}type {name} = {self._spell(value)};\n"
        fields = get_type_hints(value, include_extras=True)
        doc = comment(inspect.getdoc(value) or "") if value.__doc__ else ""
        if not fields:
            return f"{doc}{self._export}type {name} = Record<string, never>;\n"
        rows = "".join(f"  {self._field(field, hint)};\n" for field, hint in fields.items())
        return f"{doc}{self._export}interface {name} {{\n{rows}}}\n"

    def _field(self, name: str, hint: Any) -> str:
        if get_origin(hint) is NotRequired:
            return f"{name}?: {self._type(get_args(hint)[0])}"
        return f"{name}: {self._type(hint)}"

    def _type(self, hint: Any) -> str:
        for name, value in self._declared.items():
            if hint == value:
                return name
        return self._spell(hint)

    def _spell(self, hint: Any) -> str:
        if hint in _SCALARS:
            return _SCALARS[hint]
        origin, arguments = get_origin(hint), get_args(hint)
        if origin is Literal:
            return " | ".join(f'"{value}"' if isinstance(value, str) else str(value) for value in arguments)
        if origin in {Union, UnionType}:
            return " | ".join(self._type(argument) for argument in arguments)
        if origin is list:
            item = self._type(arguments[0])
            return f"({item})[]" if " | " in item else f"{item}[]"
        if origin is tuple:
            return f"[{', '.join(self._type(argument) for argument in arguments)}]"
        if origin is dict:
            return f"Record<string, {self._type(arguments[1])}>"
        raise TypeError(f"no TypeScript for {hint!r}: add a rule to {__name__}")


def _is_type(value: Any) -> bool:
    return is_typeddict(value) or get_origin(value) is not None


def comment(text: str, indent: str = "") -> str:
    """The text as a comment of a declaration."""
    lines = text.splitlines()
    if len(lines) == 1:
        return f"{indent}/** {text} */\n"
    body = "".join(f"{indent} * {line}".rstrip() + "\n" for line in lines)
    return f"{indent}/**\n{body}{indent} */\n"
