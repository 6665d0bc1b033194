"""`partstream add hub`: a join code becomes a key in the keyring and a profile, and is shown and kept nowhere else."""

import json
import os
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import pytest
from test_add import Home, home

from commands import run, terminal
from models.server import ModelServer, serving

__all__ = ["home"]

CODE = "k3Jx-92_bQ7vLw0r"
KEY = "psk_ada1_" + "s3cretWord" * 4
MODELS = {"object": "list", "data": [{"id": "gpt-5", "object": "model", "owned_by": "hub"}]}


@asynccontextmanager
async def hub(**changes: Any) -> AsyncIterator[ModelServer]:
    """A hub as far as this command asks it; gives the server that says what came."""
    documents = {"/hub/v1/join": {"key": KEY, "person": "ada"}, "/v1/models": MODELS, **changes}
    server = ModelServer(documents)
    async with serving(server):
        yield server


def address(server: ModelServer) -> str:
    return server.url.removesuffix("/v1")


def codes_sent(server: ModelServer) -> int:
    return sum(request.path == "/hub/v1/join" for request in server.requests)


@pytest.mark.parametrize(
    "typed", [CODE, "{hub}/hub/join#" + CODE, "vscode://partstream.partstream/join?hub={hub}#" + CODE]
)
def test_a_join_code_or_its_link_becomes_a_key_in_the_keyring_and_a_profile(home: Home, typed: str):
    async def test() -> None:
        async with hub() as server:
            line = typed.format(hub=address(server))
            added = await home.add("hub", f"{address(server)}/", "--key-from", "-", typed=f"{line}\n")
            assert (added.code, added.errors) == (0, "")
            assert home.settings == {
                "defaultProfile": "hub",
                "profiles": {
                    "hub": {"baseUrl": server.url, "apiKeyKeyring": "partstream/hub", "defaultModel": "gpt-5"}
                },
            }
            assert home.keyring == {"partstream/hub": KEY}
            assert "The hub knows you as ada." in added.output
            for secret in (CODE, KEY):
                assert secret not in added.output + home.file.read_text()
            assert codes_sent(server) == 1

    run(test())


def test_a_key_that_a_person_has_already_is_kept_and_no_code_is_asked_for(home: Home):
    async def test() -> None:
        async with hub() as server:
            added = await home.add("hub", address(server), "--key-from", "-", typed=f"{KEY}\n")
            assert added.code == 0, added.errors
            assert (home.keyring, codes_sent(server)) == ({"partstream/hub": KEY}, 0)

    run(test())


def test_a_key_in_a_variable_stays_there(home: Home):
    async def test() -> None:
        async with hub() as server:
            added = await home.add("hub", address(server), PARTSTREAM_HUB_KEY=KEY)
            assert added.code == 0, added.errors
            assert home.settings["profiles"]["hub"]["apiKeyEnv"] == "PARTSTREAM_HUB_KEY"
            assert home.keyring == {}

    run(test())


def test_a_link_among_the_arguments_is_refused_and_its_code_is_not_repeated(home: Home):
    async def test() -> None:
        for arguments in ([f"https://hub.example.com/hub/join#{CODE}"], ["hub", f"https://hub.example.com#{CODE}"]):
            refused = await home.add(*arguments)
            assert refused.code == 2
            said = " ".join(refused.errors.split())
            assert "partstream add hub https://hub.example.com" in said
            assert CODE not in said
        assert home.settings == {}

    run(test())


def test_a_link_to_another_hub_sends_its_code_nowhere(home: Home):
    async def test() -> None:
        async with hub() as server:
            link = f"https://evil.example/hub/join#{CODE}"
            refused = await home.add("hub", address(server), "--key-from", "-", typed=f"{link}\n")
            assert refused.code == 2
            assert "a link to https://evil.example" in " ".join(refused.errors.split())
            assert (server.requests, home.settings, home.keyring) == ([], {}, {})

    run(test())


def test_a_code_goes_over_plain_http_to_this_machine_alone(home: Home):
    async def test() -> None:
        refused = await home.add("hub", "http://hub.lan:8321", "--key-from", "-", typed=f"{CODE}\n")
        assert refused.code == 2
        assert "http" in refused.errors
        assert (CODE in refused.errors, home.settings, home.keyring) == (False, {}, {})

    run(test())


def test_a_code_that_is_not_taken_changes_nothing(home: Home):
    async def test() -> None:
        async with hub() as server:
            server.statuses["/hub/v1/join"] = 410
            refused = await home.add("hub", address(server), "--key-from", "-", typed=f"{CODE}\n")
            assert refused.code == 3
            assert "ask the person who runs the hub for a new link" in " ".join(refused.errors.split())
            assert (CODE in refused.errors, home.settings, home.keyring) == (False, {}, {})

    run(test())


def test_no_code_is_spent_where_no_key_can_be_kept(home: Home):
    (home.folder / "modules" / "keyring.py").write_text("raise ImportError")

    async def test() -> None:
        async with hub() as server:
            refused = await home.add("hub", address(server), "--key-from", "-", typed=f"{CODE}\n")
            assert refused.code == 2
            assert "pip install keyring" in " ".join(refused.errors.split())
            assert "--keep-in file" in " ".join(refused.errors.split())
            assert server.requests == []

    run(test())


def test_without_a_keyring_the_key_of_a_code_goes_into_a_file(home: Home):
    (home.folder / "modules" / "keyring.py").write_text("raise ImportError")

    async def test() -> None:
        async with hub() as server:
            variables = {"PARTSTREAM_DATA": str(home.folder / "data")}
            options = ("hub", address(server), "--key-from", "-", "--keep-in", "file")
            added = await home.add(*options, typed=f"{CODE}\n", **variables)
            assert added.code == 0, added.errors
            assert (home.folder / "data" / "keys" / "hub.key").read_text() == KEY
            assert CODE not in added.output + added.errors

    run(test())


def test_a_key_that_was_given_once_is_kept_though_the_models_cannot_be_listed(home: Home):
    async def test() -> None:
        async with hub() as server:
            server.statuses["/v1/models"] = 503
            added = await home.add("hub", address(server), "--key-from", "-", typed=f"{CODE}\n")
            assert added.code == 0, added.errors
            assert "its join code works only once" in " ".join(added.output.split())
            assert home.keyring == {"partstream/hub": KEY}
            assert home.settings["profiles"]["hub"]["baseUrl"] == server.url

    run(test())


@pytest.mark.skipif(os.name != "posix", reason="terminals of POSIX")
def test_in_a_terminal_the_link_is_asked_for_and_not_shown(home: Home):
    async def test() -> None:
        async with hub() as server, terminal("add", "hub", controls=True, **home.variables) as person:
            await person.until("Address of Partstream hub, such as https://hub.example.com/v1:")
            person.type(f"{address(server)}/hub\n")
            await person.until("Join code, join link or key of the hub:")
            person.type(f"{address(server)}/hub/join#{CODE}\n")
            await person.until("Next: partstream chat")
            assert CODE not in person.plain
            assert json.dumps(home.keyring) == json.dumps({"partstream/hub": KEY})

    run(test())


@pytest.mark.skipif(os.name != "posix", reason="terminals of POSIX")
def test_in_a_terminal_without_a_keyring_the_code_is_asked_for_all_the_same(home: Home):
    (home.folder / "modules" / "keyring.py").write_text("raise ImportError")

    async def test() -> None:
        variables = {**home.variables, "PARTSTREAM_DATA": str(home.folder / "data")}
        async with hub() as server, terminal("add", "hub", address(server), controls=True, **variables) as person:
            await person.until("Join code, join link or key of the hub:")
            assert "pip install keyring" in " ".join(person.plain.split())
            person.type(f"{CODE}\n")
            await person.until("Next: partstream chat")
            assert CODE not in person.plain
            assert (home.folder / "data" / "keys" / "hub.key").read_text() == KEY

    run(test())
