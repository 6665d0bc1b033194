"""The token of a server: where it comes from, who can read it, and which texts are none."""

import os
import stat
from concurrent.futures import ThreadPoolExecutor

import pytest

from partstream.server.clients import TOKEN_VARIABLE, UnusableTokenError, given_token, machine_token, machine_token_file

posix = pytest.mark.skipif(os.name != "posix", reason="this system has other rights of files")


def test_a_token_is_made_once_and_found_again(tmp_path):
    file = tmp_path / "folder" / "token"
    first, second = machine_token(file), machine_token(file)
    assert (first.is_new, second.is_new) == (True, False)
    assert first.secret == second.secret
    assert len(first.secret.reveal()) >= 43
    assert [path.name for path in file.parent.iterdir()] == ["token"]


def test_two_machines_have_different_tokens(tmp_path):
    assert machine_token(tmp_path / "a").secret != machine_token(tmp_path / "b").secret


def test_of_several_that_start_at_once_one_makes_the_token(tmp_path):
    with ThreadPoolExecutor(8) as pool:
        tokens = list(pool.map(lambda _: machine_token(tmp_path / "token"), range(8)))
    assert len({token.secret for token in tokens}) == 1
    assert sum(token.is_new for token in tokens) == 1


@posix
def test_only_the_user_can_read_the_kept_token(tmp_path):
    file = tmp_path / "folder" / "token"
    machine_token(file)
    assert stat.S_IMODE(file.stat().st_mode) == 0o600
    assert stat.S_IMODE(file.parent.stat().st_mode) == 0o700
    file.chmod(0o644)
    machine_token(file)
    assert stat.S_IMODE(file.stat().st_mode) == 0o600


def test_the_kept_token_is_in_the_folder_of_the_user(tmp_path, monkeypatch):
    monkeypatch.setenv("PARTSTREAM_DATA", str(tmp_path))
    assert machine_token_file() == tmp_path / "serve-token"
    assert machine_token().file == tmp_path / "serve-token"


def test_a_file_wins_over_the_variable_and_ends_without_its_line_break(tmp_path):
    file = tmp_path / "token"
    file.write_text("of-the-file\n")
    environment = {TOKEN_VARIABLE: "of-the-variable"}
    assert given_token(environment, file).secret.reveal() == "of-the-file"
    assert given_token(environment).secret.reveal() == "of-the-variable"
    assert given_token({}) is None


@pytest.mark.parametrize(
    ("text", "got"),
    [
        ("", "nothing"),
        ("  \n", "nothing"),
        ("seven77", "7 characters"),
        ("two words", "something with other characters"),
        ("clé-secrète", "something with other characters"),
        ("a\nX-Other: header", "something with other characters"),
        ("x" * 5000, "more than 4,096 bytes"),
    ],
)
def test_what_is_no_token_is_named_and_not_shown(tmp_path, text, got):
    file = tmp_path / "token"
    file.write_text(text, encoding="utf-8")
    for give in (
        lambda: given_token({TOKEN_VARIABLE: text}),
        lambda: given_token({}, file),
        lambda: machine_token(file),
    ):
        with pytest.raises(UnusableTokenError) as raised:
            give()
        assert f"got {got}, expected a token of at least 8" in str(raised.value)
        assert not text.strip() or text not in str(raised.value)


@pytest.mark.parametrize("name", ["missing", "."])
def test_a_file_that_cannot_be_read_is_named(tmp_path, name):
    with pytest.raises(UnusableTokenError, match="expected a file with the token in it"):
        given_token({}, tmp_path / name)


@posix
def test_a_pipe_in_the_place_of_the_machines_token_is_refused_at_once(tmp_path):
    os.mkfifo(tmp_path / "token")
    with pytest.raises(UnusableTokenError, match="a pipe"):
        machine_token(tmp_path / "token")


def test_a_folder_that_cannot_be_written_is_named(tmp_path):
    (tmp_path / "file").touch()
    with pytest.raises(UnusableTokenError, match="expected a file that can be written"):
        machine_token(tmp_path / "file" / "token")


def test_a_token_shows_itself_nowhere(tmp_path):
    token = machine_token(tmp_path / "token")
    assert token.secret.reveal() not in f"{token!r} {token} {token.secret}"
