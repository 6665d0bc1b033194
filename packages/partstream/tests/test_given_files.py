"""Files that a person names: pipes are read as files are, and one without a writer is refused."""

import io
import os
import stat
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import click
import pytest

from partstream.cli.console import write_page
from partstream.codec import system
from partstream.codec.system import read_given, replace_file
from partstream.config.editing import edit_file
from partstream.config.loading import CredentialError, read_file
from partstream.config.table import read_document
from partstream.settings.kinds import ConfigurationError
from partstream_devtools import recordings
from partstream_devtools.recordings import RecordingError
from partstream_devtools.recordings import read_file as read_recording
from rows import one_test_for

pytestmark = pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="this system has no pipes with a name")


@pytest.fixture
def pipe(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setattr(system, "_WRITER_SECONDS", 0.1)
    path = tmp_path / "pipe"
    os.mkfifo(path)
    return path


@contextmanager
def written(path: Path, data: bytes) -> Iterator[None]:
    """A program that writes into a pipe as soon as it is read."""
    thread = threading.Thread(target=path.write_bytes, args=(data,), daemon=True)
    thread.start()
    yield
    thread.join(20)
    assert not thread.is_alive()


READERS: dict[str, tuple[Callable[[Path], object], type[Exception]]] = {
    "a configuration": (lambda path: read_document(path, must_exist=True), ConfigurationError),
    "a key": (read_file, CredentialError),
    "a recording": (lambda path: read_recording(str(path)), RecordingError),
}


@one_test_for(("read", "error"), READERS.values(), ids=READERS)
def test_a_pipe_without_a_writer_is_refused_by_its_reason(
    read: Callable[[Path], object], error: type[Exception], pipe: Path
) -> None:
    with pytest.raises(error, match="it is a pipe that no program writes into"):
        read(pipe)


def test_a_recording_without_an_end_is_given_up_at_the_most_that_a_file_may_have(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(recordings, "MOST_FILE_BYTES", 1_000_000)
    (tmp_path / "endless.har").symlink_to("/dev/urandom")
    with pytest.raises(RecordingError, match="it has more than 1,000,000 bytes"):
        recordings.read_file(str(tmp_path / "endless.har"))
    with (tmp_path / "endless.har").open("rb") as endless:
        monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(endless))
        with pytest.raises(RecordingError, match="it has more than 1,000,000 bytes"):
            recordings.read_file("-")


def test_a_device_is_replaced_by_no_file_also_not_through_a_link(tmp_path: Path) -> None:
    device = tmp_path / "null"
    try:
        os.mknod(device, stat.S_IFCHR | 0o666, os.makedev(1, 3))
    except PermissionError:
        pytest.skip("root alone makes devices, and alone could replace one")
    link = tmp_path / "partstream.toml"
    link.symlink_to(device)
    for write in (
        lambda: replace_file(device, b"a page"),
        lambda: edit_file(link, b"", "a setting = 1\n"),
        lambda: write_page(device, "a page"),
    ):
        with pytest.raises((OSError, click.ClickException), match="there is a device, a pipe or a socket"):
            write()
    assert device.is_char_device()
    assert sorted(path.name for path in tmp_path.iterdir()) == ["null", "partstream.toml"]


def test_a_pipe_with_a_name_is_read_to_its_end(pipe: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(system, "_WRITER_SECONDS", 20.0)
    data = b"0123456789" * 50_000
    with written(pipe, data):
        assert read_recording(str(pipe)) == data


def test_of_a_pipe_with_a_name_no_more_is_read_than_is_wanted(pipe: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(system, "_WRITER_SECONDS", 20.0)
    with written(pipe, b"0123456789"):
        assert read_given(pipe, 4) == b"0123"


@one_test_for("data", [b"", b"data: {}\n\n" * 30_000], ids=["nothing", "much"])
def test_what_a_shell_hands_over_as_a_file_is_read_to_its_end(data: bytes, pipe: Path) -> None:
    """`<(command)` and /dev/stdin are paths of open descriptors."""
    del pipe  # no wait for a writer is needed
    end, begin = os.pipe()
    writer = threading.Thread(target=lambda: (os.write(begin, data[:1]), _write(begin, data[1:])), daemon=True)
    writer.start()
    try:
        assert read_given(Path(f"/dev/fd/{end}")) == data
    finally:
        writer.join(20)
        os.close(end)


def _write(descriptor: int, data: bytes) -> None:
    with os.fdopen(descriptor, "wb") as file:
        file.write(data)
