"""The user's file is changed as text: what a person wrote there stays, and nothing is half done."""

import asyncio
import os
import tomllib
from contextlib import suppress
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from partstream.config import editing
from partstream.config.editing import FileChangedError, edit_file, with_default_profile, with_profile, without_profile
from partstream.settings.kinds import ConfigurationError
from partstream.upstream.endpoint import Secret
from rows import one_test_for

PATH = Path("/home/me/partstream.toml")
SETTINGS = {"baseUrl": "https://h.example/v1", "apiKeyEnv": "MY_KEY", "discover": False, "models": ["a", "b"]}
TABLE = """\
[profiles.work]
baseUrl = "https://h.example/v1"
apiKeyEnv = "MY_KEY"
discover = false
models = ["a", "b"]
"""


def test_a_profile_is_put_behind_everything_that_is_there():
    text = "# Mine.\nthinking = 'off' # always\n\n[timeouts]\nidle = 5\n# The end."
    assert with_profile(PATH, text, "work", SETTINGS) == f"{text}\n\n{TABLE}"


def test_an_empty_file_holds_the_profile_alone():
    assert with_profile(PATH, "", "work", SETTINGS) == TABLE


OLD = """\
# Mine.
[profiles.home]
baseUrl = "http://localhost:1234/v1" # at home

# The one at work.
[profiles.work]
baseUrl = "https://old.example/v1"
[profiles.work.timeouts]
idle = 5

# The last one.
[profiles.last]
baseUrl = "https://last.example/v1"
"""


def test_a_profile_takes_the_place_of_the_one_with_its_name_and_of_the_tables_within_it():
    head, _, rest = OLD.partition("[profiles.work]")
    tail = rest[rest.index("\n# The last one.") :]
    assert with_profile(PATH, OLD, "work", SETTINGS) == head + TABLE + tail


@pytest.mark.parametrize("header", ["[ profiles . work ]", '[profiles."work"]', "[profiles.'work'] # mine"])
def test_the_old_profile_is_found_however_its_name_is_spelt(header: str):
    changed = with_profile(PATH, f'{header}\nbaseUrl = "https://old.example/v1"\n', "work", SETTINGS)
    assert tomllib.loads(changed) == {"profiles": {"work": SETTINGS}}


def test_lines_end_as_they_do_in_the_file():
    changed = with_profile(PATH, "thinking = 'off'\r\n", "work", SETTINGS)
    assert changed.count("\n") == changed.count("\r\n") == 7


UNUSUAL = {
    "profiles in one line": 'profiles = { home = { baseUrl = "https://h/v1" } }\n',
    "profiles by dotted names": 'profiles.work.baseUrl = "https://h/v1"\n',
}


def test_a_profile_goes_with_the_tables_within_it_and_the_rest_stays():
    head, _, rest = OLD.partition("[profiles.work]")
    tail = rest[rest.index("\n# The last one.") :]
    assert without_profile(PATH, OLD, "work") == head + tail


REMOVED = {
    "the only one": (TABLE, ""),
    "the one that is used where none is named": (
        f'defaultProfile = "work"\nthinking = "off"\n\n{TABLE}',
        'thinking = "off"\n',
    ),
    "another one is used": (
        f'defaultProfile = "home"\n{TABLE}\n[profiles.home]\nbaseUrl = "https://h/v1"\n',
        'defaultProfile = "home"\n\n[profiles.home]\nbaseUrl = "https://h/v1"\n',
    ),
    "tables apart from each other": (
        f"{TABLE}\n[timeouts]\nidle = 5\n\n[profiles.work.timeouts]\nidle = 6\n",
        "\n[timeouts]\nidle = 5\n",
    ),
}


@pytest.mark.parametrize(("text", "changed"), REMOVED.values(), ids=REMOVED)
def test_a_removed_profile_leaves_nothing_behind(text: str, changed: str):
    assert without_profile(PATH, text, "work").strip() == changed.strip()


@pytest.mark.parametrize("text", [text.replace("home", "work") for text in UNUSUAL.values()], ids=UNUSUAL)
def test_a_profile_is_not_removed_from_a_file_of_an_unusual_form(text: str):
    with pytest.raises(ConfigurationError) as raised:
        without_profile(PATH, text, "work")
    assert "[profiles.work] removed by hand" in raised.value.expected


@pytest.mark.parametrize("text", UNUSUAL.values(), ids=UNUSUAL)
def test_a_file_of_an_unusual_form_is_left_alone_and_the_change_is_said(text: str):
    with pytest.raises(ConfigurationError) as raised:
        with_profile(PATH, text, "work", SETTINGS)
    assert TABLE in raised.value.expected


def test_a_file_of_no_use_is_refused():
    with pytest.raises(ConfigurationError, match="invalid TOML"):
        with_profile(PATH, "baseUrl = ", "work", SETTINGS)


DEFAULTS = {
    "an empty file": ("", 'defaultProfile = "work"\n'),
    "a file without tables": ("thinking = 'off'", "thinking = 'off'\ndefaultProfile = \"work\"\n"),
    "a file with tables": (
        "# Mine.\nthinking = 'off'\n\n# Of time.\n[timeouts]\nidle = 5\n",
        "# Mine.\nthinking = 'off'\ndefaultProfile = \"work\"\n\n# Of time.\n[timeouts]\nidle = 5\n",
    ),
    "a file with another default": (
        "defaultProfile = 'home'\n[timeouts]\nidle = 5\n",
        'defaultProfile = "work"\n[timeouts]\nidle = 5\n',
    ),
    "a file of tables alone": (
        "[profiles.a]\nthinking = 'off'\n",
        "defaultProfile = \"work\"\n\n[profiles.a]\nthinking = 'off'\n",
    ),
}


@one_test_for(("text", "changed"), DEFAULTS.values(), ids=DEFAULTS)
def test_the_default_profile_is_a_line_of_the_head(text: str, changed: str):
    assert with_default_profile(PATH, text, "work") == changed


def test_what_looks_like_a_table_within_a_text_does_not_mislead():
    text = 'systemText = """\n[timeouts]\ndefaultProfile = 1\n"""\n[retry]\nattempts = 1\n'
    changed = with_default_profile(PATH, text, "work")
    assert tomllib.loads(changed) == {**tomllib.loads(text), "defaultProfile": "work"}


_VALUES = st.one_of(st.text(st.characters(exclude_categories=["Cs"])), st.booleans(), st.integers(-(2**31), 2**31))


@given(
    name=st.text(st.characters(exclude_categories=["Cs"])),
    settings=st.dictionaries(st.text("abcXYZ", min_size=1), _VALUES),
)
def test_whatever_is_written_is_read_again_and_nothing_else_changes(name: str, settings: dict[str, object]):
    before = tomllib.loads(OLD)
    after = tomllib.loads(with_profile(PATH, OLD, name, settings))
    assert after == {"profiles": {**before["profiles"], name: settings}}


# ---- the file itself ----


def test_a_new_file_is_made_with_its_folder_for_its_owner_alone(tmp_path: Path):
    path = tmp_path / "config" / "partstream.toml"
    edit_file(path, b"", TABLE)
    assert path.read_text() == TABLE
    assert os.name != "posix" or path.stat().st_mode & 0o777 == 0o600
    assert [one.name for one in path.parent.iterdir()] == ["partstream.toml"]


@pytest.mark.skipif(os.name != "posix", reason="modes and links of POSIX")
def test_a_file_keeps_its_mode_and_a_link_to_it_stays_a_link(tmp_path: Path):
    path, link = tmp_path / "dotfiles.toml", tmp_path / "partstream.toml"
    path.write_text("# Mine.\n")
    path.chmod(0o640)
    link.symlink_to(path)
    edit_file(link, b"# Mine.\n", "# Changed.\n")
    assert (path.read_text(), path.stat().st_mode & 0o777) == ("# Changed.\n", 0o640)
    assert link.is_symlink()


def test_a_change_by_somebody_else_is_not_overwritten(tmp_path: Path):
    path = tmp_path / "partstream.toml"
    path.write_text("# Theirs.\n")
    with pytest.raises(FileChangedError, match="try again"):
        edit_file(path, b"# Mine.\n", "# Changed.\n")
    assert path.read_text() == "# Theirs.\n"
    assert [one.name for one in tmp_path.iterdir()] == ["partstream.toml"]


@pytest.mark.skipif(os.name != "posix", reason="errors of POSIX")
def test_an_edit_of_another_process_just_before_the_file_is_replaced_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    path = tmp_path / "partstream.toml"
    path.write_bytes(b"# before\n")
    replace = Path.replace

    def replace_late(self: Path, target: Path) -> Path:  # all checks are done: now another one edits the file
        monkeypatch.setattr(Path, "replace", replace)
        with pytest.raises(FileChangedError):
            edit_file(path, b"# before\n", "# of another\n")
        return replace(self, target)

    monkeypatch.setattr(editing, "_EDITING_SECONDS", 0.0)
    monkeypatch.setattr(Path, "replace", replace_late)
    edit_file(path, b"# before\n", "# mine\n")
    assert path.read_bytes() == b"# mine\n"
    assert [one.name for one in tmp_path.iterdir()] == ["partstream.toml"]


@pytest.mark.skipif(os.name != "posix", reason="owners of POSIX")
def test_of_two_who_add_a_profile_at_once_the_one_that_fails_leaves_the_other_its_key(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PARTSTREAM_DATA", str(tmp_path / "data"))
    monkeypatch.setattr(editing, "_EDITING_SECONDS", 0.05)
    file = editing.read_user_file(tmp_path / "config.toml")

    class Interrupted(editing.KeyFile):
        async def keep(self, key: Secret) -> Secret | None:
            before = await super().keep(key)
            with suppress(FileChangedError):
                await editing.keep(addition("other", editing.KeyFile(self.user)), file)
            return before

    def addition(said: str, place: editing.KeyPlace) -> editing.Addition:
        settings = {"baseUrl": f"https://{said}.example/v1", "apiKeyFile": place.setting}
        return editing.Addition("one", settings, Secret(f"sk-{said}-0123456789"), place)

    with suppress(FileChangedError):
        asyncio.run(editing.keep(addition("first", Interrupted("one")), file))
    profile = tomllib.loads(file.path.read_text())["profiles"]["one"]
    key = Path(profile["apiKeyFile"]).read_text()
    assert key.removeprefix("sk-").partition("-")[0] in profile["baseUrl"]


def test_a_file_stays_its_owners_when_root_edits_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    path = tmp_path / "partstream.toml"
    path.write_bytes(b"")
    given: list[tuple[int, int]] = []
    monkeypatch.setattr(os, "chown", lambda _path, user, group: given.append((user, group)))
    edit_file(path, b"", "# mine\n")
    assert given == [(path.stat().st_uid, path.stat().st_gid)]


def test_nothing_is_left_behind_where_the_file_cannot_be_replaced(tmp_path: Path):
    path = tmp_path / "partstream.toml"
    path.mkdir()
    with pytest.raises(IsADirectoryError):
        edit_file(path, b"", TABLE)
    assert [one.name for one in tmp_path.iterdir()] == ["partstream.toml"]
