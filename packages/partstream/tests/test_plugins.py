"""What other packages add by entry points: found, loaded late, and a fault in one says which package has it."""

from __future__ import annotations
import sys
import tomllib
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from click.testing import CliRunner

from partstream import __version__, plugins
from partstream.cli import COMMANDS, main
from partstream.plugins import MissingPackageError, PluginLoadError, added, find

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping

    Installing = Callable[..., None]

PACKAGES = Path(__file__).parents[2]
OURS = sorted(path.parent.name for path in PACKAGES.glob("*/pyproject.toml"))

COMMAND = """
import click

@click.command()
def command():
    "Greets."
    click.echo("hello from elsewhere")
"""


@pytest.fixture(autouse=True)
def looks_anew() -> Iterator[None]:
    """What was found is kept for the whole process, and each test installs other packages."""
    for looked_up in (added, plugins._installed):
        looked_up.cache_clear()
    yield
    for looked_up in (added, plugins._installed):
        looked_up.cache_clear()


@pytest.fixture
def installs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Installing:
    """Installs a package: a folder on the path with metadata that names one entry point."""

    def install(package: str, group: str, point: str, **modules: str) -> None:
        folder = tmp_path / package
        information = folder / f"{package.replace('-', '_')}-1.0.dist-info"
        information.mkdir(parents=True)
        (information / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {package}\nVersion: 1.0\n")
        (information / "entry_points.txt").write_text(f"[{group}]\n{point}\n")
        for name, source in modules.items():
            (folder / f"{name}.py").write_text(source)
        monkeypatch.syspath_prepend(folder)

    return install


def test_a_missing_package_is_named_with_the_lines_that_install_it() -> None:
    error = MissingPackageError("a recording", "partstream-devtools")
    assert str(error) == (
        "a recording needs the package partstream-devtools, which is not installed: `pip install "
        "./packages/partstream-devtools` in a clone of the repository, or "
        f"`pip install partstream_devtools-{__version__}-py3-none-any.whl`"
    )
    assert error.package == "partstream-devtools"


def test_what_no_package_adds_is_not_found() -> None:
    assert find(plugins.SIDECAR, "nothing") is None
    assert added("partstream.nothing") == {}


def test_an_addition_is_the_object_that_its_entry_point_names(installs: Installing) -> None:
    installs("greeter", "partstream.sidecar", "greeting = greeter_words:WORDS", greeter_words="WORDS = ['hello']")
    assert find(plugins.SIDECAR, "greeting") == ["hello"]


@pytest.mark.parametrize(
    ("point", "module", "reason"),
    [
        ("one = absent_words:WORDS", "", "ModuleNotFoundError: No module named 'absent_words'"),
        ("one = poor_words:WORDS", "import an_absent_package", "No module named 'an_absent_package'"),
        ("one = poor_words:OTHER", "WORDS = 1", "AttributeError: module 'poor_words' has no attribute 'OTHER'"),
    ],
    ids=["no module", "a module that needs another", "no such name"],
)
def test_an_addition_that_cannot_be_loaded_is_an_error_that_names_its_package(
    installs: Installing, monkeypatch: pytest.MonkeyPatch, point: str, module: str, reason: str
) -> None:
    monkeypatch.delitem(sys.modules, "poor_words", raising=False)
    installs("poor-package", "partstream.sidecar", point, poor_words=module)
    with pytest.raises(PluginLoadError) as caught:
        find(plugins.SIDECAR, "one")
    assert str(caught.value).startswith(f"poor-package adds {point.partition(' = ')[2]}, which cannot be loaded: ")
    assert reason in str(caught.value)
    assert caught.value.package == "poor-package"


def test_of_two_additions_with_one_name_the_first_on_the_path_counts(installs: Installing) -> None:
    for package in ("second", "first"):
        words = {f"{package}_words": f"WORDS = '{package}'"}
        installs(package, "partstream.sidecar", f"words = {package}_words:WORDS", **words)
    assert find(plugins.SIDECAR, "words") == "first"


def test_looking_for_additions_loads_none_of_them(installs: Installing) -> None:
    installs("breaker", "partstream.commands", "break = breaker_words:command", breaker_words="raise SystemExit(9)")
    assert added(plugins.COMMANDS)["break"].value == "breaker_words:command"


# ---- commands ----


def test_a_command_of_another_package_is_listed_with_its_own_words_and_runs(installs: Installing) -> None:
    installs("greeter", "partstream.commands", "greet = greeter_command:command", greeter_command=COMMAND)
    assert "greet Greets." in " ".join(CliRunner().invoke(main, ["--help"]).output.split())
    done = CliRunner().invoke(main, ["greet"])
    assert (done.exit_code, done.output) == (0, "hello from elsewhere\n")


def test_a_command_that_cannot_be_loaded_ends_with_an_error_that_names_its_package(installs: Installing) -> None:
    installs("greeter", "partstream.commands", "greet = absent_command:command")
    done = CliRunner().invoke(main, ["greet"])
    assert done.exit_code == 2
    assert "greeter adds absent_command:command, which cannot be loaded: ModuleNotFoundError" in done.output


def _entry_points(package: str) -> Mapping[str, Mapping[str, Any]]:
    text = (PACKAGES / package / "pyproject.toml").read_text(encoding="utf-8")
    points: Mapping[str, Mapping[str, Any]] = tomllib.loads(text)["project"].get("entry-points", {})
    return points


def test_the_table_of_commands_names_the_package_of_each_that_another_package_adds() -> None:
    promised = {(name, home) for name, (home, _) in COMMANDS.items() if "." not in home}
    there = {(name, package) for package in OURS for name in _entry_points(package).get(plugins.COMMANDS, ())}
    assert promised == there


def test_our_packages_add_what_the_core_looks_up_and_nothing_else() -> None:
    groups = {plugins.COMMANDS, plugins.AGENTS, plugins.CAPTURES, plugins.SIDECAR, plugins.SERVE}
    there = {group for package in OURS for group in _entry_points(package) if group.startswith("partstream.")}
    assert there == groups
