"""The Postgres of the tests: one for all who share a folder, gone when the last of them is, however it ends."""

import subprocess
import sys
import time
from pathlib import Path

import pytest

from interop.servers.postgres import NoPostgresError, _programs

USER = """
import sys
from pathlib import Path
from interop.servers.postgres import shared_server
server, users = shared_server(Path(sys.argv[1]))
print(server.folder, flush=True)
sys.stdin.readline()
"""


def test_a_server_ends_when_its_last_user_is_killed(tmp_path: Path) -> None:
    try:
        _programs()
    except NoPostgresError as error:
        pytest.skip(str(error))
    users = [
        subprocess.Popen(
            [sys.executable, "-c", USER, tmp_path], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True,
            cwd=Path(__file__).resolve().parents[4],
        )
        for _ in range(2)
    ]  # fmt: skip
    try:
        folders = {Path(user.stdout.readline().strip()) for user in users if user.stdout is not None}
        assert len(folders) == 1  # the second has waited for the first
        (folder,) = folders
        users[0].kill()
        users[0].wait(10)
        assert (folder / "data" / "postmaster.pid").exists()
    finally:
        for user in users:
            user.kill()
            user.communicate(timeout=10)
    ends = time.monotonic() + 20
    while folder.exists():
        assert time.monotonic() < ends
        time.sleep(0.02)
