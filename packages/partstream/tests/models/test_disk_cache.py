import logging
from pathlib import Path

import pytest

from partstream.codec.system import CACHE
from partstream.upstream.discovery import CachedAnswer, DiskCache

ANSWERS = {"/v1/models": CachedAnswer({"data": [{"id": "a"}]}, 1.5), "/api/tags": CachedAnswer(None, 2.0)}


def test_what_is_saved_is_loaded_again(tmp_path: Path):
    cache = DiskCache(tmp_path / "not" / "there", "https://host/v1")
    assert cache.load() == {}
    cache.save(ANSWERS)
    assert DiskCache(tmp_path / "not" / "there", "https://host/v1").load() == ANSWERS


def test_every_upstream_has_its_file_and_the_name_does_not_say_which(tmp_path: Path):
    one, other = DiskCache(tmp_path, "https://one/v1"), DiskCache(tmp_path, "https://other/v1")
    one.save(ANSWERS)
    assert other.load() == {}
    assert "one" not in one.path.name


def test_every_account_has_its_file_and_the_name_does_not_say_which(tmp_path: Path):
    accounts = (b"", b"key-of-one", b"key-of-another")
    caches = [DiskCache(tmp_path, "https://host/v1", account) for account in accounts]
    caches[1].save(ANSWERS)
    assert [cache.load() for cache in caches] == [{}, ANSWERS, {}]
    assert "key-of-one" not in caches[1].path.name
    assert "key-of-one" not in caches[1].path.read_text()


def test_what_is_removed_is_not_loaded_and_removing_nothing_is_no_error(tmp_path: Path):
    cache = DiskCache(tmp_path, "upstream")
    cache.remove()
    cache.save(ANSWERS)
    cache.remove()
    assert cache.load() == {}


def test_saving_leaves_one_file_and_no_pieces(tmp_path: Path):
    cache = DiskCache(tmp_path, "upstream")
    for _ in range(3):
        cache.save(ANSWERS)
    assert [path.name for path in tmp_path.iterdir()] == [cache.path.name]


def test_a_folder_that_is_a_file_is_logged_and_nothing_more(tmp_path: Path, caplog: pytest.LogCaptureFixture):
    (tmp_path / "file").write_text("")
    cache = DiskCache(tmp_path / "file", "upstream")
    cache.save(ANSWERS)
    assert cache.load() == {}
    assert "cannot store the list of models" in caplog.text


def test_an_answer_with_an_infinite_number_is_not_stored_and_the_log_says_so(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
):
    cache = DiskCache(tmp_path, "upstream")
    cache.save(ANSWERS)
    cache.save({"/v1/models": CachedAnswer({"data": [{"id": "a", "context_length": float("inf")}]}, 2.0)})
    assert cache.load() == ANSWERS
    assert "cannot store the list of models" in caplog.text


def test_a_file_without_end_is_not_read(tmp_path: Path, caplog: pytest.LogCaptureFixture):
    cache = DiskCache(tmp_path, "upstream")
    with cache.path.open("wb") as file:
        file.truncate(33 * 1024 * 1024)
    with caplog.at_level(logging.WARNING):
        assert cache.load() == {}
    assert "cannot read the list of models" in caplog.text


def test_the_folder_can_be_named(monkeypatch: pytest.MonkeyPatch, tmp_path: Path):
    monkeypatch.setenv("PARTSTREAM_CACHE", str(tmp_path))
    assert CACHE.path() == tmp_path


def test_the_folder_is_the_systems(monkeypatch: pytest.MonkeyPatch, tmp_path: Path):
    monkeypatch.delenv("PARTSTREAM_CACHE", raising=False)
    for variable in ("XDG_CACHE_HOME", "LOCALAPPDATA", "HOME"):
        monkeypatch.setenv(variable, str(tmp_path))
    folder = CACHE.path()
    assert folder.name == "partstream"
    assert folder.is_relative_to(tmp_path)
