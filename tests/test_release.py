"""What `make release-check` refuses: a version that differs, two builds that differ, a stray file, a licence."""

import json
import shutil
import subprocess
import sys
import tarfile
import zipfile
from importlib import metadata
from pathlib import Path

import pytest

from interop.servers.environments import PACKAGES
from tools.build_vsix import (
    BUNDLED,
    ENTRY_POINTS,
    NOT_PACKED,
    OURS,
    VERSION_SOURCE,
    BuildError,
    is_packed,
    make_reproducible,
    packed_entry_points,
    version_of_source,
)
from tools.release.bill import bill_of_materials, packages_of_npm
from tools.release.comparing import first_difference
from tools.release.contents import (
    entry_of,
    faults_of_extension,
    faults_of_imports,
    faults_of_sdist,
    faults_of_vsix,
    modules_of_ours,
)
from tools.release.imports import imported_by, modules_of
from tools.release.licences import (
    ALLOWED,
    EXCEPTIONS,
    LEFT_OUT_EXTRAS,
    Package,
    extras_of,
    fault_of_licence,
    fault_of_optional_licence,
    licence_of,
    required_packages,
)
from tools.release.publishing import BY_HAND, files_of_release, missing_to_publish
from tools.release.pythons import SUPPORTED, found_pythons, missing_pythons
from tools.release.trials import TrialError, try_sidecar
from tools.release.versions import faults_of_versions, version_places

ROOT = Path(__file__).parent.parent
MODULES = modules_of_ours(ROOT)
ADDITIONS = ["partstream_agents.in_files", "partstream_devtools.sidecar"]
"""The modules that the sidecar finds by entry points."""

LIBRARIES = [
    "extension/bundled/libs/partstream/py.typed",
    "extension/bundled/libs/typing_extensions.py",
    *(f"extension/bundled/libs/{name.replace('-', '_')}-1.0.dist-info/METADATA" for name in (*OURS, *BUNDLED)),
]
"""One entry or two of each package that the sidecar needs."""

ANY_DATE = (2026, 11, 23, 12, 0, 0)


def _zip(path: Path, entries: dict[str, str], date: tuple[int, int, int, int, int, int] = ANY_DATE) -> Path:
    with zipfile.ZipFile(path, "w") as archive:
        for name, content in entries.items():
            archive.writestr(zipfile.ZipInfo(name, date), content)
    return path


# ---- versions ----


def _tree(root: Path, *, source: str = "1.2.0", lock: str = "1.2.0", pin: str = "1.2.0") -> Path:
    (root / VERSION_SOURCE).parent.mkdir(parents=True)
    (root / VERSION_SOURCE).write_text(f'__version__ = "{source}"\n' if source else "")
    for name in PACKAGES[1:]:
        (root / "packages" / name).mkdir()
        project = f'[project]\nversion = "1.2.0"\ndependencies = ["click>=8", "partstream[serve]=={pin}"]\n'
        (root / "packages" / name / "pyproject.toml").write_text(project)
    (root / "extension").mkdir()
    (root / "extension" / "package.json").write_text(json.dumps({"version": "1.2.0"}))
    packages = {"": {"version": lock}}
    (root / "extension" / "package-lock.json").write_text(json.dumps({"version": "1.2.0", "packages": packages}))
    (root / "CHANGELOG.md").write_text("# Changelog\n\n## [1.2.0] - 2026-01-01\n\n## [1.1.0] - 2025-01-01\n")
    return root


def test_every_place_of_the_project_says_the_same_version():
    assert faults_of_versions(version_places(ROOT)) == []


def test_a_place_that_says_another_version_is_named_with_what_it_says(tmp_path: Path):
    (fault,) = faults_of_versions(version_places(_tree(tmp_path, lock="1.1.9")))
    assert fault == (
        "extension/package-lock.json, its root package: the version is 1.1.9, expected 1.2.0 as in "
        "packages/partstream/src/partstream/_version.py"
    )


def test_a_package_that_needs_another_core_than_its_own_is_named(tmp_path: Path):
    faults = faults_of_versions(version_places(_tree(tmp_path, pin="1.1.9")))
    assert [fault.partition(", expected")[0] for fault in faults] == [
        f"packages/{name}/pyproject.toml, its partstream: the version is 1.1.9" for name in PACKAGES[1:]
    ]


def test_a_source_without_a_version_is_refused(tmp_path: Path):
    with pytest.raises(
        BuildError, match=r'packages/partstream/src/partstream/_version.py: no line __version__ = "..."'
    ):
        version_of_source(_tree(tmp_path, source=""))


# ---- two builds ----


def test_two_builds_with_the_same_bytes_do_not_differ(tmp_path: Path):
    assert first_difference(_zip(tmp_path / "a.whl", {"x": "1"}), _zip(tmp_path / "b.whl", {"x": "1"})) == ""


@pytest.mark.parametrize(
    ("entries", "date", "said"),
    [
        ({"a": "1", "b": "3", "c": "4"}, ANY_DATE, "b: the content differs: "),
        ({"a": "1", "b": "2", "c": "3"}, (2026, 11, 23, 12, 0, 2), "a: the date differs: "),
        ({"a": "1", "c": "3", "b": "2"}, ANY_DATE, "the entries are not the same: b in one, c in the other"),
        ({"a": "1", "b": "2"}, ANY_DATE, "the entries are not the same: c in one, nothing in the other"),
    ],
    ids=["content", "date", "order", "fewer"],
)
def test_of_two_builds_the_first_entry_that_differs_is_named(tmp_path: Path, entries, date, said):
    one = _zip(tmp_path / "one.vsix", {"a": "1", "b": "2", "c": "3"})
    assert first_difference(one, _zip(tmp_path / "other.vsix", entries, date)).startswith(said)


def test_a_file_of_a_source_distribution_with_another_mode_is_named(tmp_path: Path):
    (tmp_path / "file").write_text("same")
    paths = [tmp_path / "one.tar.gz", tmp_path / "other.tar.gz"]
    for path, mode in zip(paths, (0o644, 0o600), strict=True):
        (tmp_path / "file").chmod(mode)
        with tarfile.open(path, "w:gz") as tar:
            tar.add(tmp_path / "file", "p/file")
    assert first_difference(*paths) == "p/file: the mode differs: 0o644 in one, 0o600 in the other"


def test_a_package_that_is_written_anew_is_the_same_whatever_its_order_dates_and_modes(tmp_path: Path):
    one = _zip(tmp_path / "one.vsix", {"b": "2", "a": "1"})
    other = _zip(tmp_path / "other.vsix", {"a": "1", "b": "2"}, (2020, 1, 1, 0, 0, 0))
    for path in (one, other):
        make_reproducible(path, 1_700_000_000)
    assert one.read_bytes() == other.read_bytes()
    with zipfile.ZipFile(one) as archive:
        assert {entry.filename: archive.read(entry) for entry in archive.infolist()} == {"a": b"1", "b": b"2"}
        assert {entry.date_time for entry in archive.infolist()} == {(2023, 11, 14, 22, 13, 20)}


# ---- contents ----


def test_the_extension_with_a_picture_and_its_libraries_may_be_packed():
    names = [
        *LIBRARIES,
        "extension/package.json",
        "extension/changelog.md",
        "extension/media/a.png",
        "extension/docs/pictures/a.webp",
    ]
    assert faults_of_vsix(names) == []


def test_an_extension_without_a_bundled_package_is_refused():
    names = [name for name in LIBRARIES if "/h11" not in name]
    assert faults_of_vsix(names) == ["extension/bundled/libs/h11 is missing: the sidecar imports it"]


@pytest.mark.parametrize(
    ("name", "said"),
    [
        ("extension/src/extension.ts", "neither the extension's own, nor a picture, nor a page, nor a library"),
        ("extension/dist/extension.js.map", "neither the extension's own, nor a picture, nor a page, nor a library"),
        ("extension/docs/film.mp4", "neither a page nor a picture of one"),
        ("extension/bundled/libs/click/core.py", "click is not among the packages that the sidecar imports"),
        (
            "extension/bundled/libs/rich-15.0.dist-info/METADATA",
            "rich is not among the packages that the sidecar imports",
        ),
        ("extension/bundled/libs/h11/tests/test_a.py", "tests of a package"),
        ("extension/bundled/libs/h11/__pycache__/a.py", "a cache: __pycache__"),
        ("extension/bundled/libs/h11/a.pyc", "bytecode, which fits one Python"),
        ("extension/bundled/libs/h11/a.so", "compiled code, which fits one platform"),
    ],
)
def test_what_the_sidecar_does_not_need_is_not_packed(name: str, said: str):
    assert faults_of_vsix([*LIBRARIES, name, "extension/readme.md"]) == [f"{name}: {said}"]


@pytest.fixture(scope="module")
def packed() -> list[str]:
    """The entries of our modules that the extension gets."""
    entries = [entry_of(name, path) for name, path in MODULES.items()]
    return [name for name in entries if is_packed(name.removeprefix("extension/bundled/libs/"))]


def test_the_extension_gets_every_module_that_the_sidecar_imports_and_no_other(packed: list[str]):
    assert faults_of_imports(packed, MODULES, ADDITIONS) == []


@pytest.mark.parametrize(
    ("lost", "importer"),
    [
        ("partstream/vscode/host.py", "partstream.vscode."),
        ("partstream_agents/pydantic_ai.py", "partstream_agents.detection"),
        ("partstream_devtools/capturing/capture_socket.py", "partstream_devtools.sidecar"),
    ],
)
def test_a_module_that_the_sidecar_imports_and_the_extension_does_not_get_is_named_with_who_imports_it(
    packed: list[str], lost: str, importer: str
):
    names = [name for name in packed if not name.endswith(lost)]
    faults = faults_of_imports(names, MODULES, ADDITIONS)
    module = lost.removesuffix(".py").replace("/", ".")
    assert [fault for fault in faults if fault.startswith(f"{module} is missing: {importer}")] == faults != []


@pytest.mark.parametrize("stray", ["partstream.cli.chat", "partstream_devtools.recorder.proxy"])
def test_a_module_that_the_extension_gets_and_the_sidecar_never_imports_is_named(packed: list[str], stray: str):
    entries = [*packed, entry_of(stray, MODULES[stray])]
    assert faults_of_imports(entries, MODULES, ADDITIONS) == [f"{stray} is packed, and the sidecar never imports it"]


def test_everything_that_is_left_out_of_the_extension_is_there_to_be_left_out():
    assert set(NOT_PACKED) <= set(MODULES)
    assert is_packed("partstream/clients.py")
    assert not is_packed("partstream/cli/page.css")


def test_of_the_entry_points_of_a_package_the_extension_gets_those_that_the_sidecar_looks_up():
    text = """
[console_scripts]
partstream = partstream.cli:main

[partstream.commands]
check = p.commands_check:command

[partstream.sidecar]
Recordings = p.sidecar:Recordings

[pytest11]
partstream = p.pytest_plugin
"""
    assert packed_entry_points(text).split("\n") == [
        "[partstream.sidecar]",
        "Recordings = p.sidecar:Recordings",
        "",
        "",
    ]
    assert packed_entry_points("[console_scripts]\nhttpx2 = httpx2:main\n") == ""


@pytest.mark.parametrize(
    ("more", "groups"),
    [
        ("", ["partstream.sidecar"]),
        ("[partstream.agents]\na = partstream_agents.in_files\n[pytest11]\np = partstream_devtools.conformance\n",
         ["partstream.agents", "partstream.sidecar", "pytest11"]),
    ],
    ids=["missing", "stray"],
)  # fmt: skip
def test_an_extension_with_other_entry_points_than_those_that_the_sidecar_looks_up_is_refused(
    tmp_path: Path, more: str, groups: list[str]
):
    name = f"extension/bundled/libs/partstream_devtools-1.0.dist-info/{ENTRY_POINTS}"
    text = f"[partstream.sidecar]\nrecordings = partstream_devtools.sidecar:SidecarRecordings\n{more}"
    with zipfile.ZipFile(_zip(tmp_path / "p.vsix", {name: text})) as archive:
        faults = faults_of_extension(archive, ROOT)
    assert faults[0] == f"entry points of {groups}, expected ['partstream.agents', 'partstream.sidecar']"


def test_imports_are_found_in_functions_in_tables_and_in_names_that_are_put_together(tmp_path: Path):
    sources = {
        "__init__": "",
        "start": "def late():\n    from p import late\n\nTABLE = {'x': 'p.named'}\n\ntry:\n    import other.inner\n",
        "late": "from typing import TYPE_CHECKING\nif TYPE_CHECKING:\n    import p.typed\nelse:\n    import p.run\n",
        "named/__init__": "def load(name):\n    return import_module(f'p.named.{name}')\n",
        **dict.fromkeys(("named/one", "run", "typed", "alone"), "import json\n"),
    }
    sources["start"] += "except ImportError:\n    pass\n"
    for name, source in sources.items():
        path = tmp_path / "p" / f"{name}.py"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(source)
    found = imported_by(["p.start"], modules_of(tmp_path, "p"))
    assert set(found) == {"p", "p.start", "p.late", "p.named", "p.named.one", "p.run", "other"}
    assert found["p.named.one"] == "p.named"


def test_a_source_distribution_holds_tests_and_no_caches():
    names = ["p-1/tests/test_a.py", "p-1/tests/__pycache__/a.pyc", "p-1/docs/.pytest_cache/README.md"]
    assert faults_of_sdist(names) == [
        "p-1/docs/.pytest_cache/README.md: a cache: .pytest_cache",
        "p-1/tests/__pycache__/a.pyc: a cache: __pycache__",
    ]


# ---- licences ----


@pytest.mark.parametrize(
    "licence", ["MIT", "Apache-2.0 AND BSD-3-Clause", "GPL-2.0-only OR MIT", "(GPL-3.0-only OR ISC) AND MIT"]
)
def test_a_permissive_licence_is_allowed_and_so_is_a_choice_of_one(licence: str):
    assert fault_of_licence(licence) == ""


@pytest.mark.parametrize(
    ("licence", "said"),
    [
        ("GPL-3.0-only", "its licence is not allowed: GPL-3.0-only"),
        ("MIT AND LGPL-3.0-only", "its licence is not allowed: MIT AND LGPL-3.0-only"),
        ("GPL-2.0-only WITH Classpath-exception-2.0", "its licence is not allowed: GPL-2.0-only WITH Classpath-exce"),
        ("Proprietary", "its licence is not allowed: Proprietary"),
        ("MIT AND (", "its licence is no SPDX expression: MIT AND ("),
        ("", "names no licence"),
    ],
)
def test_a_licence_that_is_copyleft_or_unknown_is_refused(licence: str, said: str):
    assert fault_of_licence(licence).startswith(said)


@pytest.mark.parametrize(
    ("headers", "licence"),
    [
        ({"License-Expression": ["MIT"], "License": ["Other"]}, "MIT"),
        ({"Classifier": ["Typing :: Typed", "License :: OSI Approved :: MIT License"]}, "MIT"),
        ({"License": ["BSD-3-Clause"]}, "BSD-3-Clause"),
        ({"License": ["LGPL-3.0-only"]}, "LGPL-3.0-only"),
        ({"License": ["Copyright 2020\nA licence"]}, ""),
        ({"Classifier": ["License :: OSI Approved :: BSD License"]}, "License :: OSI Approved :: BSD License"),
    ],
    ids=["expression", "classifier", "name", "name of an exception", "whole text", "which BSD"],
)
def test_the_licence_is_read_from_the_metadata_wherever_it_stands(headers: dict[str, list[str]], licence: str):
    assert licence_of(headers) == licence


def test_everything_that_is_bundled_or_required_may_be_given_away():
    packages = required_packages([*PACKAGES, *BUNDLED])
    names = {package.name for package in packages}
    assert {"click", "rich", "httpx2", "h11", "typing-extensions", "uvicorn"} <= names
    assert not names & {*PACKAGES}
    assert [package for package in packages if fault_of_licence(package.licence)] == []


def test_everything_that_an_extra_brings_may_be_used_or_is_an_exception_that_is_needed():
    brought = {
        package.name: package
        for name in PACKAGES
        for extra in set(extras_of(name)) - set(LEFT_OUT_EXTRAS)
        for package in required_packages([f"{name}[{extra}]"])
    }
    assert {"uvicorn", "psycopg-binary", "opentelemetry-sdk", "hypothesis"} <= set(brought), "extras of extras too"
    assert [package for package in brought.values() if fault_of_optional_licence(package)] == []
    assert all(fault_of_licence(brought[name].licence) for name in EXCEPTIONS), "a needless exception"


def test_no_exception_is_made_for_what_is_bundled_or_always_required():
    assert not {package.name for package in required_packages([*PACKAGES, *BUNDLED])} & set(EXCEPTIONS)


def test_an_exception_is_over_when_its_package_has_another_licence():
    assert fault_of_optional_licence(Package("psycopg", "4", "LGPL-3.0-only")) == ""
    assert fault_of_optional_licence(Package("psycopg", "4", "AGPL-3.0-only")) == (
        "its licence is AGPL-3.0-only, the exception is for LGPL-3.0-only"
    )
    assert fault_of_optional_licence(Package("other", "4", "LGPL-3.0-only")) == (
        "its licence is not allowed: LGPL-3.0-only"
    )


def test_the_page_on_releases_names_every_licence_that_is_allowed_and_every_exception():
    page = (ROOT / "docs" / "maintainers" / "releasing.md").read_text(encoding="utf-8")
    for name, exception in EXCEPTIONS.items():
        assert f"| `{name}` | {exception.licence} |" in page
    assert ", ".join(sorted(ALLOWED)) in " ".join(page.split())


# ---- Pythons and trials ----


def test_a_supported_python_that_the_machine_does_not_have_is_named():
    ours = ".".join(map(str, sys.version_info[:2]))
    assert ours in found_pythons()
    assert missing_pythons({"3.11": "python3.11", "3.13": "python3.13"}) == ["3.12", "3.14"]


def test_a_python_that_was_installed_for_this_project_is_found(tmp_path: Path):
    program = tmp_path / "some" / "bin" / f"python{SUPPORTED[-1]}"
    program.parent.mkdir(parents=True)
    program.write_text(f"#!/bin/sh\necho {SUPPORTED[-1]}\n", encoding="utf-8")
    program.chmod(0o755)
    others = found_pythons(tmp_path / "empty")
    assert found_pythons(tmp_path) == others | {SUPPORTED[-1]: others.get(SUPPORTED[-1], str(program))}


@pytest.fixture
def libraries(tmp_path: Path) -> Path:
    """What the extension bundles, made of what is installed here."""
    folder = tmp_path / "libraries"
    files: dict[str, Path] = {}
    for name in OURS:
        source = ROOT / "packages" / name / "src"
        files |= {path.relative_to(source).as_posix(): path for path in source.rglob("*") if path.is_file()}
        information = folder / f"{name.replace('-', '_')}-{version_of_source(ROOT)}.dist-info"
        information.mkdir(parents=True)
        distribution = metadata.distribution(name)
        (information / "METADATA").write_text(distribution.read_text("METADATA") or "")
        (information / ENTRY_POINTS).write_text(packed_entry_points(distribution.read_text(ENTRY_POINTS) or ""))
    for name in BUNDLED:
        files |= {str(file): Path(str(file.locate())) for file in metadata.files(name) or () if ".." not in file.parts}
    for name, path in files.items():
        if is_packed(name) and path.suffix != ".pyc":
            (folder / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copyfile(path, folder / name)
    return folder


def test_the_sidecar_answers_every_method_with_what_is_packed_and_nothing_else(libraries: Path, tmp_path: Path):
    assert try_sidecar(sys.executable, libraries, tmp_path) == version_of_source(ROOT)


@pytest.mark.parametrize(
    ("removed", "said"),
    [
        ("partstream", r"ended with code 1 and did not answer initialize: .*No module named 'partstream'"),
        ("partstream/vscode/hosted.py", "did not answer initialize: .*hosted"),
        ("partstream/pages/usage.py", "failed: ModuleNotFoundError: .*usage"),
        ("httpx2", "failed: .*ModuleNotFoundError: No module named 'httpx2'"),
        ("partstream_devtools/sidecar.py", "partstream-devtools adds partstream_devtools.sidecar:SidecarRecordings"),
        (f"partstream_devtools-{version_of_source(ROOT)}.dist-info", "failed: a recording needs the package"),
    ],
)
def test_a_sidecar_without_a_bundled_package_is_a_fault_that_says_what_is_missing(
    libraries: Path, tmp_path: Path, removed: str, said: str
):
    path = libraries / removed
    shutil.rmtree(path) if path.is_dir() else path.unlink()
    with pytest.raises(TrialError, match=f"(?s){said}"):
        try_sidecar(sys.executable, libraries, tmp_path)


# ---- the bill of materials ----


def test_the_bill_names_every_package_with_licence_and_hashes_and_is_the_same_each_time():
    packages, of_npm = required_packages(PACKAGES), packages_of_npm(ROOT)
    artifacts = {"partstream-1.2.0.vsix": "0" * 64}
    text = bill_of_materials("1.2.0", 1_700_000_000, packages, of_npm, artifacts)
    assert text == bill_of_materials("1.2.0", 1_700_000_000, packages, of_npm, artifacts)
    bill = json.loads(text)
    assert (bill["bomFormat"], bill["metadata"]["timestamp"][:10]) == ("CycloneDX", "2023-11-14")
    assert bill["metadata"]["component"]["components"][0]["hashes"][0]["content"] == "0" * 64
    listed = {component["name"]: component for component in bill["components"]}
    assert set(listed) == {package.name for package in [*packages, *of_npm]}
    assert listed["h11"]["licenses"] == [{"expression": "MIT"}]
    assert all(listed[package.name]["hashes"] for package in packages)
    assert {name for name, one in listed.items() if one["properties"][0]["value"] == "false"} >= {"click", "rich"}


def test_the_packages_of_npm_in_the_extension_may_be_given_away():
    packages = packages_of_npm(ROOT)
    assert [package.name for package in packages] == ["@vscode/l10n", "vscode-jsonrpc"]
    assert [package for package in packages if fault_of_licence(package.licence)] == []


# ---- what is missing to publish ----


def _publishable(root: Path, owner: str = "acme", date: str = "2026-01-01") -> Path:
    _tree(root)
    (root / "pyproject.toml").write_text(f'[tool.partstream]\nrepository = "https://github.com/{owner}/partstream"\n')
    (root / "CHANGELOG.md").write_text(f"# Changelog\n\n## [1.2.0] - {date}\n")
    for arguments in (
        ["init", "-q"],
        ["add", "-A"],
        ["-c", "user.name=a", "-c", "user.email=a@b", "commit", "-qm", "All"],
    ):
        subprocess.run(["git", *arguments], cwd=root, check=True, timeout=60)
    return root


def test_a_checkout_that_has_all_lacks_nothing_but_what_is_done_by_hand(tmp_path: Path):
    root = _publishable(tmp_path / "project")
    subprocess.run(["git", "tag", "v1.2.0"], cwd=root, check=True, timeout=60)
    assert list(missing_to_publish(root)) == []
    assert all(place in " ".join(BY_HAND) for place in ("trusted publisher", "marketplace", "private reports"))


@pytest.mark.parametrize(
    ("changed", "missing"),
    [
        ({"owner": "OWNER"}, ["pyproject.toml: the address of the repository", "the tag v1.2.0"]),
        ({"date": "unreleased"}, ["CHANGELOG.md: a newest heading [1.2.0] with a date", "the tag v1.2.0"]),
        ({}, ["the tag v1.2.0"]),
    ],
    ids=["no address", "no date", "no tag"],
)
def test_what_is_missing_to_publish_is_named(tmp_path: Path, changed: dict[str, str], missing: list[str]):
    found = list(missing_to_publish(_publishable(tmp_path / "project", **changed)))
    assert len(found) == len(missing)
    assert all(line.startswith(beginning) for line, beginning in zip(found, missing, strict=True))


def test_a_checkout_with_changes_is_named(tmp_path: Path):
    root = _publishable(tmp_path / "project")
    (root / "new.txt").write_text("new")
    assert "a checkout without changes" in list(missing_to_publish(root))[-1]


def test_a_dry_run_ends_with_three_kinds_of_files():
    lines = list(
        files_of_release(["p-1.vsix", "p-1.tar.gz", "p-1-py3-none-any.whl", "q-1-py3-none-any.whl", "SHA256SUMS"])
    )
    assert lines == [
        "wheels: p-1-py3-none-any.whl, q-1-py3-none-any.whl",
        "source distributions: p-1.tar.gz",
        "extension: p-1.vsix",
    ]
