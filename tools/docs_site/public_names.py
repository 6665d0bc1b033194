"""The reference of public names: a block of names in a page becomes the output of autodoc for each.

A Git forge shows the block as it is, a list of names. A name of a type has no docstring of its own at run time; its
docstring is the text below its assignment, which is found where the name is defined.
"""

from __future__ import annotations
import ast
import inspect
import re
from enum import Enum
from functools import cache
from importlib import import_module
from typing import TYPE_CHECKING, Any, is_typeddict

import partstream

if TYPE_CHECKING:
    from sphinx.application import Sphinx

_BLOCK = re.compile(r"^```\{public-names\}\n(.*?)^```$", re.MULTILINE | re.DOTALL)


def names_of(text: str) -> list[str]:
    """Returns the names in all blocks of a page."""
    return [name for block in _BLOCK.findall(text) for name in block.split()]


def directive(name: str) -> str:
    """Returns the directives that describe one public name, as reStructuredText."""
    value = getattr(partstream, name)
    if inspect.isclass(value):
        kind = "exception" if issubclass(value, BaseException) else "class"
        options = ["   :members:", "   :inherited-members: Exception, Enum, str, tuple"]
        if issubclass(value, Enum) or is_typeddict(value):
            options = ["   :members:", "   :undoc-members:"]
        return "\n".join([f".. auto{kind}:: partstream.{name}", *options, ""])
    if inspect.isroutine(value):
        return f".. autofunction:: partstream.{name}\n"
    written, docstring = assignment(name)
    return "\n".join(
        [f".. py:data:: partstream.{name}", f"   :value: {written}", "", *(f"   {line}" for line in docstring), ""]
    )


def assignment(name: str) -> tuple[str, list[str]]:
    """Returns the value that a public name is given, as it is written, and the lines of the docstring below it."""
    module = partstream._MODULES[name]  # noqa: SLF001 - the table of the names that the page lists
    while True:
        body = _body(module)
        for statement, following in zip(body, [*body[1:], None], strict=True):
            if not isinstance(statement, ast.Assign | ast.AnnAssign) or statement.value is None:
                continue
            targets = statement.targets if isinstance(statement, ast.Assign) else [statement.target]
            if any(isinstance(target, ast.Name) and target.id == name for target in targets):
                text = ""
                if isinstance(following, ast.Expr) and isinstance(following.value, ast.Constant):
                    text = str(following.value.value)
                elif name.startswith("__"):  # its module holds nothing else
                    text = import_module(module).__doc__ or ""
                value = statement.value
                written = str(value.value) if isinstance(value, ast.Constant) else ast.unparse(value)
                return written, inspect.cleandoc(text).splitlines()
        module = _imported_from(module, name)


@cache
def _body(module: str) -> list[ast.stmt]:
    """Returns the statements of a module, also those that only a type checker reads."""
    body = ast.parse(inspect.getsource(import_module(module))).body
    checked = [inner for statement in body if isinstance(statement, ast.If) for inner in statement.body]
    return [*body, *checked]


def _imported_from(module: str, name: str) -> str:
    """Returns the module that a module imports a name from."""
    for statement in _body(module):
        if isinstance(statement, ast.ImportFrom) and any(alias.name == name for alias in statement.names):
            return str(statement.module)
    message = f"{module} neither defines nor imports {name}"
    raise LookupError(message)


def write_directives(_app: Sphinx, _docname: str, content: list[str]) -> None:
    """Replaces the blocks of names by the directives of autodoc."""

    def described(block: re.Match[str]) -> str:
        return "````{eval-rst}\n" + "\n".join(directive(name) for name in block[1].split()) + "````"

    content[0] = _BLOCK.sub(described, content[0])


def setup(app: Sphinx) -> dict[str, Any]:
    """Registers this extension."""
    app.connect("source-read", write_directives)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
