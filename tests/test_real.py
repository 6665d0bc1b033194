"""Real servers with real models: what a run keeps, and what `make real` builds and asks."""

from __future__ import annotations
import json
from pathlib import Path

import pytest

from interop.real.rows import RESULTS, RealServer, keep, kept

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
