"""What other packages add to this one, by entry points: the core imports none of them.

A package names what it adds in one of these groups of its metadata:

- `partstream.commands`: a command of the command line, a `click.Command`;
- `partstream.agents`: how the agents of other frameworks in a provider's file become providers, an
  :class:`~partstream.runtime.provider_files.AgentFinder`;
- `partstream.captures`: what is kept of answers: `chat` makes a :class:`~partstream.cli.captures.ChatCaptures`, `serve`
  keeps the last answers of an application while a block runs;
- `partstream.sidecar`: `recordings` makes a :class:`~partstream.vscode.recordings.Recordings`;
- `partstream.serve`: `hub` is a :class:`~partstream.cli.serve_plan.ServedHub`, with options of its own.

A command may have any name; each other group takes the names above, `partstream.agents` the name `agents`. Protocols of
other packages have a group of their own (:mod:`partstream.protocols.protocol`). Looking takes a few milliseconds, so
each caller looks when it first needs an addition.
"""

from __future__ import annotations
import os
import sys
from collections.abc import Mapping, Sequence
from contextlib import suppress
from functools import cache, reduce
from importlib import import_module
from typing import Any, Final, NamedTuple

from partstream._version import __version__
from partstream.errors import CallerError

PACKAGES: Final = ("partstream-agents", "partstream-devtools", "partstream-hub")

COMMANDS: Final = "partstream.commands"
AGENTS: Final = "partstream.agents"
CAPTURES: Final = "partstream.captures"
SIDECAR: Final = "partstream.sidecar"
SERVE: Final = "partstream.serve"


class MissingPackageError(CallerError):
    """Something needs a package of ours that is not installed."""

    def __init__(self, what: str, package: str) -> None:
        wheel = f"{package.replace('-', '_')}-{__version__}-py3-none-any.whl"
        super().__init__(
            f"{what} needs the package {package}, which is not installed: "
            f"`pip install ./packages/{package}` in a clone of the repository, or `pip install {wheel}`"
        )
        self.package = package


class PluginLoadError(CallerError):
    """An installed package promises an addition that cannot be loaded."""

    def __init__(self, package: str, value: str, reason: str) -> None:
        super().__init__(f"{package} adds {value}, which cannot be loaded: {reason}")
        self.package = package


class Addition(NamedTuple):
    """What a package adds, which is there as `value`: a module, a colon, and the name in it."""

    group: str
    name: str
    value: str
    package: str

    def load(self) -> Any:
        """The object."""
        module, _, path = self.value.partition(":")
        return reduce(getattr, filter(None, path.split(".")), import_module(module))


@cache
def _installed() -> Sequence[Addition]:
    """All additions. Of a package that is on the path twice, those of the first.

    `importlib.metadata.entry_points` reads what every installed package adds to any other, in four times as long, and
    takes a megabyte.
    """
    packages: dict[str, list[Addition]] = {}
    for place in sys.path:
        try:
            names = os.listdir(place or ".")
        except OSError:
            if os.path.isfile(place):  # an archive
                from importlib.metadata import Distribution  # noqa: PLC0415 - seldom

                for one in Distribution.discover(path=[place]):
                    there = [Addition(point.group, point.name, point.value, one.name) for point in one.entry_points]
                    packages.setdefault(one.name, there)
            continue
        for name in names:
            if name.endswith((".dist-info", ".egg-info")):
                package = name.rpartition(".")[0].partition("-")[0].replace("_", "-")
                if package not in packages and (found := _additions(os.path.join(place, name), package)):
                    packages[package] = found
    return [point for found in packages.values() for point in found]


def _additions(folder: str, package: str) -> list[Addition]:
    """What the metadata of a package in a folder names in groups of ours."""
    found: list[Addition] = []
    with (
        suppress(OSError, UnicodeDecodeError),
        open(os.path.join(folder, "entry_points.txt"), encoding="utf-8") as said,
    ):
        group = ""
        for line in map(str.strip, said):
            name, equals, value = line.partition("=")
            if line.startswith("["):
                group = line.strip("[] ")
            elif equals and group.startswith("partstream.") and not line.startswith(("#", ";")):
                found.append(Addition(group, name.strip(), value.partition("[")[0].strip(), package))
    return found


@cache
def added(group: str) -> Mapping[str, Addition]:
    """The additions of a group by name; of two with one name, the first. Loads none of them."""
    found: dict[str, Addition] = {}
    for point in _installed():
        if point.group == group:
            found.setdefault(point.name, point)
    return found


def find(group: str, name: str) -> Any:
    """An addition; None where no installed package has it.

    Raises:
        PluginLoadError: A package has it, and its module cannot be imported.
    """
    point = added(group).get(name)
    if point is None:
        return None
    try:
        return point.load()
    except (ImportError, AttributeError) as error:
        raise PluginLoadError(point.package, point.value, f"{type(error).__name__}: {error}") from error
