"""What the four packages offer by name: all of it is there, in order, and nothing is forgotten."""

import ast
import builtins
import collections.abc
import inspect
import re
import subprocess
import sys
import typing
from collections.abc import Iterator
from functools import cache
from importlib import import_module
from pathlib import Path
from typing import Any

import pytest

import partstream
import partstream_agents
import partstream_devtools
import partstream_hub
from offences import assert_none
from rows import one_test_for

PACKAGES = {
    package.__name__: Path(package.__path__[0])
    for package in (partstream, partstream_agents, partstream_devtools, partstream_hub)
}
MODULES = [
    ".".join(path.relative_to(folder.parent).with_suffix("").parts).removesuffix(".__init__")
    for folder in PACKAGES.values()
    for path in sorted(folder.rglob("*.py"))
    if path.stem != "__main__"
]

NEEDS_MORE = {"partstream_hub.ray"}
"""What cannot be imported here: only the environment of `make interop TRY=ray` has Ray."""


def _path(module: str) -> Path:
    """The folder of a package, or the file of a module without its ending."""
    package, *rest = module.split(".")
    return PACKAGES[package].joinpath(*rest)


@cache
def _source(module: str) -> ast.Module:
    found = _path(module)
    return ast.parse((found / "__init__.py" if found.is_dir() else found.with_suffix(".py")).read_bytes())


def _exported(module: str) -> list[str] | None:
    for node in _source(module).body:
        if isinstance(node, ast.Assign) and [getattr(target, "id", "") for target in node.targets] == ["__all__"]:
            if module == "partstream":
                return None  # made from a table
            names: list[str] = ast.literal_eval(node.value)
            return names
    return None


def _sorted_as_ruff_does(names: list[str]) -> list[str]:
    return sorted(
        names, key=lambda name: (0 if name.isupper() and len(name) > 1 else 1 if name[0].isupper() else 2, name)
    )


def _wrong_exports(module: str) -> Iterator[str]:
    names = _exported(module)
    if names is None:
        return
    if not _path(module).is_dir():
        yield f"{module} has an __all__: only a package, which gathers names for users, needs one"
    if names != _sorted_as_ruff_does(names):
        yield f"{module}.__all__ is not sorted"
    if len(names) != len(set(names)):
        yield f"{module}.__all__ names something twice"
    if module in NEEDS_MORE:
        return
    loaded: Any = import_module(module)
    for name in names:
        if not hasattr(loaded, name):
            yield f"{module}.__all__ names {name}, which is not there"


def test_modules_of_every_package_are_read() -> None:
    assert all(_exported(name) for name in ("partstream_agents", "partstream_devtools.conformance"))
    assert "partstream_hub.budgets" in MODULES


def test_what_a_package_exports_exists_is_sorted_and_said_once() -> None:
    assert_none(offence for module in MODULES for offence in _wrong_exports(module))


def test_type_checkers_see_every_name_that_the_package_imports_late_where_it_is() -> None:
    stub = ast.parse((PACKAGES["partstream"] / "__init__.pyi").read_bytes())
    seen = {alias.asname: node.module for node in stub.body if isinstance(node, ast.ImportFrom) for alias in node.names}
    assert seen == partstream._MODULES
    assert partstream.__all__ == sorted(seen)


def test_a_module_below_the_package_is_found_without_an_import_of_its_own() -> None:
    code = "import partstream; assert partstream.errors.PartstreamError is partstream.PartstreamError"
    subprocess.run([sys.executable, "-c", code], check=True, timeout=60)


@one_test_for("name", partstream.__all__)
def test_every_public_name_is_there_and_its_module_has_it(name: str) -> None:
    value = getattr(partstream, name)
    home = getattr(value, "__module__", "")
    if home.startswith("partstream."):
        assert getattr(import_module(home), name) is value
        assert value.__doc__


def test_star_import_gives_the_public_names() -> None:
    names: dict[str, Any] = {}
    exec("from partstream import *", names)  # noqa: S102 - what a user may write
    assert set(partstream.__all__) <= names.keys()


def test_an_interactive_interpreter_completes_the_names_that_are_loaded_late() -> None:
    assert set(partstream.__all__) <= set(dir(partstream))


def test_a_name_that_is_not_there_is_an_attribute_error_that_names_it() -> None:
    with pytest.raises(AttributeError, match="has no attribute 'Nothing'"):
        partstream.Nothing  # noqa: B018


NOT_FOR_CALLERS = {
    "AbstractAsyncContextManager",
    "Counters",
    "Decimal",
    "EventDecoder",
    "Ledger",
    "Logger",
    "Path",
    "Registration",
    "RunningRequest",
}
"""Names in signatures: of the standard library, and of objects that only Partstream and its hosts make."""


def _needed(name: str) -> Iterator[str]:
    """The names that its callers write, or that catch its errors."""
    value = getattr(partstream, name)
    called = [value, *vars(value).values()] if isinstance(value, type) else [value]
    for one in called:
        function = getattr(one, "__func__", one)
        documented = re.search(r"Raises:\n((?:    .*\n?)+)", inspect.getdoc(function) or "")
        yield from re.findall(r"^    ([A-Z]\w+):", documented[1], re.MULTILINE) if documented else ()
    made = value.__init__ if isinstance(value, type) else value
    if inspect.isfunction(made):
        annotations = (text for parameter, text in made.__annotations__.items() if parameter != "return")
        yield from re.findall(r"\b[A-Z]\w+", " ".join(map(str, annotations)))


def test_what_the_public_names_take_and_raise_is_public_too() -> None:
    everywhere = {*vars(builtins), *vars(typing), *vars(collections.abc)} | NOT_FOR_CALLERS
    assert_none(
        f"partstream.{name} needs {needed}"
        for name in partstream.__all__
        for needed in _needed(name)
        if needed not in partstream.__all__ and needed not in everywhere
    )
