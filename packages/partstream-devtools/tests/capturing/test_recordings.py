"""The next answer is recorded on request; recordings without a name are kept for a while, for one user."""

import os
import stat
import sys
from collections.abc import Sequence
from pathlib import Path

import pytest

from capturing.captures import request
from partstream.runtime.answer_files import FileLimits
from partstream_devtools.capturing.bundling import RecordingFolder
from partstream_devtools.capturing.capture import AnswerCapture, LastAnswers, NextAnswers


def recording(**changes: int) -> tuple[LastAnswers, NextAnswers, list[list[str | None]]]:
    recorded: list[list[str | None]] = []

    def note(answers: Sequence[AnswerCapture]) -> None:
        recorded.append([answer.model for answer in answers])

    answers = LastAnswers(**changes)
    return answers, NextAnswers(answers, note), recorded


def test_the_next_answer_is_recorded_and_none_after_it():
    answers, following, recorded = recording()
    answers.begin("vscode", "before").end("completed")
    following.arm()
    answers.begin("vscode", "wanted").end("failed")
    answers.begin("vscode", "after").end("completed")
    assert recorded == [["wanted"]]


def test_what_begins_beside_it_is_recorded_too():
    answers, following, recorded = recording()
    following.arm()
    first = answers.begin("vscode", "title")
    second = answers.begin("vscode", "answer")
    first.end("completed")
    third = answers.begin("vscode", "summary")
    second.end("completed")
    assert recorded == []
    third.end("cancelled")
    assert recorded == [["title", "answer", "summary"]]


def test_it_stays_whatever_else_comes_and_whatever_a_setting_says():
    answers, following, recorded = recording(most_answers=2)
    following.arm()
    wanted = answers.begin("vscode", "wanted")
    exchange = wanted.exchange(None, request())
    exchange.chunk(b"data: 1\n\n")
    wanted.leave_out()
    for number in range(10):
        answers.begin("vscode", str(number)).end("completed")
    wanted.end("completed")
    assert len(wanted.entries) == 1
    assert len(recorded) == 1


def test_a_recording_can_be_called_off():
    answers, following, recorded = recording()
    following.arm()
    following.disarm()
    answers.begin("vscode", "m").end("completed")
    following.arm()
    running = answers.begin("vscode", "m")
    following.disarm()
    running.end("completed")
    assert recorded == []


# ---- kept recordings ----


def test_its_name_says_when_and_what(tmp_path: Path):
    kept = RecordingFolder(tmp_path, clock=lambda: 1_795_430_400.0)
    assert kept.write(b"1", "Org/GPT 5.1\n../..").name == "20261123-104000-org-gpt-5.1.partstream.zip"
    assert kept.write(b"1", "模型").name == "20261123-104000-answer.partstream.zip"
    names = [kept.write(b"2", "gpt").name for _ in range(2)]
    assert names == ["20261123-104000-gpt.partstream.zip", "20261123-104000-gpt-2.partstream.zip"]


@pytest.mark.skipif(sys.platform == "win32", reason="Windows has other permissions")
def test_it_is_for_the_user_alone(tmp_path: Path):
    path = RecordingFolder(tmp_path / "recordings").write(b"1", "m")
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert stat.S_IMODE(path.parent.stat().st_mode) == 0o700


def test_old_ones_go_and_files_of_others_stay(tmp_path: Path):
    other = tmp_path / "mine.partstream.zip"
    other.write_bytes(b"mine")
    month, now = 30 * 24 * 3600.0, [1_795_430_400.0]
    kept = RecordingFolder(tmp_path, clock=lambda: now[0])
    old = kept.write(b"1", "old")
    os.utime(old, (now[0], now[0]))
    now[0] += month + 60
    new = kept.write(b"2", "new")
    os.utime(new, (now[0], now[0]))
    assert {path.name for path in tmp_path.iterdir()} == {other.name, new.name}
    assert kept.newest() == new


def test_no_more_is_kept_than_the_limit(tmp_path: Path):
    now = [1_795_430_400.0]
    kept = RecordingFolder(tmp_path, FileLimits(all_bytes=2_500), clock=lambda: now[0])
    for number in range(6):
        now[0] += 60
        path = kept.write(bytes(1_000), f"m{number}")
        os.utime(path, (now[0], now[0]))
    assert sum(path.stat().st_size for path in tmp_path.iterdir()) <= 2_500


def test_without_a_folder_there_is_no_newest(tmp_path: Path):
    assert RecordingFolder(tmp_path / "none").newest() is None
