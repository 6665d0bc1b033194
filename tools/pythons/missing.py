"""The command of `make pythons`: installs the supported Pythons that this machine does not have.

They go into a folder of this project; the system stays as it is. Those that cannot be had are named.
"""

from __future__ import annotations
import os
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Final

import click

from interop.servers.environments import NotInstalledError, run_step
from tools.release.pythons import OUR_PYTHONS, found_pythons, missing_pythons

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

__all__ = ["SOURCES", "install"]

_HERE: Final = Path(__file__).resolve().parent


def _from_uv(version: str) -> None:
    folder = ["--install-dir", str(OUR_PYTHONS)]
    run_step("uv", [sys.executable, "-m", "uv", "python", "install", "--no-bin", *folder, version])


def _from_debian(version: str) -> None:
    path = os.pathsep.join([str(Path(sys.executable).parent), os.environ["PATH"]])
    command = [str(_HERE / "debian.sh"), version, str(OUR_PYTHONS / f"debian-{version}")]
    run_step("Debian's packages", command, environment={**os.environ, "PATH": path})


SOURCES: Final[Mapping[str, Callable[[str], None]]] = {"uv": _from_uv, "Debian": _from_debian}
"""Who has Pythons, the best first: where uv's cannot be fetched, a package mirror of Debian often can."""


def install(version: str, say: Callable[[str], object], sources: Mapping[str, Callable[[str], None]] = SOURCES) -> None:
    """Installs one Python from the first source that has it.

    Args:
        version: The version, such as `3.14`.
        say: Receives which source has it, and why others have not.
        sources: Who may have it, the best first.
    """
    for source, fetch in sources.items():
        try:
            fetch(version)
        except NotInstalledError as error:
            say(f"  not from {source}: {error}")
        else:
            say(f"  Python {version} from {source}")
            return


@click.command()
def main() -> None:
    """Installs the supported Pythons that this machine does not have."""
    for version in missing_pythons(found_pythons()):
        click.echo(f"Python {version} is missing")
        install(version, click.echo)
    if missing := missing_pythons(found_pythons()):
        click.echo(f"left out, because this machine cannot have it: Python {', '.join(missing)}")


if __name__ == "__main__":
    main()
