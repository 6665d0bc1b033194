"""The places where settings stand: the environment, the user's file, and the folders that are not looked into."""

import os
import sys
from pathlib import Path

import pytest

from partstream.config.table import (
    Layer,
    configuration_file,
    environment_layer,
    file_layer,
    is_readable_by_all,
    named_layer,
    read_document,
)
from partstream.settings.kinds import ConfigurationError
from partstream.settings.row import SettingSource


def layer_of(path: Path, *, must_exist: bool) -> Layer:
    return file_layer(path, read_document(path, must_exist=must_exist))


def test_variables_are_text_or_json():
    layer = environment_layer(
        {
            "PARTSTREAM_BASE_URL": " https://h/v1 ",
            "PARTSTREAM_MODELS": '["a", {"id": "b"}]',
            "PARTSTREAM_PROXY_STRICT_SSL": "false",
            "PARTSTREAM_API_KEY": "123",
            "PARTSTREAM_TIMEOUTS": "",
            "HOME": "/root",
        }
    )
    assert {name: given.value for name, given in layer.given.items()} == {
        "baseUrl": "https://h/v1",
        "models": ["a", {"id": "b"}],
        "proxyStrictSSL": False,
        "apiKey": "123",
    }
    assert layer.given["proxyStrictSSL"].where == "PARTSTREAM_PROXY_STRICT_SSL"
    assert layer.notes == ()


def test_a_variable_that_is_no_json_is_named_without_its_value():
    with pytest.raises(ConfigurationError) as raised:
        environment_layer({"PARTSTREAM_HEADERS": "x-key: sk-planted"})
    assert raised.value.where == "PARTSTREAM_HEADERS"
    assert "sk-planted" not in str(raised.value)


def test_a_variable_that_is_no_setting_is_noted_with_the_one_that_may_be_meant():
    layer = environment_layer({"PARTSTREAM_BASEURL": "https://h", "PARTSTREAM_CACHE": "/c"})
    assert layer.notes == ("unknown setting PARTSTREAM_BASEURL in the environment; did you mean PARTSTREAM_BASE_URL?",)


@pytest.mark.skipif(sys.platform != "linux", reason="the folders of Linux")
@pytest.mark.parametrize(
    ("environment", "expected"),
    [
        ({"PARTSTREAM_CONFIG": "/etc/mine.toml"}, "/etc/mine.toml"),
        ({"PARTSTREAM_CONFIG": "~/mine.toml"}, str(Path.home() / "mine.toml")),
        ({"XDG_CONFIG_HOME": "/c"}, "/c/partstream/partstream.toml"),
        ({}, str(Path.home() / ".config/partstream/partstream.toml")),
    ],
)
def test_the_file_is_in_the_users_own_folder(environment: dict[str, str], expected: str):
    assert str(configuration_file(environment)) == expected


def test_a_relative_file_is_refused_because_it_would_depend_on_the_present_folder():
    with pytest.raises(ConfigurationError, match="PARTSTREAM_CONFIG"):
        configuration_file({"PARTSTREAM_CONFIG": "partstream.toml"})


def test_a_file_in_the_present_folder_is_not_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    (tmp_path / "partstream.toml").write_text('baseUrl = "https://evil.example.com"\nmodels = ["m"]\n')
    monkeypatch.chdir(tmp_path)
    path = configuration_file({"XDG_CONFIG_HOME": str(tmp_path / "home"), "APPDATA": str(tmp_path / "home")})
    assert layer_of(path, must_exist=False).given == {}


def test_a_file_says_settings_by_the_names_of_vs_code(tmp_path: Path):
    path = tmp_path / "mine.toml"
    path.write_text('baseUrl = "https://h/v1"\napiKeyEnv = "KEY"\nproxy = ""\n[timeouts]\nidle = 5\n')
    layer = layer_of(path, must_exist=True)
    assert layer.place is SettingSource.FILE
    assert {name: given.value for name, given in layer.given.items()} == {
        "baseUrl": "https://h/v1",
        "apiKeyEnv": "KEY",
        "timeouts": {"idle": 5},
    }
    assert layer.given["baseUrl"].where == f"{path}: baseUrl"


BROKEN = {
    "no TOML": b'apiKey = "sk-planted\n',
    "no UTF-8": b'apiKey = "\xff"\n',
    "far too long": b"#" * (1024 * 1024 + 1),
}


@pytest.mark.parametrize("content", BROKEN.values(), ids=BROKEN)
def test_a_file_that_is_of_no_use_is_named_and_not_quoted(tmp_path: Path, content: bytes):
    path = tmp_path / "mine.toml"
    path.write_bytes(content)
    with pytest.raises(ConfigurationError) as raised:
        layer_of(path, must_exist=False)
    assert raised.value.where == str(path)
    assert "sk-planted" not in str(raised.value)


def test_a_file_that_was_named_must_be_there(tmp_path: Path):
    with pytest.raises(ConfigurationError, match="which is not there"):
        layer_of(tmp_path / "none.toml", must_exist=True)
    assert layer_of(tmp_path / "none.toml", must_exist=False).given == {}


@pytest.mark.skipif(os.name != "posix", reason="this system has no named pipes")
def test_a_pipe_in_the_place_of_a_file_that_nobody_named_is_refused_at_once(tmp_path: Path):
    os.mkfifo(tmp_path / "partstream.toml")
    with pytest.raises(ConfigurationError, match="a pipe"):
        layer_of(tmp_path / "partstream.toml", must_exist=False)


@pytest.mark.skipif(os.name != "posix", reason="modes of POSIX")
@pytest.mark.parametrize(("mode", "noted"), [(0o644, True), (0o600, False), (0o640, False)])
def test_a_file_with_a_key_that_everyone_can_read_is_noted(tmp_path: Path, mode: int, noted: bool):
    path = tmp_path / "mine.toml"
    path.write_text('apiKey = "sk-planted"\n')
    path.chmod(mode)
    assert is_readable_by_all(path) is noted
    notes = layer_of(path, must_exist=True).notes
    assert bool(notes) is noted
    assert "sk-planted" not in "".join(notes)


def test_empty_keys_of_a_group_count_as_left_out():
    assert named_layer(SettingSource.GROUP, {"apiKey": "", "models": None, "discover": False}).given.keys() == {
        "discover"
    }


def test_a_home_that_is_no_folder_has_no_file(tmp_path: Path) -> None:
    (tmp_path / "home").write_text("a file", encoding="utf-8")
    assert layer_of(tmp_path / "home" / "partstream.toml", must_exist=False).given == {}
