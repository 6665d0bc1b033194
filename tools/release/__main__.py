"""The command of `make release-check`: builds a release twice, and looks into it as a stranger would.

It ends with code 1 when something must not be released; dist/ then has the artifacts all the same, to look into.
"""

from __future__ import annotations
import json
import shutil
import subprocess
import sys
import tarfile
import tempfile
import time
import zipfile
from pathlib import Path
from typing import TYPE_CHECKING, Final

import click

from interop.servers.environments import PACKAGES
from tools.build_vsix import (
    BUNDLED,
    PLACEHOLDER,
    BuildError,
    repository_of,
    source_date_epoch,
    version_of_source,
)
from tools.release.bill import bill_of_materials, packages_of_npm
from tools.release.building import ROOT, BuildFailedError, build, differences
from tools.release.comparing import sha256
from tools.release.contents import faults_of_extension, faults_of_sdist
from tools.release.licences import (
    LEFT_OUT_EXTRAS,
    extras_of,
    fault_of_licence,
    fault_of_optional_licence,
    required_packages,
)
from tools.release.publishing import BY_HAND, files_of_release, missing_to_publish
from tools.release.pythons import found_pythons, missing_pythons
from tools.release.trials import command_without_network
from tools.release.versions import faults_of_versions, version_places
from tools.release.wheelhouse import WheelhouseError, fill

if TYPE_CHECKING:
    from collections.abc import Callable

    from tools.release.licences import Package

__all__ = ["check"]

_DIST: Final = ROOT / "dist"
_LONGEST: Final = 1_800
"""Seconds that the trials of all artifacts on all Pythons may take."""


@click.command()
def main() -> None:
    """Builds a release twice, checks what is in it, and writes its hashes and its bill of materials."""
    sys.exit(1 if check(click.echo) else 0)


def check(say: Callable[[str], object]) -> list[str]:
    """Checks a release, and leaves its artifacts and their hashes in dist/.

    Args:
        say: Receives what begins, and what was found.

    Returns:
        The faults; none if it can be released.
    """
    faults: list[str] = []

    def part(title: str, run: Callable[[], list[str]]) -> None:
        say(f"==> {title}")
        begun = time.monotonic()
        found = run()
        faults.extend(found)
        for fault in found:
            say(f"  FAULT: {fault}")
        say(f"<== {title}: {time.monotonic() - begun:.0f} s, {len(found) or 'no'} fault{'s' * (len(found) != 1)}")

    artifacts: list[Path] = []
    part("the version in all places", lambda: _versions(say))
    part("the address of the repository", _address)
    part("two builds of each artifact", lambda: _built_twice(artifacts, say))
    part("the contents", lambda: _contents(artifacts))
    part("the licences", lambda: _licences(say))
    missing = missing_pythons(found_pythons())
    if artifacts:
        part("each artifact in empty environments, without a network", lambda: _trials(artifacts, say))
        part("the bill of materials and the hashes", lambda: _hashes(artifacts, say))
    if missing:
        say(f"left out, because this machine does not have it: Python {', '.join(missing)}")
    _end(artifacts, say)
    say(f"{len(faults)} faults: this must not be released" if faults else "no faults: this can be released")
    return faults


def _end(artifacts: list[Path], say: Callable[[str], object]) -> None:
    """Names the three kinds of files in dist/, and what is missing before a person can publish them."""
    say(f"dist/ has three kinds of files, beside their hashes and the bill of materials of {version_of_source(ROOT)}:")
    for line in files_of_release(path.name for path in artifacts):
        say(f"  {line}")
    say("missing to publish:")
    for line in missing_to_publish(ROOT):
        say(f"  {line}")
    for line in BY_HAND:
        say(f"  by hand, once: {line}")


def _versions(say: Callable[[str], object]) -> list[str]:
    try:
        places = version_places(ROOT)
    except BuildError as error:
        return [str(error)]
    for place, version in places.items():
        say(f"  {version:10} {place}")
    return faults_of_versions(places)


def _address() -> list[str]:
    """The fault that the address of the project is not filled in: its packages would name no place for reports."""
    fault = (
        f"pyproject.toml: repository of [tool.partstream] has the owner {PLACEHOLDER}; write the address of the"
        " published repository, and run tools/generate.py"
    )
    return [fault] if repository_of(ROOT) is None else []


def _built_twice(artifacts: list[Path], say: Callable[[str], object]) -> list[str]:
    with tempfile.TemporaryDirectory() as folder:
        try:
            first, second = (build(Path(folder) / str(which), which) for which in (0, 1))
        except BuildFailedError as error:
            return [str(error)]
        _DIST.mkdir(exist_ok=True)
        for path in first:
            say(f"  {path.stat().st_size:>10,} bytes {path.name}")
            artifacts.append(Path(shutil.copyfile(path, _DIST / path.name)))
        return differences(first, second)


def _contents(artifacts: list[Path]) -> list[str]:
    found: list[str] = []
    for path in artifacts:
        if path.suffix == ".gz":
            with tarfile.open(path) as tar:
                found += [f"{path.name}: {fault}" for fault in faults_of_sdist(tar.getnames())]
            continue
        with zipfile.ZipFile(path) as archive:
            is_extension = path.suffix == ".vsix"
            faults = faults_of_extension(archive, ROOT) if is_extension else faults_of_sdist(archive.namelist())
            found += [f"{path.name}: {fault}" for fault in faults]
    return found


def _licences(say: Callable[[str], object]) -> list[str]:
    of_npm = packages_of_npm(ROOT)
    always = required_packages([*PACKAGES, *BUNDLED])
    found: list[str] = []

    def judge(package: Package, kept: str, fault: str) -> None:
        say(f"  {package.name:40} {package.version:10} {kept:22} {package.licence}")
        if fault:
            found.append(f"{package.name} {package.version} ({kept}): {fault}")

    for package in [*always, *of_npm]:
        kept = "bundled" if package.name in BUNDLED or package in of_npm else "required"
        judge(package, kept, fault_of_licence(package.licence))
    for ours in PACKAGES:
        for extra in extras_of(ours):
            if extra in LEFT_OUT_EXTRAS:
                say(f"  left out: {ours}[{extra}], {LEFT_OUT_EXTRAS[extra]}")
                continue
            for package in required_packages([f"{ours}[{extra}]"]):
                if package not in always:
                    judge(package, f"extra {extra}", fault_of_optional_licence(package))
    return found


def _trials(artifacts: list[Path], say: Callable[[str], object]) -> list[str]:
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        for path in artifacts:
            shutil.copyfile(path, folder / path.name)
        try:
            say(f"  {len(fill(folder / 'wheelhouse', found_pythons()))} wheels, hashes checked")
        except WheelhouseError as error:
            return [str(error)]
        done = subprocess.run(command_without_network(folder), cwd=ROOT, timeout=_LONGEST, check=False)
        written = folder / "faults.json"
        if done.returncode or not written.exists():
            return [f"the trials ended with code {done.returncode}"]
        found: list[str] = json.loads(written.read_text(encoding="utf-8"))
        return found


def _hashes(artifacts: list[Path], say: Callable[[str], object]) -> list[str]:
    version = version_of_source(ROOT)
    bill = _DIST / f"partstream-{version}.cdx.json"
    packages = required_packages([*PACKAGES, *BUNDLED])
    hashes = {path.name: sha256(path) for path in artifacts}
    text = bill_of_materials(version, source_date_epoch(), packages, packages_of_npm(ROOT), hashes)
    bill.write_text(text, encoding="utf-8")
    lines = [f"{one}  {name}" for name, one in {**hashes, bill.name: sha256(bill)}.items()]
    (_DIST / "SHA256SUMS").write_text("\n".join(lines) + "\n", encoding="utf-8")
    say("\n".join(f"  {line}" for line in lines))
    return []


if __name__ == "__main__":
    main()
