"""What the artifacts may hold: the .vsix what the sidecar needs, the source distribution no caches."""

from __future__ import annotations
import re
from pathlib import PurePosixPath
from typing import TYPE_CHECKING, Final

from partstream.vscode.dialogs import DIALOGS
from tools.build_vsix import BUNDLED, COMPILED, ENTRY_POINTS, OURS, PACKED_GROUPS, entry_points_of
from tools.release.imports import imported_by, modules_of

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping
    from pathlib import Path
    from zipfile import ZipFile

__all__ = [
    "entry_of",
    "faults_of_extension",
    "faults_of_imports",
    "faults_of_sdist",
    "faults_of_vsix",
    "modules_of_ours",
]

_OF_EXTENSION: Final = frozenset(
    {
        "[Content_Types].xml",
        "extension.vsixmanifest",
        "extension/LICENSE.txt",
        "extension/changelog.md",
        "extension/dist/extension.js",
        "extension/l10n/bundle.l10n.json",
        "extension/package.json",
        "extension/package.nls.json",
        "extension/readme.md",
    }
)
"""Single files of the .vsix; beside them are only the media, the pages of the docs and the libraries."""
_MEDIA: Final = "extension/media/"
_PAGES: Final = "extension/docs/"
_OF_PAGES: Final = frozenset({".md", ".webp"})
_LIBRARIES: Final = "extension/bundled/libs/"
_PACKAGES: Final = frozenset(name.replace("-", "_") for name in (*OURS, *BUNDLED))

_SIDECAR: Final = "partstream.vscode.__main__"
_OF_THE_PERSON: Final[Mapping[str, str]] = {
    "acp": "the Agent Client Protocol, for programs that are agents",
    "agent_framework": "a framework of agents",
    "agents": "a framework of agents",
    "langchain": "a framework of agents",
    "langchain_core": "a framework of agents",
    "langgraph": "a framework of agents",
    "msgspec": "reads JSON faster where it is installed",
    "pydantic_ai": "a framework of agents",
}
"""What the sidecar imports only where the person has installed it, each with what it is."""
_FOR_PROVIDERS: Final[Mapping[str, str]] = {
    "partstream._moved": "modules by the names that they had",
    "partstream.protocols.ai_sdk": "messages in the form of another library",
    "partstream.runtime.translation": "one protocol as another",
}
"""What the sidecar does not import and a person's own provider may, each with what it is: packed all the same."""

_LATE: Final[Mapping[str, str]] = {
    "partstream._moved": "the new names of modules, which a provider's file may ask for by their old names",
    "partstream.server.application": "an application, which the sidecar does not make",
    "partstream.server.settings": "the settings of an application",
}
"""What a package of the sidecar offers under its names, and loads on request."""

_CACHES: Final = frozenset(
    {"__pycache__", ".git", ".hypothesis", ".mypy_cache", ".pytest_cache", ".ruff_cache", ".venv", "node_modules"}
)
_TESTS: Final = frozenset({"test", "tests"})
_BYTECODE: Final = frozenset({".pyc", ".pyo"})


def faults_of_extension(archive: ZipFile, root: Path) -> list[str]:
    """Says all that is wrong with what a .vsix holds.

    Args:
        archive: The .vsix.
        root: The folder of the project that it was built of.
    """
    names = archive.namelist()
    texts = [archive.read(name).decode() for name in names if name.endswith(f".dist-info/{ENTRY_POINTS}")]
    added = [
        (group, value) for text in texts for group, rows in entry_points_of(text).items() for value in rows.values()
    ]
    groups = sorted({group for group, _ in added})
    faults = [] if groups == sorted(PACKED_GROUPS) else [f"entry points of {groups}, expected {sorted(PACKED_GROUPS)}"]
    additions = [value.partition(":")[0] for _, value in added]
    return [*faults, *faults_of_vsix(names), *faults_of_imports(names, modules_of_ours(root), additions)]


def faults_of_vsix(names: Iterable[str]) -> list[str]:
    """Says of each entry of a .vsix why it must not be there, and of each package of the sidecar if it is missing.

    Args:
        names: The entries.
    """
    entries = sorted(names)
    missing = sorted(_PACKAGES - {_package(name) for name in entries})
    strays = [f"{name}: {fault}" for name in entries if (fault := _fault_of_vsix(name))]
    return [*(f"{_LIBRARIES}{package} is missing: the sidecar imports it" for package in missing), *strays]


def modules_of_ours(root: Path) -> dict[str, Path]:
    """The modules of our packages that the extension carries, each with its file.

    Args:
        root: The folder of the project.
    """
    folders = {name.replace("-", "_"): root / "packages" / name / "src" for name in OURS}
    return {name: path for package, folder in folders.items() for name, path in modules_of(folder, package).items()}


def entry_of(module: str, path: Path) -> str:
    """The entry that a module of ours has in a .vsix.

    Args:
        module: Its name.
        path: Its file.
    """
    return f"{_LIBRARIES}{module.replace('.', '/')}{'/__init__' if path.stem == '__init__' else ''}.py"


def faults_of_imports(names: Iterable[str], modules: Mapping[str, Path], additions: Iterable[str]) -> list[str]:
    """Says what a .vsix does not hold and the sidecar imports, and what it holds that is never imported.

    Args:
        names: The entries of the .vsix.
        modules: The modules that it was built of, as :func:`modules_of_ours` gives them.
        additions: The modules that its entry points name.
    """
    files = {entry_of(name, path): name for name, path in modules.items()}
    packed = {files[name] for name in names if name in files}
    followed = {name: path for name, path in modules.items() if name not in _LATE}
    dialogs = [place.partition(":")[0] for place in DIALOGS.values()]
    imported = imported_by([_SIDECAR, *dialogs, *additions], followed)
    missing = {
        name: importer
        for name, importer in imported.items()
        if name not in packed | _PACKAGES and name not in _OF_THE_PERSON
    }
    strays = {name for name in packed - {*imported} if not any(name.startswith(each) for each in _FOR_PROVIDERS)}
    return [
        *(f"{name} is missing: {importer} imports it" for name, importer in sorted(missing.items())),
        *(f"{name} is packed, and the sidecar never imports it" for name in sorted(strays)),
    ]


def faults_of_sdist(names: Iterable[str]) -> list[str]:
    """Says of each entry of a source distribution that is a cache, or was compiled, that it is.

    Args:
        names: The entries.
    """
    return [f"{name}: {fault}" for name in sorted(names) if (fault := _fault_of_any(PurePosixPath(name)))]


def _fault_of_vsix(name: str) -> str:
    if name in _OF_EXTENSION or name.startswith(_MEDIA):
        return ""
    if name.startswith(_PAGES):
        return "" if PurePosixPath(name).suffix in _OF_PAGES else "neither a page nor a picture of one"
    if not name.startswith(_LIBRARIES):
        return "neither the extension's own, nor a picture, nor a page, nor a library"
    package = _package(name)
    if package not in _PACKAGES:
        return f"{package} is not among the packages that the sidecar imports"
    path = PurePosixPath(name.removeprefix(_LIBRARIES))
    if _TESTS & {*path.parts}:
        return "tests of a package"
    return _fault_of_any(path)


def _package(name: str) -> str:
    """The package that a library belongs to; nothing for what is no library."""
    if not name.startswith(_LIBRARIES):
        return ""
    return re.sub(r"(-[^-]+\.dist-info|\.py)$", "", PurePosixPath(name.removeprefix(_LIBRARIES)).parts[0])


def _fault_of_any(path: PurePosixPath) -> str:
    if caches := _CACHES & {*path.parts}:
        return f"a cache: {min(caches)}"
    if path.suffix in _BYTECODE:
        return "bytecode, which fits one Python"
    return "compiled code, which fits one platform" if path.suffix in COMPILED else ""
