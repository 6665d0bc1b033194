"""One configuration from all places, and the keys that it names, against a real server."""

import json
import sys
from pathlib import Path
from typing import Any

import pytest

from partstream.config.loading import load_configuration
from partstream.config.table import RawValue
from partstream.settings.kinds import ConfigurationError
from partstream.settings.row import SettingSource
from partstream.upstream.configuration import Timeouts
from partstream.upstream.provider import GatewayProvider
from partstream_devtools.testing.faults import document
from partstream_devtools.testing.upstream import ReplayUpstream
from upstreams.upstreams import HELLO, ask, run, server_of

URL = "https://api.example.com/v1"
KEY = "sk-planted"


def surroundings(tmp_path: Path, toml: str = "", **variables: str) -> dict[str, str]:
    path = tmp_path / "partstream.toml"
    path.write_text(toml)
    path.chmod(0o600)
    return {"PARTSTREAM_CONFIG": str(path), **variables}


def test_all_places_make_one_configuration(tmp_path: Path):
    toml = f'baseUrl = "{URL}"\nproxy = "http://file:1"\n[timeouts]\nidle = 5\n[fallbacks]\na = ["b"]\n'
    environment = surroundings(tmp_path, toml, PARTSTREAM_API_KEY="sk-planted", PARTSTREAM_PROXY="http://shell:1")
    loaded = load_configuration(
        command_line={"timeouts": RawValue({"idle": 7}, "--timeouts")},
        editor={"proxyStrictSSL": False},
        environment=environment,
    )
    gateway = loaded.gateway()
    assert gateway.base_url == URL
    assert gateway.timeouts == Timeouts(idle=7.0)
    assert gateway.fallbacks == {"a": ("b",)}
    assert (gateway.proxy, gateway.verify_certificates) == ("http://shell:1", False)
    assert gateway.api_key
    assert gateway.api_key.reveal() == "sk-planted"
    assert {name: value.place for name, value in loaded.resolved.values.items()} == {
        "baseUrl": SettingSource.FILE,
        "apiKey": SettingSource.ENVIRONMENT,
        "fallbacks": SettingSource.FILE,
        "timeouts": SettingSource.COMMAND_LINE,
        "proxy": SettingSource.ENVIRONMENT,
        "proxyStrictSSL": SettingSource.EDITOR,
    }
    assert "sk-planted" not in repr(loaded)


def test_a_group_needs_nothing_else(tmp_path: Path):
    environment = surroundings(tmp_path, f'baseUrl = "{URL}"\napiKey = "sk-other"\n')
    gateway = load_configuration(group={"baseUrl": "https://group/v1", "apiKey": ""}, environment=environment).gateway()
    assert (gateway.base_url, gateway.api_key, gateway.credentials) == ("https://group/v1", None, None)


def test_what_names_the_key_tells_the_accounts_of_one_upstream_apart(tmp_path: Path):
    keys: list[dict[str, Any]] = [
        {},
        {"apiKeyEnv": "ONE"},
        {"apiKeyEnv": "ANOTHER"},
        {"apiKeyCommand": ["print-key", "--account", "one"]},
        {"apiKeyCommand": ["print-key", "--account", "another"]},
    ]
    environment = surroundings(tmp_path)
    loaded = [load_configuration(group={"baseUrl": URL, **key}, environment=environment).gateway() for key in keys]
    assert len({gateway.key_place for gateway in loaded}) == len(keys)
    assert not any("--account" in repr(gateway) for gateway in loaded)


CONTRADICTIONS = {
    "no URL anywhere": ("", "baseUrl"),
    "plain http to another machine": ('baseUrl = "http://10.0.0.1/v1"', "partstream.toml: baseUrl"),
    "a body field of ours": (
        f'baseUrl = "{URL}"\nmodelRequests = {{m = {{extraBody = {{input = 1}}}}}}',
        "partstream.toml: modelRequests.m.extraBody.input",
    ),
}


@pytest.mark.parametrize(("toml", "where"), CONTRADICTIONS.values(), ids=CONTRADICTIONS)
def test_what_only_the_whole_shows_is_refused_with_its_place_too(tmp_path: Path, toml: str, where: str):
    with pytest.raises(ConfigurationError) as raised:
        load_configuration(environment=surroundings(tmp_path, toml)).gateway()
    assert raised.value.where.endswith(where)


def test_a_group_with_a_misspelt_base_url_is_told_so(tmp_path: Path):
    loaded = load_configuration(group={"baseURL": URL}, environment=surroundings(tmp_path))
    with pytest.raises(ConfigurationError, match="setting baseUrl: got nothing") as raised:
        loaded.gateway()
    assert "unknown setting 'baseURL' in the VS Code group; did you mean 'baseUrl'?" in str(raised.value)


def test_plain_http_is_allowed_by_its_setting_which_speaks_of_its_own_url_alone(tmp_path: Path):
    environment = surroundings(tmp_path, 'baseUrl = "http://10.0.0.1/v1"\nallowInsecureHttp = true\n')
    assert load_configuration(environment=environment).gateway().base_url == "http://10.0.0.1/v1"
    with pytest.raises(ConfigurationError, match="refusing plain HTTP to"):
        load_configuration(group={"baseUrl": "http://10.0.0.2/v1"}, environment=environment).gateway()


def key_sources(tmp_path: Path) -> dict[str, dict[str, Any]]:
    path = tmp_path / "key"
    path.write_text("sk-planted\n")
    path.chmod(0o600)
    return {
        "apiKey": {"apiKey": "sk-planted"},
        "apiKeyEnv": {"apiKeyEnv": "MY_KEY"},
        "apiKeyFile": {"apiKeyFile": str(path)},
        "apiKeyCommand": {"apiKeyCommand": [sys.executable, "-I", "-S", "-c", "print('sk-'+'planted')"]},
        "vercelOidc": {"vercelOidc": {}},
    }


@pytest.mark.parametrize("source", ["apiKey", "apiKeyEnv", "apiKeyFile", "apiKeyCommand", "vercelOidc"])
def test_the_key_of_every_source_reaches_the_server(tmp_path: Path, source: str):
    async def test() -> None:
        async with ReplayUpstream(token=KEY) as upstream:
            group = {"baseUrl": upstream.base_url, **key_sources(tmp_path)[source]}
            environment = surroundings(tmp_path, MY_KEY=KEY, VERCEL_OIDC_TOKEN=KEY)
            provider = GatewayProvider(load_configuration(group=group, environment=environment).gateway())
            answer = await ask(provider, "Hi")
            await provider.aclose()
            assert (answer.text, answer.error) == (HELLO, None)

    run(test())


COUNTING = """
import pathlib, sys
path = pathlib.Path(sys.argv[1])
number = int(path.read_text()) + 1 if path.exists() else 1
path.write_text(str(number))
print(f"sk-planted-{number}")
"""


def test_a_refused_key_is_fetched_anew_once_and_the_request_sent_once_more(tmp_path: Path):
    counter = tmp_path / "count"

    async def test() -> None:
        async with ReplayUpstream(token=f"{KEY}-2") as upstream:
            command = [sys.executable, "-I", "-S", "-c", COUNTING, str(counter)]
            group = {"baseUrl": upstream.base_url, "protocol": "openresponses", "apiKeyCommand": command}
            provider = GatewayProvider(load_configuration(group=group, environment=surroundings(tmp_path)).gateway())
            answer = await ask(provider, "Hi")
            assert (answer.text, answer.error) == (HELLO, None)
            assert len(upstream.requests) == 2
            await ask(provider, "Hi again")
            assert len(upstream.requests) == 3
            await provider.aclose()

    run(test())
    assert counter.read_text() == "2"


def test_a_key_that_is_refused_again_is_an_error_and_no_endless_story(tmp_path: Path):
    counter = tmp_path / "count"

    async def test() -> None:
        async with server_of(document(401, b"{}")) as (url, requests):
            command = [sys.executable, "-I", "-S", "-c", COUNTING, str(counter)]
            group = {"baseUrl": url, "protocol": "openresponses", "apiKeyCommand": command}
            provider = GatewayProvider(load_configuration(group=group, environment=surroundings(tmp_path)).gateway())
            answer = await ask(provider, "Hi")
            await provider.aclose()
            assert getattr(answer.error, "http_status", None) == 401
            assert [request.headers["authorization"][-1] for request in requests] == ["1", "2"]

    run(test())


def test_a_key_that_cannot_be_had_is_an_error_of_the_request_and_not_of_the_list(tmp_path: Path):
    async def test() -> None:
        async with server_of(document(200, json.dumps({"data": []}).encode())) as (url, requests):
            group = {"baseUrl": url, "apiKeyEnv": "MY_KEY", "models": ["text"], "discover": False}
            provider = GatewayProvider(load_configuration(group=group, environment=surroundings(tmp_path)).gateway())
            answer = await ask(provider, "Hi")
            await provider.aclose()
            assert "the environment variable MY_KEY" in str(answer.error)
            assert requests == []

    run(test())
