"""`partstream serve` keeps the responses that clients ask to store, also over a restart, unless it is told not to."""

import signal
import stat
from pathlib import Path

import httpx2
import pytest
from click.testing import CliRunner

from cli.test_serve import TOKEN, running
from partstream.cli.serve import command
from partstream.cli.serve_store import opened_store
from partstream.serving.stored_answers import SQLiteAnswers

HEADERS = {"authorization": f"Bearer {TOKEN}"}


def _create(url: str, **body: str) -> httpx2.Response:
    headers, asked = HEADERS, {"model": "demo", **body}
    return httpx2.post(f"{url}/v1/responses", json=asked, headers=headers, trust_env=False, timeout=30)


def test_a_stored_response_is_continued_after_a_restart(tmp_path: Path) -> None:
    data = str(tmp_path / "data")
    with running("--demo", "--json", PARTSTREAM_DATA=data) as served:
        first = _create(served.url, input="Remember: slate.").json()
        served.end(signal.SIGINT)
    with running("--demo", "--json", PARTSTREAM_DATA=data) as served:
        assert _create(served.url, input="And now?", previous_response_id=first["id"]).status_code == 200
    file = tmp_path / "data" / "serve-responses.sqlite"
    assert stat.S_IMODE(file.stat().st_mode) == 0o600


def test_the_options_choose_the_file_and_the_days_or_nothing(tmp_path: Path) -> None:
    path = tmp_path / "answers"
    options = {"store_file": path, "store_days": 1.0, "no_store": False, "other": 1}
    assert isinstance(opened_store(options), SQLiteAnswers)
    assert path.exists()
    assert options == {"other": 1}
    assert opened_store({"store_file": tmp_path / "none", "store_days": 1.0, "no_store": True}) is None
    assert not (tmp_path / "none").exists()


@pytest.mark.parametrize("number", ["0", "x"])
def test_days_that_are_none_are_refused(number: str) -> None:
    ended = CliRunner().invoke(command, ["--demo", "--store-days", number])
    assert ended.exit_code == 2
    assert "--store-days" in ended.output
