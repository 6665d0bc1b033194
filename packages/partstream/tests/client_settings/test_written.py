"""What is written into a client's file can be taken back: to the byte, or beside what another program has changed.

The files are those of docs/coding-agents.md.
"""

import json
import os
import socket
import stat
from collections.abc import Callable
from pathlib import Path

import pytest

from partstream.cli import client_settings
from partstream.cli.client_settings import (
    CLIENTS,
    ClientSettingsFile,
    Done,
    FileSettings,
    JsonFile,
    Outcome,
    Server,
    TokenPlace,
    TomlFile,
    take_back,
    write,
)
from partstream.config import editing
from partstream.settings.kinds import ConfigurationError

MINE = '{\n  // mine\n  "env": {"EDITOR": "vi", "URL": "before"},\n  "theme": "dark"\n}\n'
VALUES = {("env", "URL"): "http://h", ("env", "MODEL"): "m", ("helper",): "cat token"}
SETTINGS = FileSettings(ClientSettingsFile("", ("settings.json",)), JsonFile(), VALUES)
POSIX = pytest.mark.skipif(os.name != "posix", reason="modes and links of POSIX")


class Home:
    """A file and the record of what was done to it."""

    def __init__(self, folder: Path) -> None:
        self.file = folder / "settings.json"
        self.record = folder / "data" / "client.json"

    def write(self, settings: FileSettings = SETTINGS) -> Outcome:
        (outcome,) = write([(self.file, settings)], self.record)
        return outcome

    def undo(self) -> list[Outcome]:
        return take_back([(self.file, SETTINGS)], self.record)

    def other(self, **values: str) -> FileSettings:
        changed = {(*key[:-1], key[-1]): values.get(key[-1], value) for key, value in VALUES.items()}
        return FileSettings(SETTINGS.file, SETTINGS.form, changed)


@pytest.fixture
def home(tmp_path: Path) -> Home:
    return Home(tmp_path)


@pytest.mark.parametrize("before", [MINE, MINE.replace("\n", "\r\n"), "{}", "{\n}\n", "\ufeff{}\n", "", "  \n"])
def test_a_file_that_nobody_else_changed_is_restored_to_the_byte(home: Home, before: str):
    home.file.write_bytes(before.encode())
    assert home.write().done is Done.WRITTEN
    assert json.loads(home.file.read_text(encoding="utf-8-sig").replace("// mine", ""))["env"]["MODEL"] == "m"
    assert home.undo() == [Outcome(home.file, Done.RESTORED)]
    assert home.file.read_bytes() == before.encode()
    assert not home.record.exists()
    assert home.undo() == []


def test_a_file_that_was_not_there_is_gone_afterwards(home: Home):
    assert home.write().done is Done.WRITTEN
    assert json.loads(home.file.read_text()) == {"env": {"URL": "http://h", "MODEL": "m"}, "helper": "cat token"}
    assert home.undo() == [Outcome(home.file, Done.REMOVED)]
    assert not home.file.exists()


def test_a_file_that_somebody_removed_is_not_made_again(home: Home):
    home.write()
    home.file.unlink()
    assert home.undo() == [Outcome(home.file, Done.GONE)]
    assert not home.file.exists()


def test_writing_a_second_time_changes_nothing_and_can_still_be_taken_back(home: Home):
    home.file.write_text(MINE)
    home.write()
    written, at = home.file.read_bytes(), home.file.stat().st_mtime_ns
    assert home.write().done is Done.UNCHANGED
    assert (home.file.read_bytes(), home.file.stat().st_mtime_ns) == (written, at)
    home.undo()
    assert home.file.read_text() == MINE


def test_other_values_take_the_place_of_the_first_and_undo_leads_to_what_was_before_both(home: Home):
    home.file.write_text(MINE)
    home.write()
    assert home.write(home.other(MODEL="another")).done is Done.WRITTEN
    assert '"MODEL": "another"' in home.file.read_text()
    home.undo()
    assert home.file.read_text() == MINE


def test_what_somebody_else_has_changed_stays_and_what_is_ours_goes(home: Home):
    home.file.write_text(MINE)
    home.write()
    text = home.file.read_text().replace('"dark"', '"light"').replace('"MODEL": "m"', '"MODEL": "theirs"')
    home.file.write_text(text)
    assert home.undo() == [Outcome(home.file, Done.CLEANED, ("env.MODEL",))]
    text = home.file.read_text()
    assert "// mine" in text
    assert json.loads(text.replace("// mine", "")) == {
        "env": {"EDITOR": "vi", "URL": "before", "MODEL": "theirs"},
        "theme": "light",
    }


def test_settings_that_a_person_wrote_alike_are_no_part_of_what_is_taken_back(home: Home):
    home.file.write_text(json.dumps({"env": {"URL": "http://h", "MODEL": "m"}, "helper": "cat token"}))
    assert home.write().done is Done.UNCHANGED
    assert home.undo() == []


def test_the_record_keeps_what_was_replaced_and_nothing_else_of_the_file(home: Home):
    home.file.write_text(MINE.replace("dark", "sk-a-secret-of-another-tool"))
    home.write()
    record = home.record.read_text()
    assert "before" in record
    assert "secret" not in record
    assert "EDITOR" not in record


@POSIX
def test_record_and_first_file_are_for_their_user_alone_and_an_old_mode_stays(home: Home):
    home.write()
    assert home.record.stat().st_mode & 0o777 == home.file.stat().st_mode & 0o777 == 0o600
    home.undo()
    home.file.write_text(MINE)
    home.file.chmod(0o644)
    home.write()
    assert home.file.stat().st_mode & 0o777 == 0o644


@POSIX
def test_a_link_stays_a_link(home: Home, tmp_path: Path):
    real = tmp_path / "dotfiles" / "claude.json"
    real.parent.mkdir()
    real.write_text(MINE)
    home.file.symlink_to(real)
    home.write()
    assert home.file.is_symlink()
    assert '"MODEL"' in real.read_text()
    home.undo()
    assert home.file.is_symlink()
    assert real.read_text() == MINE


def _fifo(path: Path) -> None:
    os.mkfifo(path)


def _socket(path: Path) -> None:
    with socket.socket(socket.AF_UNIX) as own:
        own.bind(str(path))


def _device(path: Path, shared: str, number: int) -> None:
    """A link to a device; to one of its own for root, who alone could replace that of all programs."""
    own = path.with_name("device").absolute()
    try:
        os.mknod(own, stat.S_IFCHR | 0o666, os.makedev(1, number))
    except PermissionError:
        own = Path(shared)
    path.symlink_to(own)


ODD: dict[str, Callable[[Path], None]] = {
    "a pipe": _fifo,
    "a socket": _socket,
    "a folder": lambda path: path.mkdir(),
    "a link to a device without end": lambda path: _device(path, "/dev/zero", 5),
    "a link to itself": lambda path: path.symlink_to(path),
    "a full device": lambda path: _device(path, "/dev/full", 7),
}


@POSIX
@pytest.mark.parametrize("kind", ODD)
def test_what_is_no_file_is_refused_or_replaced_and_nobody_waits_for_it(
    home: Home, kind: str, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.chdir(home.file.parent)  # a socket's path is short
    ODD[kind](Path(home.file.name))
    try:
        home.write()
    except (ConfigurationError, OSError):
        assert not home.record.exists()
    else:
        assert '"MODEL"' in home.file.read_text()
    if "device" in kind:
        assert home.file.is_char_device()


@pytest.mark.parametrize("text", ["{", '{"env": 1}', "\xff", " " * (4 * 1024 * 1024 + 1)], ids=range(4))
def test_a_file_of_no_use_is_named_and_neither_it_nor_the_record_is_touched(home: Home, text: str):
    home.file.write_bytes(text.encode("latin-1"))
    with pytest.raises(ConfigurationError, match=r"settings\.json"):
        home.write()
    assert home.file.read_bytes() == text.encode("latin-1")
    assert not home.record.exists()


@POSIX
def test_a_folder_that_cannot_be_written_leaves_no_record(home: Home, tmp_path: Path):
    (tmp_path / "closed").write_text("a file instead of a folder")
    home.file = tmp_path / "closed" / "settings.json"
    with pytest.raises(OSError, match="closed"):
        home.write()
    assert not home.record.exists()


def test_who_writes_while_another_writes_leaves_the_record_of_the_other(home: Home, monkeypatch: pytest.MonkeyPatch):
    home.file.write_text(MINE)
    edit = client_settings.edit_file

    def edit_late(path: Path, old: bytes, text: str) -> None:
        if path == home.file:  # the record says what is to be written: now another process wants to write
            monkeypatch.setattr(client_settings, "edit_file", edit)
            with pytest.raises(ConfigurationError, match="another program"):
                home.write(home.other(URL="http://other"))
        edit(path, old, text)

    monkeypatch.setattr(editing, "_EDITING_SECONDS", 0.0)
    monkeypatch.setattr(client_settings, "edit_file", edit_late)
    assert home.write().done is Done.WRITTEN
    assert "http://h" in home.file.read_text()
    assert [one.done for one in home.undo()] == [Done.RESTORED]
    assert home.file.read_text() == MINE


def test_who_is_killed_before_the_file_is_written_again_has_lost_nothing_of_it(
    home: Home, monkeypatch: pytest.MonkeyPatch
):
    home.file.write_text(MINE)
    home.write()
    with monkeypatch.context() as patched:
        edit = client_settings.edit_file

        def edit_the_record_alone(path: Path, old: bytes, text: str) -> None:
            edit(path, old, text)
            patched.setattr(client_settings, "edit_file", lambda *_: pytest.exit("killed"))
            patched.setattr(client_settings, "_write_record", lambda *_: None)  # nor does it put anything back

        patched.setattr(client_settings, "edit_file", edit_the_record_alone)
        with pytest.raises(pytest.exit.Exception):
            home.write(home.other(URL="http://other"))
    assert home.write(home.other(URL="http://third")).done is Done.WRITTEN
    assert [one.done for one in home.undo()] == [Done.RESTORED]
    assert home.file.read_text() == MINE


def test_two_files_of_a_client_are_written_and_taken_back_together(tmp_path: Path):
    toml = FileSettings(ClientSettingsFile("", ("a.toml",)), TomlFile(), {("model",): "m", ("p", "q"): {"a": 1}})
    both = [(tmp_path / "a.toml", toml), (tmp_path / "settings.json", SETTINGS)]
    (tmp_path / "a.toml").write_text("# mine\n[z]\nb = 2\n")
    assert [one.done for one in write(both, tmp_path / "record")] == [Done.WRITTEN, Done.WRITTEN]
    assert [one.done for one in take_back(both, tmp_path / "record")] == [Done.RESTORED, Done.REMOVED]
    assert (tmp_path / "a.toml").read_text() == "# mine\n[z]\nb = 2\n"


THEIRS = {
    "codex": '# mine\nmodel = "gpt-5"\napproval_policy = "on-request"\n\n[model_providers.other]\nname = "x"\n',
    "claude": '{\n  "permissions": {"allow": ["Bash(ls)"]},\n  "env": {"ANTHROPIC_BASE_URL": "https://other"}\n}',
    "opencode": '{\n  // mine\n  "theme": "x",\n  "provider": {"other": {"npm": "y"}},\n}\n',
    "qwen-code": '{"$version": 3, "model": {"name": "before"}}',
    "gemini-cli": '{"security": {"auth": {"selectedType": "oauth-personal"}}}\n',
    "aider": "# mine\nmodel: gpt-5 # for now\ndark-mode: true\n",
    "llm": "- model_id: mine\n  model_name: x\n  api_base: y\n# the end\n",
}


@pytest.mark.parametrize("name", [name for name, client in CLIENTS.items() if name in THEIRS])
def test_the_file_of_each_client_comes_back_whatever_was_in_it(name: str, tmp_path: Path):
    client = CLIENTS[name]
    path, record = tmp_path / "file", tmp_path / "record"
    for before in (THEIRS[name], ""):
        path.write_text(before)
        for wire in client.wires:
            for token in (TokenPlace("TOKEN"), TokenPlace("TOKEN", tmp_path / "token of mine")):
                server = Server("http://127.0.0.1:1", f"{wire}/model", token, window=1000)
                (settings,) = client.settings(server, wire).files
                write([(path, settings)], record)
                assert all(settings.form.means(path.read_text(), *one) for one in settings.values.items())
        assert take_back([(path, settings)], record)[0].done is Done.RESTORED
        assert path.read_text() == before


def test_every_client_with_a_file_was_tried():
    server = Server("http://127.0.0.1:1", "m", TokenPlace("TOKEN"))
    with_files = {name for name, one in CLIENTS.items() if one.settings(server, one.wires[0]).files}
    assert with_files == {*THEIRS}
