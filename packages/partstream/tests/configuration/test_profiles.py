"""Several upstreams in one file: which profile is in force, and that no key of one goes to another."""

from pathlib import Path
from typing import Any

import pytest

from partstream.config.loading import Configuration, load_configuration
from partstream.config.table import RawValue
from partstream.settings.kinds import ConfigurationError
from partstream.settings.row import SettingSource

WORK, HOME = "https://work.example.com/v1", "https://home.example.com/v1"
FILE = f"""
thinking = "text"
apiKeyEnv = "TOP_KEY"

[profiles.work]
baseUrl = "{WORK}"
apiKeyEnv = "WORK_KEY"
defaultModel = "large"

[profiles.work.timeouts]
idle = 5

[profiles.home]
baseUrl = "{HOME}"
"""
WITH_DEFAULT = f'defaultProfile = "home"\n{FILE}'


def load(
    folder: Path, toml: str, *options: str, group: dict[str, Any] | None = None, **variables: str
) -> Configuration:
    path = folder / "partstream.toml"
    path.write_text(toml)
    path.chmod(0o600)
    given = dict(zip(options[::2], options[1::2], strict=True))
    return load_configuration(
        command_line={name: RawValue(value, f"--{name}") for name, value in given.items()},
        group=group,
        environment={"PARTSTREAM_CONFIG": str(path), "WORK_KEY": "sk-work", "TOP_KEY": "sk-top", **variables},
    )


CHOICES: dict[str, tuple[str, tuple[str, ...], dict[str, str], str | None, str | None]] = {
    "none is named": (FILE, (), {}, None, None),
    "the command line": (FILE, ("profile", "work"), {}, "work", WORK),
    "the environment": (FILE, (), {"PARTSTREAM_PROFILE": "home"}, "home", HOME),
    "the command line before the environment": (
        FILE,
        ("profile", "work"),
        {"PARTSTREAM_PROFILE": "home"},
        "work",
        WORK,
    ),
    "the file's default": (WITH_DEFAULT, (), {}, "home", HOME),
    "the environment before the default": (WITH_DEFAULT, (), {"PARTSTREAM_PROFILE": "work"}, "work", WORK),
    "a base URL of the command line before the default": (
        WITH_DEFAULT,
        ("baseUrl", "https://x.example/v1"),
        {},
        None,
        "https://x.example/v1",
    ),
    "a base URL of the environment before the default": (
        WITH_DEFAULT,
        (),
        {"PARTSTREAM_BASE_URL": "https://x.example/v1"},
        None,
        "https://x.example/v1",
    ),
    "a base URL of the command line before the environment's profile": (
        FILE,
        ("baseUrl", "https://x.example/v1"),
        {"PARTSTREAM_PROFILE": "work"},
        None,
        "https://x.example/v1",
    ),
    "a profile of the environment before its base URL": (
        FILE,
        (),
        {"PARTSTREAM_PROFILE": "work", "PARTSTREAM_BASE_URL": "https://x.example/v1"},
        "work",
        WORK,
    ),
    "a base URL beside a profile of one command line": (
        FILE,
        ("profile", "work", "baseUrl", "https://x.example/v1"),
        {},
        "work",
        "https://x.example/v1",
    ),
}


@pytest.mark.parametrize(("toml", "options", "variables", "profile", "url"), CHOICES.values(), ids=CHOICES)
def test_the_narrowest_choice_of_a_profile_wins(
    tmp_path: Path,
    toml: str,
    options: tuple[str, ...],
    variables: dict[str, str],
    profile: str | None,
    url: str | None,
):
    loaded = load(tmp_path, toml, *options, **variables)
    assert loaded.profile == profile
    assert loaded.profiles == ("work", "home")
    value = loaded.resolved.values.get("baseUrl")
    assert (None if value is None else value.value) == url


def test_a_profile_has_the_settings_of_an_upstream_and_the_rest_comes_from_the_file(tmp_path: Path):
    loaded = load(tmp_path, FILE, "profile", "work")
    values = loaded.resolved.values
    assert {name: (value.given, value.place) for name, value in values.items() if name != "profile"} == {
        "baseUrl": (WORK, SettingSource.PROFILE),
        "apiKeyEnv": ("WORK_KEY", SettingSource.PROFILE),
        "defaultModel": ("large", SettingSource.PROFILE),
        "timeouts": ({"idle": 5}, SettingSource.PROFILE),
        "thinking": ("text", SettingSource.FILE),
    }
    assert values["baseUrl"].where == f"{tmp_path / 'partstream.toml'}: profiles.work.baseUrl"
    assert loaded.gateway().selection.default == "large"


@pytest.mark.parametrize("variables", [{}, {"PARTSTREAM_API_KEY": "sk-exported"}])
def test_no_key_of_another_place_goes_to_the_server_of_a_profile(tmp_path: Path, variables: dict[str, str]):
    loaded = load(tmp_path, FILE, "profile", "home", **variables)
    assert not loaded.gateway().has_key
    notes = " ".join(loaded.resolved.notes)
    assert "apiKeyEnv (partstream.toml) is not used" in notes
    assert ("PARTSTREAM_API_KEY (environment) is not used" in notes) is bool(variables)


def test_the_key_of_a_profile_does_not_go_to_another_base_url(tmp_path: Path):
    loaded = load(tmp_path, FILE, "profile", "work", "baseUrl", "https://x.example/v1")
    assert not loaded.gateway().has_key


def test_a_group_of_an_editor_has_no_profile_unless_it_names_no_server(tmp_path: Path):
    loaded = load(tmp_path, WITH_DEFAULT, group={"baseUrl": "https://group.example/v1"})
    assert (loaded.profile, loaded.resolved.values["baseUrl"].place) == (None, SettingSource.GROUP)


REFUSED = {
    "no such profile": (FILE, "wrok", "--profile", "did you mean work?"),
    "no profiles at all": ("", "work", "--profile", "partstream add"),
    "profiles that are no tables": ("profiles = 5", "work", "partstream.toml: profiles", "[profiles.work]"),
    "a profile that is no table": ("[profiles]\nwork = 5", "work", "profiles.work", "[profiles.work]"),
    "a misspelt setting": (
        '[profiles.work]\nbaseURL = "https://h/v1"',
        "work",
        "the profile work in ",
        "did you mean 'baseUrl'?",
    ),
    "two keys": (
        '[profiles.work]\napiKeyEnv = "A"\napiKeyFile = "/k"',
        "work",
        "profiles.work.apiKeyFile",
        "a second source of the key",
    ),
    "a profile in a profile": (
        '[profiles.work]\ndefaultProfile = "x"',
        "work",
        "profiles.work.defaultProfile",
        "not allowed in the profile work",
    ),
}


@pytest.mark.parametrize(("toml", "name", "where", "says"), REFUSED.values(), ids=REFUSED)
def test_a_profile_of_no_use_is_refused_with_its_place(tmp_path: Path, toml: str, name: str, where: str, says: str):
    with pytest.raises(ConfigurationError) as raised:
        load(tmp_path, toml, "profile", name)
    assert where in str(raised.value)
    assert says in str(raised.value)


def test_a_default_profile_that_is_not_there_is_refused(tmp_path: Path):
    with pytest.raises(ConfigurationError, match=r"partstream\.toml: defaultProfile"):
        load(tmp_path, 'defaultProfile = "gone"\n')


def test_a_mistake_in_another_profile_is_noted_and_hinders_nobody(tmp_path: Path):
    loaded = load(
        tmp_path, f"{FILE}\n[profiles.odd]\nbaseURL = 'https://h/v1'\napiKey = 'sk-planted'\n", "profile", "work"
    )
    (note,) = [note for note in loaded.resolved.notes if "odd" in note]
    assert note.startswith(f"the profile odd in {tmp_path / 'partstream.toml'} is not valid")
    assert "baseUrl" in note
    assert "sk-planted" not in note


def test_a_key_in_a_profile_of_a_file_that_everyone_can_read_is_noted(tmp_path: Path):
    path = tmp_path / "mine.toml"
    path.write_text("[profiles.work]\nbaseUrl = 'https://h/v1'\napiKey = 'sk-planted'\n")
    path.chmod(0o644)
    loaded = load_configuration(environment={"PARTSTREAM_CONFIG": str(path)})
    assert "can be read by every user" in " ".join(loaded.resolved.notes)
