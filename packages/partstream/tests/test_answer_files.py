"""Files of answers are kept for the user alone, under names that no answer chooses, and never too many of them."""

import os
import stat
import sys
from pathlib import Path

import pytest

from conversation.samples import PDF, PNG, png
from partstream import DataPart
from partstream.runtime.answer_files import AnswerFiles, FileLimits, FileNotKeptError, is_file
from rows import one_test_for

PICTURE = DataPart(PNG, "image/png")
POSIX = pytest.mark.skipif(sys.platform == "win32", reason="Windows has other permissions")


def _names(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.iterdir())


@one_test_for(
    ("part", "kept"),
    [
        (PICTURE, True),
        (DataPart(PDF, "application/pdf"), True),
        (DataPart(b"\x00\x01", "application/octet-stream"), True),
        (DataPart(b"<svg xmlns='http://www.w3.org/2000/svg'/>", "image/svg+xml"), True),
        (DataPart(b"", "image/png"), False),
        (DataPart(b"{}", "usage"), False),
        (DataPart(b"{}", "application/vnd.vscode.citation+json"), False),
        (DataPart(b"{}", "application/json"), False),
        (DataPart(b"hello", "text/plain"), False),
        (DataPart(b"https://example.com/a.png", "text/uri-list"), False),
    ],
    ids=lambda one: one.mime_type if isinstance(one, DataPart) else "",
)
def test_a_file_is_what_a_person_wants_to_see(part: DataPart, kept: bool) -> None:
    assert is_file(part) is kept


@POSIX
def test_a_file_is_there_for_the_user_alone(tmp_path: Path) -> None:
    folder = tmp_path / "cache" / "files"
    kept = AnswerFiles(folder).keep(PICTURE)
    assert kept.path.read_bytes() == PNG
    assert stat.S_IMODE(kept.path.stat().st_mode) == 0o600
    assert stat.S_IMODE(folder.stat().st_mode) == 0o700
    assert kept.link == f"[image/png, {len(PNG)} bytes]({kept.path.as_uri()})"


@pytest.mark.parametrize(
    "media_type", ["../../etc/passwd", "image/png](javascript:alert(1))", "image/\x1b[2J", "x" * 500]
)
def test_no_answer_chooses_a_name_or_writes_into_the_link(tmp_path: Path, media_type: str) -> None:
    kept = AnswerFiles(tmp_path).keep(DataPart(b"\x00\x01\x02", media_type))
    assert _names(tmp_path) == [kept.path.name]
    assert kept.path.name.endswith(".bin")
    assert kept.description in {"application/octet-stream, 3 bytes", "image/png, 3 bytes"}


def test_the_same_file_is_kept_once(tmp_path: Path) -> None:
    files = AnswerFiles(tmp_path)
    assert files.keep(PICTURE) == files.keep(DataPart(PNG, "image/jpeg"))
    assert len(_names(tmp_path)) == 1


def test_a_file_that_is_too_large_is_not_kept(tmp_path: Path) -> None:
    with pytest.raises(FileNotKeptError, match="more than 8 bytes"):
        AnswerFiles(tmp_path, FileLimits(file_bytes=8)).keep(PICTURE)
    assert _names(tmp_path) == []


def _kept(files: AnswerFiles, count: int) -> list[str]:
    """Keeps files of different widths, each older than the next."""
    names = []
    for width in range(1, count + 1):
        path = files.keep(DataPart(png(width), "image/png")).path
        names.append(path.name)
        os.utime(path, (1000 + width, 1000 + width))
    return names


@pytest.mark.parametrize(
    ("limits", "now", "left"),
    [
        (FileLimits(), 1004, 3),
        (FileLimits(files=2), 1004, 2),
        (FileLimits(all_bytes=2 * len(png(3))), 1004, 2),
        (FileLimits(all_bytes=1), 1004, 1),
        (FileLimits(seconds=100), 2000, 1),
    ],
)
def test_the_oldest_files_go_and_the_newest_stays(tmp_path: Path, limits: FileLimits, now: int, left: int) -> None:
    *_, last = names = _kept(AnswerFiles(tmp_path, clock=lambda: 1004), 3)
    AnswerFiles(tmp_path, limits, lambda: now).keep(DataPart(png(3), "image/png"))
    assert set(_names(tmp_path)) == set(names[-left:])
    assert last in _names(tmp_path)


def test_files_of_others_in_the_folder_stay(tmp_path: Path) -> None:
    (tmp_path / "mine.png").write_bytes(b"x")
    os.utime(tmp_path / "mine.png", (1, 1))
    AnswerFiles(tmp_path, FileLimits(files=1)).keep(PICTURE)
    assert "mine.png" in _names(tmp_path)


@POSIX
def test_a_link_in_the_place_of_the_folder_or_the_file_is_never_followed(tmp_path: Path) -> None:
    target = tmp_path / "target"
    target.mkdir()
    (tmp_path / "files").symlink_to(target)
    with pytest.raises(FileNotKeptError):
        AnswerFiles(tmp_path / "files").keep(PICTURE)
    assert _names(target) == []
    own = tmp_path / "own"
    name = AnswerFiles(own).keep(PICTURE).path
    name.unlink()
    (tmp_path / "secret").write_bytes(b"secret")
    name.symlink_to(tmp_path / "secret")
    AnswerFiles(own).keep(PICTURE)
    assert (tmp_path / "secret").read_bytes() == b"secret"
    assert name.read_bytes() == PNG


def test_a_folder_that_cannot_be_made_is_an_error_with_its_reason(tmp_path: Path) -> None:
    (tmp_path / "file").write_bytes(b"")
    with pytest.raises(FileNotKeptError):
        AnswerFiles(tmp_path / "file" / "folder").keep(PICTURE)
