"""What a Python program imports, read from its sources: nothing is run, so an import that comes late counts as well.

No line of the source imports what a package adds to another by an entry point: the caller starts from there too.
"""

from __future__ import annotations
import ast
import sys
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping
    from pathlib import Path

__all__ = ["imported_by", "modules_of"]


def modules_of(folder: Path, package: str) -> dict[str, Path]:
    """The modules of a package, each with its file.

    Args:
        folder: Where the package is.
        package: Its name.
    """
    files = sorted((folder / package).rglob("*.py"))
    names = (".".join(path.relative_to(folder).with_suffix("").parts).removesuffix(".__init__") for path in files)
    return dict(zip(names, files, strict=True))


def imported_by(starts: Iterable[str], modules: Mapping[str, Path]) -> dict[str, str]:
    """Everything that modules import, directly or through others of ours, each with who imports it first.

    A string that is the name of a module counts as an import of it, because tables name what is loaded late; where a
    name is put together, all modules of its package count. What only types need does not. Packages of others are named
    by their first word, those of the standard library not at all.

    Args:
        starts: The module that is started, and those that entry points name.
        modules: The modules whose imports are followed, as :func:`modules_of` gives them.

    Raises:
        LookupError: One that is started is not among them.
    """
    left = [(start, "") for start in starts]
    for start, _ in left:
        if start not in modules:
            message = f"{start} is missing"
            raise LookupError(message)
    found: dict[str, str] = {}
    while left:
        name, importer = left.pop()
        own = [parent for parent in _with_parents(name) if parent in modules]
        top = name.split(".")[0]
        for module in own or ([] if top in sys.stdlib_module_names else [top]):
            if module in found:
                continue
            found[module] = importer
            if own:
                left += ((imported, module) for imported in _imports(modules[module], modules))
    return found


def _with_parents(name: str) -> Iterator[str]:
    words = name.split(".")
    yield from (".".join(words[:end]) for end in range(1, len(words) + 1))


def _imports(file: Path, modules: Mapping[str, Path]) -> Iterator[str]:
    for node in _run_nodes(ast.parse(file.read_bytes())):
        match node:
            case ast.Import():
                yield from (alias.name for alias in node.names)
            case ast.ImportFrom(module=str(module)):
                names = [f"{module}.{alias.name}" for alias in node.names]
                yield module
                yield from (name for name in names if name in modules)
            case ast.Call(
                func=ast.Name(id="import_module"), args=[ast.JoinedStr(values=[ast.Constant(value=str(text)), *_])]
            ):
                yield from (name for name in modules if name.rpartition(".")[0] == text.removesuffix("."))
            case ast.Constant(value=str(text)) if text in modules:
                yield text
            case _:
                pass


def _run_nodes(tree: ast.AST) -> Iterator[ast.AST]:
    """The nodes of a tree without those that only a checker of types reads."""
    left = [tree]
    while left:
        node = left.pop()
        yield node
        is_for_types = isinstance(node, ast.If) and isinstance(node.test, ast.Name) and node.test.id == "TYPE_CHECKING"
        left += node.orelse if is_for_types and isinstance(node, ast.If) else ast.iter_child_nodes(node)
