"""`partstream add`: a server becomes a profile, its key stays out of every file, and nothing is half done."""

import json
import os
import sys
import tomllib
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from secrets import token_hex
from typing import Any
from urllib.parse import urlsplit

import pytest

from commands import Ended, call, run, terminal
from models.server import ModelServer, serving
from partstream_devtools.testing.faults import document
from partstream_devtools.testing.upstream import ReplayUpstream
from upstreams.upstreams import server_of

KEY = f"sk-{token_hex(12)}"
POSIX = pytest.mark.skipif(os.name != "posix", reason="terminals of POSIX")

KEYRING = """
import json, os, pathlib
FILE = pathlib.Path(os.environ["KEYRING_FILE"])
def entries(): return json.loads(FILE.read_text()) if FILE.exists() else {}
def write(changed): FILE.write_text(json.dumps(changed))
def get_keyring(): return object()
def get_password(service, user): return entries().get(f"{service}/{user}")
def set_password(service, user, key): write({**entries(), f"{service}/{user}": key})
def delete_password(service, user): write({name: key for name, key in entries().items() if name != f"{service}/{user}"})
"""
"""A keyring that keeps its entries in a file: any module of that name serves."""


@dataclass
class Home:
    """Where a person's file and keyring are."""

    folder: Path

    @property
    def file(self) -> Path:
        return self.folder / "partstream.toml"

    @property
    def variables(self) -> dict[str, str]:
        return {
            "PARTSTREAM_CONFIG": str(self.file),
            "KEYRING_FILE": str(self.folder / "keyring.json"),
            "PYTHONPATH": str(self.folder / "modules"),
        }

    @property
    def settings(self) -> dict[str, Any]:
        return tomllib.loads(self.file.read_text()) if self.file.exists() else {}

    @property
    def keyring(self) -> dict[str, str]:
        path = self.folder / "keyring.json"
        return json.loads(path.read_text()) if path.exists() else {}

    async def add(self, *arguments: str, typed: str = "", **variables: str) -> Ended:
        return await call("add", *arguments, typed=typed, **self.variables, **variables)


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Home]:
    modules = tmp_path / "modules"
    modules.mkdir()
    (modules / "keyring.py").write_text(KEYRING)
    monkeypatch.syspath_prepend(modules)
    monkeypatch.delitem(sys.modules, "keyring", raising=False)
    yield Home(tmp_path)
    sys.modules.pop("keyring", None)


def name_of(url: str) -> str:
    """The name that a profile of a server on this machine gets by itself."""
    return f"localhost-{urlsplit(url).port}"


@asynccontextmanager
async def server(token: str | None = KEY) -> AsyncIterator[str]:
    async with ReplayUpstream(token=token) as upstream:
        yield upstream.base_url


# ---- by options ----


def test_a_script_adds_a_server_whose_key_stays_in_a_variable_and_chat_uses_it(home: Home):
    async def test() -> None:
        async with server() as url:
            added = await home.add(url, "--profile", "work", "--key-from", "MY_KEY", "--model", "text", MY_KEY=KEY)
            assert (added.code, added.errors) == (0, "")
            assert "lists 11 language models" in added.output
            assert "Next: partstream chat\n" in added.output
            assert home.settings == {
                "defaultProfile": "work",
                "profiles": {"work": {"baseUrl": url, "apiKeyEnv": "MY_KEY", "defaultModel": "text"}},
            }
            assert KEY not in added.output + home.file.read_text()
            variables = {"PARTSTREAM_DATA": str(home.folder / "data"), **home.variables}
            chat = await call("chat", "Hi", MY_KEY=KEY, **variables)
            assert "Hello from Partstream!" in chat.output
            (row,) = json.loads((await call("usage", "--profile", "work", "--json", **variables)).output)
            assert (row["model"], row["answers"]) == ("text", 1)

    run(test())


def test_the_version_of_an_interface_may_stand_in_an_address(home: Home):
    async def test() -> None:
        url = "https://mine.openai.azure.com/openai/v1?api-version=preview"
        added = await home.add(url, "--key-from", "MY_KEY", "--untested")
        assert added.code == 0, added.errors
        assert home.settings["profiles"]["azure"] == {"baseUrl": url, "apiKeyEnv": "MY_KEY"}

    run(test())


def test_a_key_from_standard_input_goes_to_the_keyring_and_into_no_file(home: Home):
    async def test() -> None:
        async with server() as url:
            added = await home.add(url, "--profile", "work", "--key-from", "-", typed=f"{KEY}\n")
            assert (added.code, added.errors) == (0, "")
            assert home.keyring == {"partstream/work": KEY}
            assert home.settings["profiles"]["work"] == {"baseUrl": url, "apiKeyKeyring": "partstream/work"}
            assert KEY not in added.output + home.file.read_text()
            models = await call("models", "--profile", "work", "--json", "--no-details", **home.variables)
            assert len(json.loads(models.output)) == 11

    run(test())


def test_the_variable_that_usually_holds_the_key_is_used_without_being_named(home: Home):
    async def test() -> None:
        async with server() as url:
            options = ("lm-studio", "--base-url", url)
            added = await home.add(*options, LM_API_TOKEN=KEY)
            assert (added.code, added.errors) == (0, "")
            assert home.settings["profiles"]["lm-studio"]["apiKeyEnv"] == "LM_API_TOKEN"
            assert "The key is read from the environment variable LM_API_TOKEN." in added.output

    run(test())


def test_what_is_in_the_file_stays_and_a_second_server_is_not_the_default(home: Home):
    async def test() -> None:
        before = "# Mine.\nbaseUrl = 'https://h/v1' # at home\n"
        home.file.write_text(before)
        async with server(None) as url:
            added = await home.add(url, "--profile", "work", "--key-from", "none", "--model", "text")
            assert added.code == 0, added.errors
            assert home.file.read_text().startswith(before)
            assert "defaultProfile" not in home.settings
            assert "Next: partstream chat --profile work\n" in added.output

            again = await home.add(url, "--profile", "work", "--key-from", "none")
            assert (again.code, "--replace" in again.errors) == (2, True)
            replaced = await home.add(
                url, "--profile", "work", "--key-from", "none", "--replace", "--default", "--model", "long"
            )
            assert replaced.code == 0, replaced.errors
            assert home.settings["defaultProfile"] == "work"
            assert home.settings["profiles"]["work"] == {"baseUrl": url, "defaultModel": "long"}
            assert "# Mine." in home.file.read_text()

    run(test())


ADDRESSES = {
    "without a scheme, on this machine": ("localhost:9", "http://localhost:9"),
    "the number of a host": ("127.0.0.1:9/v1", "http://127.0.0.1:9/v1"),
    "without a scheme, elsewhere": ("models.example.com/v1", "https://models.example.com/v1"),
    "with spaces around it": (" https://models.example.com/v1 ", "https://models.example.com/v1"),
}


@pytest.mark.parametrize(("typed", "meant"), ADDRESSES.values(), ids=ADDRESSES)
def test_an_address_is_taken_as_people_type_it(home: Home, typed: str, meant: str):
    async def test() -> None:
        added = await home.add(typed, "--profile", "mine", "--key-from", "none", "--untested")
        assert added.code == 0, added.errors
        assert home.settings["profiles"] == {"mine": {"baseUrl": meant}}

    run(test())


REFUSED = {
    "a key instead of a variable": (
        ("http://127.0.0.1:9/v1", "--key-from", KEY),
        "the name of an environment variable",
    ),
    "a server that needs a key": (("openai",), "OPENAI_API_KEY has no value; OpenAI needs a key"),
    "no such server": (("opnai",), "did you mean openai?"),
    "no server at all": ((), "SERVER: missing"),
    "no address where one is needed": (("azure", "--key-from", "none"), "--base-url: missing"),
    "an invalid address": (("ftp://h/v1",), "expected an http or https URL"),
    "a key in an address": ((f"https://h.example/v1?api_key={KEY}",), "the key is given by --key-from"),
    "a key as the query of an address": ((f"https://h.example/v1?{KEY}",), "the key is given by --key-from"),
    "a key instead of a server": ((KEY,), "an address begins with https://"),
    "a key with dots instead of a server": ((f"{KEY}.{KEY}.abc",), "there is no preset '***'"),
    "a key instead of a profile": (("http://127.0.0.1:9/v1", "--key-from", "none", "--profile", KEY), "letters"),
    "two addresses": (("http://a/v1", "--base-url", "http://b/v1"), "expected one of them"),
    "two keys": (("http://127.0.0.1:9/v1", "--key-from", "MY_KEY", "--keyring", "a/b"), "expected one of them"),
    "no entry of a keyring": (("http://127.0.0.1:9/v1", "--keyring", "a"), "an entry such as service/user"),
    "an invalid profile": (("http://127.0.0.1:9/v1", "--key-from", "none", "--profile", "a b"), "letters, digits"),
    "no key on standard input": (("http://127.0.0.1:9/v1", "--key-from", "-"), "--key-from: got nothing"),
    "plain http to another machine": (("http://h.example/v1", "--key-from", "none"), "--allow-insecure-http"),
    "no such protocol": (("http://127.0.0.1:9/v1", "--key-from", "none", "--protocol", "x"), "--protocol: got"),
}


@pytest.mark.parametrize(("arguments", "says"), REFUSED.values(), ids=REFUSED)
def test_what_is_of_no_use_is_refused_before_anything_is_asked_or_written(
    home: Home, monkeypatch: pytest.MonkeyPatch, arguments: tuple[str, ...], says: str
):
    monkeypatch.delenv("OPENAI_API_KEY", raising=False)

    async def test() -> None:
        refused = await home.add(*arguments)
        assert refused.code == 2
        assert says in " ".join(refused.errors.split())
        assert KEY not in refused.output + refused.errors
        assert not home.file.exists()

    run(test())


FAILURES = {
    "another key": ((KEY[::-1],), "HTTP 401"),
    "no server there": ((KEY, "http://127.0.0.1:9/v1"), "nothing listens"),
}


@pytest.mark.parametrize(("typed", "says"), FAILURES.values(), ids=FAILURES)
def test_a_server_that_fails_leaves_file_and_keyring_as_they_were(home: Home, typed: tuple[str, ...], says: str):
    async def test() -> None:
        async with server() as url:
            key, address = (*typed, url)[:2]
            failed = await home.add(address, "--key-from", "-", typed=f"{key}\n")
            assert failed.code == 3
            assert says in failed.errors
            assert KEY not in failed.output + failed.errors
            assert (home.file.exists(), home.keyring) == (False, {})

            kept = await home.add("http://127.0.0.1:9/v1", "--untested", "--key-from", "none")
            assert kept.code == 0, kept.errors
            assert home.settings["profiles"] == {"localhost-9": {"baseUrl": "http://127.0.0.1:9/v1"}}

    run(test())


def test_a_file_that_cannot_be_changed_gets_no_profile_and_the_keyring_its_old_key_back(home: Home):
    async def test() -> None:
        before = 'profiles = { home = { baseUrl = "https://h/v1" } }\n'
        home.file.write_text(before)
        (home.folder / "keyring.json").write_text('{"partstream/work": "sk-old-key"}')
        async with server() as url:
            failed = await home.add(url, "--profile", "work", "--key-from", "-", typed=f"{KEY}\n")
            assert failed.code == 1
            assert "[profiles.work]" in failed.errors
            assert home.file.read_text() == before
            assert home.keyring == {"partstream/work": "sk-old-key"}

            home.file.unlink()
            variables = {**home.variables, "PARTSTREAM_CONFIG": "/dev/null/partstream.toml"}
            failed = await call("add", url, "--profile", "work", "--key-from", "-", typed=f"{KEY}\n", **variables)
            assert failed.code == 1, failed.errors
            assert home.keyring == {"partstream/work": "sk-old-key"}

    run(test())


def test_what_the_server_speaks_is_said_and_the_base_url_that_was_meant_is_written(home: Home):
    async def test() -> None:
        models = {"object": "list", "data": [{"id": "m"}]}
        upstream = ModelServer({"/v1/models": models}, {"/v1/chat/completions": 400})
        async with serving(upstream):
            address = upstream.url.removesuffix("/v1")
            added = await home.add(address, "--profile", "work", "--key-from", "none")
            assert added.code == 0, added.errors
            assert "Speaks Chat Completions: /v1/chat/completions answers an empty request" in added.output
            assert f"The base URL is {upstream.url}." in added.output
            assert home.settings["profiles"]["work"] == {"baseUrl": upstream.url, "defaultModel": "m"}

            forced = await home.add(
                upstream.url, "--profile", "forced", "--key-from", "none", "--protocol", "chat-completions"
            )
            assert "Speaks" not in forced.output
            assert home.settings["profiles"]["forced"]["protocol"] == "chat-completions"

    run(test())


def test_a_server_without_a_list_of_models_is_added_with_the_model_that_is_named(home: Home):
    async def test() -> None:
        async with server_of(document(404, b"{}")) as (url, _):
            unnamed = await home.add(url, "--profile", "work", "--key-from", "none")
            assert (unnamed.code, home.file.exists()) == (3, False)
            named = await home.add(url, "--profile", "work", "--key-from", "none", "--model", "sonar")
            assert named.code == 0, named.errors
            named_model = {"discover": False, "models": ["sonar"], "defaultModel": "sonar"}
            assert home.settings["profiles"]["work"] == {"baseUrl": url, **named_model}
            assert "Next: partstream chat\n" in named.output

    run(test())


def test_without_a_keyring_it_is_said_what_to_do(home: Home):
    (home.folder / "modules" / "keyring.py").write_text("raise ImportError")

    async def test() -> None:
        refused = await home.add("openai", "--key-from", "-", typed=f"{KEY}\n")
        assert refused.code == 2
        assert "pip install keyring" in " ".join(refused.errors.split())
        assert "--keep-in file keeps it in a file that you alone can read" in " ".join(refused.errors.split())

    run(test())


def test_without_a_keyring_a_script_has_the_key_kept_in_a_file_for_the_user_alone(home: Home):
    (home.folder / "modules" / "keyring.py").write_text("raise ImportError")

    async def test() -> None:
        async with server() as url:
            variables = {"PARTSTREAM_DATA": str(home.folder / "data")}
            options = ("--profile", "work", "--key-from", "-", "--keep-in", "file", "--model", "text")
            added = await home.add(url, *options, typed=f"{KEY}\n", **variables)
            assert added.code == 0, added.errors
            kept = home.folder / "data" / "keys" / "work.key"
            assert kept.read_text() == KEY
            assert os.name != "posix" or (kept.stat().st_mode & 0o777, kept.parent.stat().st_mode & 0o777) == (
                0o600,
                0o700,
            )
            assert home.settings["profiles"]["work"]["apiKeyFile"] == str(kept)
            assert KEY not in added.output + added.errors + home.file.read_text()
            assert (await call("chat", "Hi", **home.variables, **variables)).code == 0
            home.file.chmod(0o600)
            refused = await home.add(url, *options, "--replace", typed=f"{KEY[::-1]}\n", **variables)
            assert (refused.code, kept.read_text()) == (3, KEY)
            removed = await call("profiles", "remove", "work", **home.variables, **variables)
            assert (removed.code, kept.exists()) == (0, False), removed.errors

    run(test())


def test_the_known_servers_are_listed():
    async def test() -> None:
        listed = await call("add", "--list")
        assert listed.code == 0
        assert "ollama" in listed.output
        assert "https://YOUR-RESOURCE.openai.azure.com/openai/v1" in listed.output
        assert "China: --base-url https://api.moonshot.cn/v1" in listed.output

    run(test())


# ---- in a terminal ----


@POSIX
def test_in_a_terminal_every_question_is_asked_until_it_is_answered_and_the_key_is_not_shown(home: Home):
    async def test() -> None:
        async with server() as url, terminal("add", controls=True, **home.variables) as person:
            await person.until("Number, name or address of the server:")
            assert "OpenRouter" in person.plain
            person.type("sk-in-the-wrong-place\n")
            await person.until("*** is not valid, expected a number, a name, or an address.")
            person.type("\n")
            await person.until("This needs an answer")
            person.type("address\n")
            await person.until("Address, such as")
            person.type("nonsense://\n")
            await person.until("expected an http or https URL")
            person.type(f"{url.removeprefix('http://')}\n")
            await person.until(f"Name of the profile [{name_of(url)}]:")
            person.type("work\n")
            await person.until("or Enter for none:")
            person.type(f"{KEY[::-1]}\n")
            await person.until("What now:")
            assert "HTTP 401" in person.plain
            person.type("1\n")
            await person.until("or Enter for none:")
            person.type(f"{KEY}\n")
            await person.until("The model to take when none is named [text]:")
            person.type("gpt\n")
            await person.until("one of the models above")
            person.type("long\n")
            assert await person.ended() == 0, person.plain
            assert "Next: partstream chat" in person.plain
            assert KEY not in person.plain
            assert home.keyring == {"partstream/work": KEY}
            assert home.settings["profiles"]["work"] == {
                "baseUrl": url,
                "apiKeyKeyring": "partstream/work",
                "defaultModel": "long",
            }

    run(test())


@POSIX
def test_an_address_is_an_answer_to_the_first_question_and_without_a_keyring_the_places_that_work_are_offered(
    home: Home,
):
    (home.folder / "modules" / "keyring.py").write_text("raise ImportError")

    async def test() -> None:
        async with server(None) as url, terminal("add", controls=True, **home.variables) as person:
            await person.until("Number, name or address of the server:")
            person.type(f"{url.removeprefix('http://')}\n")
            await person.until(f"Name of the profile [{name_of(url)}]:")
            person.type("\n")
            await person.until("Where is the key:")
            assert "pip install keyring" in " ".join(person.plain.split())
            assert "3 Nowhere: the server needs none" in " ".join(person.plain.split())
            person.type("3\n")
            await person.until("The model to take when none is named [text]:")
            person.type("\n")
            assert await person.ended() == 0, person.plain
            assert home.settings["profiles"] == {name_of(url): {"baseUrl": url, "defaultModel": "text"}}

    run(test())


@POSIX
def test_without_a_keyring_the_key_itself_is_asked_for_and_goes_into_a_file(home: Home):
    (home.folder / "modules" / "keyring.py").write_text("raise ImportError")

    async def test() -> None:
        variables = {**home.variables, "PARTSTREAM_DATA": str(home.folder / "data")}
        async with server() as url, terminal("add", url, controls=True, **variables) as person:
            await person.until("Where is the key:")
            person.type("1\n")
            await person.until("or Enter for none:")
            person.type(f"{KEY}\n")
            await person.until("The model to take when none is named [text]:")
            person.type("\n")
            assert await person.ended() == 0, person.plain
            assert (home.folder / "data" / "keys" / f"{name_of(url)}.key").read_text() == KEY
            assert KEY not in person.plain

    run(test())


@POSIX
def test_whoever_adds_a_second_server_of_the_same_name_is_asked_for_another(home: Home):
    home.file.write_text('[profiles.ollama]\nbaseUrl = "http://h/v1"\n')

    async def test() -> None:
        options = ("ollama", "--base-url", "http://127.0.0.1:9/v1", "--key-from", "none", "--untested")
        async with terminal("add", *options, controls=True, **home.variables) as person:
            await person.until("Name of the profile [ollama-2]:")
            person.type("\n")
            assert await person.ended() == 0, person.plain
            assert list(home.settings["profiles"]) == ["ollama", "ollama-2"]
        replaced = await home.add(*options, "--replace")
        assert replaced.code == 0, replaced.errors

    run(test())


@POSIX
def test_whoever_presses_ctrl_c_changes_nothing(home: Home):
    async def test() -> None:
        async with server() as url, terminal("add", url, controls=True, **home.variables) as person:
            await person.until("or Enter for none:")
            person.type("\x03")
            assert await person.ended() == 130, person.plain
            assert (home.file.exists(), home.keyring) == (False, {})

    run(test())


@POSIX
def test_whoever_has_enough_of_a_server_that_fails_changes_nothing(home: Home):
    async def test() -> None:
        async with terminal(
            "add", "http://127.0.0.1:9/v1", "--key-from", "none", controls=True, **home.variables
        ) as person:
            await person.until("What now:")
            person.type("2\n")
            await person.until("Address [http://127.0.0.1:9/v1]:")
            person.type("\n")
            await person.until("What now:")
            person.type("4\n")
            assert await person.ended() == 3, person.plain
            assert not home.file.exists()

    run(test())


# ---- listing and removing ----


def test_profiles_are_listed_without_keys_and_removed_with_the_key_that_was_kept_for_them(home: Home):
    async def test() -> None:
        async with server() as url:
            for name, source in (("work", "-"), ("home", "MY_KEY")):
                options = (url, "--profile", name, "--key-from", source, "--model", "text")
                assert (await home.add(*options, typed=f"{KEY}\n", MY_KEY=KEY)).code == 0
        listed = await call("profiles", **home.variables)
        assert listed.output.splitlines() == [
            f'work  {url}, key: apiKeyKeyring "partstream/work", used where no profile is named',
            f'home  {url}, key: apiKeyEnv "MY_KEY"',
        ]
        assert [row["name"] for row in json.loads((await call("profiles", "--json", **home.variables)).output)] == [
            "work",
            "home",
        ]
        removed = await call("profiles", "remove", "work", **home.variables)
        assert removed.code == 0
        assert "Its key is removed too: it was in the keyring, as partstream/work." in removed.output
        assert home.keyring == {}
        assert home.settings.keys() == {"profiles"}
        assert (await call("profiles", "remove", "home", **home.variables)).code == 0
        assert "has no profiles; `partstream add` makes one" in (await call("profiles", **home.variables)).output

    run(test())


def test_a_key_that_another_profile_names_stays_and_so_does_one_that_was_not_kept_by_add(home: Home):
    entries = {"partstream/work": KEY, "mine/key": KEY}
    (home.folder / "keyring.json").write_text(json.dumps(entries))
    home.file.write_text(
        '[profiles.work]\napiKeyKeyring = "partstream/work"\n'
        '[profiles.too]\napiKeyKeyring = "partstream/work"\n'
        '[profiles.mine]\napiKeyKeyring = "mine/key"\n'
    )

    async def test() -> None:
        for name in ("work", "mine", "too"):
            assert (await call("profiles", "remove", name, **home.variables)).code == 0
        assert home.keyring == entries

    run(test())


def test_a_profile_that_is_not_there_is_answered_with_those_that_are(home: Home):
    home.file.write_text('[profiles.work]\nbaseUrl = "http://h/v1"\n[profiles.broken]\nbaseUrl = 1\n')

    async def test() -> None:
        removed = await call("profiles", "remove", "wrok", **home.variables)
        assert removed.code == 2
        assert "has no profile 'wrok', its profiles: work, broken; did you mean work?" in " ".join(
            removed.errors.split()
        )
        listed = await call("profiles", **home.variables)
        assert (listed.code, len(listed.output.splitlines())) == (0, 2)
        assert "broken  setting" in listed.output

    run(test())


def test_where_the_keyring_does_not_give_the_key_up_it_is_said_that_it_stays(home: Home):
    home.file.write_text('[profiles.work]\napiKeyKeyring = "partstream/work"\n')
    (home.folder / "modules" / "keyring.py").write_text("raise ImportError")

    async def test() -> None:
        removed = await call("profiles", "remove", "work", **home.variables)
        assert removed.code == 1
        assert "its key stays in the keyring's entry partstream/work: this Python has no package" in removed.errors
        assert home.settings == {}

    run(test())
