"""The table of real servers of package registries: each can be started, and no two share a name."""

from pathlib import Path

import pytest

from interop.real.building import Built
from interop.real.servers import SERVERS, Place, Server

BUILT = Built.at(Path("/cache"))


def test_each_server_has_a_name_of_its_own():
    names = [server.name for server in SERVERS]
    assert len(set(names)) == len(names)


@pytest.mark.parametrize("server", SERVERS, ids=lambda server: server.name)
def test_each_command_listens_where_it_is_told_and_on_loopback_alone(
    server: Server, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setenv("PARTSTREAM_REAL_CACHE", str(tmp_path))
    (tmp_path / "SmolLM2-135M-Instruct").mkdir()
    (tmp_path / "SmolLM2-135M-Instruct/config.json").write_text("{}")
    command = server.command(Place(BUILT, 12_345, "http://127.0.0.1:54321", tmp_path))
    files = [path.read_text(encoding="utf-8") for path in tmp_path.iterdir() if path.is_file()]
    said = " ".join([*command, *files])
    assert "12345" in said
    assert ("http://127.0.0.1:54321" in said) is (server.is_gateway and server.headers is None)
    assert "--host 0" not in said
