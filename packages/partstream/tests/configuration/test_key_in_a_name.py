"""A key that stands instead of a name, or in a query without a name, is shown nowhere."""

import asyncio
import json
import sys
from pathlib import Path
from typing import Any

import pytest

from configuration.standing import load_from
from partstream.config.loading import load_configuration
from partstream.config.table import secrets_of_settings
from partstream.settings.kinds import ConfigurationError, shown_name
from partstream.settings.row import SettingSource, hidden_url
from partstream.upstream.configuration import GatewayConfiguration
from partstream.upstream.endpoint import CredentialError
from partstream.vscode.failures import GroupSecrets
from rows import one_test_for

KEYS = ["sk-planted", "sk-proj-0123456789abcdef", "psj_planted", "4f1d0c9ba37e4f1d", "Bearer 4f1d0c9ba37e4f1d"]
NAMES = ["baseUrl", "x-api-key", "X-Forwarded-For", "max_tokens_2", "anthropic-beta", "x-team-of-2026", "tokens"]


@one_test_for("key", KEYS)
def test_a_key_is_no_name_to_show(key: str):
    assert shown_name(key) == "***"


@one_test_for("name", NAMES)
def test_a_name_is_shown(name: str):
    assert shown_name(name) == name


def said_of(settings: dict[str, Any], place: SettingSource, folder: Path) -> str:
    """Everything that a person may see of settings, whether they can be read or not."""
    try:
        resolved = load_from({"baseUrl": "http://127.0.0.1:9/v1", **settings}, place, folder).resolved
    except ConfigurationError as error:
        return f"{error} {error!r} {error.where} {error.got} {error.expected}"
    shown = [json.dumps(value.shown) + repr(value) for value in resolved.values.values()]
    return "\n".join([*shown, *resolved.notes, *resolved.warnings, repr(resolved)])


@pytest.mark.parametrize("place", [SettingSource.FILE, SettingSource.ENVIRONMENT, SettingSource.GROUP])
@pytest.mark.parametrize("key", ["sk-RED/TEAM+PLANTED&0123456789abcdef==", "sk-proj-0123456789abcdef"])
def test_a_key_that_names_a_header_is_not_shown(key: str, place: SettingSource, tmp_path: Path):
    assert key[:12] not in said_of({"headers": {key: "x"}}, place, tmp_path)


@pytest.mark.parametrize("place", [SettingSource.FILE, SettingSource.GROUP])
def test_a_key_that_names_a_setting_is_not_shown(place: SettingSource, tmp_path: Path):
    assert "0123456789abcdef" not in said_of({"sk-proj-0123456789abcdef": ""}, place, tmp_path)


def test_the_log_leaves_out_a_key_that_is_a_name():
    group = {"headers": {"sk-proj-0123456789abcdef": "x", "x-team": "y"}, "4f1d0c9ba37e4f1d": ""}
    assert {"sk-proj-0123456789abcdef", "4f1d0c9ba37e4f1d"} <= secrets_of_settings(group)
    redactor = GroupSecrets()
    redactor.learn({"id": "g", "configuration": group})
    assert redactor.redact("sk-proj-0123456789abcdef 4f1d0c9ba37e4f1d x-team") == "[redacted] [redacted] x-team"


HIDDEN = {
    "http://h/v1?key=SECRET": "http://h/v1?key=***",
    "http://h/v1?SECRET": "http://h/v1?***",
    "http://h/v1?a=SECRET&SECRET&b=SECRET": "http://h/v1?a=***&***&b=***",
    "http://me:SECRET@h/v1?SECRET#SECRET": "http://***@h/v1?***",
    "http://h/v1": "http://h/v1",
}


@one_test_for(("url", "shown"), HIDDEN.items())
def test_a_url_is_shown_without_its_query(url: str, shown: str):
    assert hidden_url(url) == shown


@pytest.mark.parametrize("query", ["key=planted-0123", "planted-0123", "a=1&planted-0123"])
def test_a_base_url_that_is_refused_is_shown_without_its_query(query: str):
    with pytest.raises(ConfigurationError) as caught:
        GatewayConfiguration(f"http://example.invalid/v1?{query}")
    assert "planted" not in f"{caught.value} {caught.value!r} {caught.value.got}"
    assert "planted-0123" in secrets_of_settings({"baseUrl": f"https://example.invalid/v1?{query}"})


@pytest.mark.parametrize("name", ["protocol", "logLevel", "errors", "thinking", "retry"])
def test_a_key_in_the_place_of_a_word_is_not_quoted(name: str, tmp_path: Path):
    said = said_of({name: "sk-planted/0123456789abcdef"}, SettingSource.GROUP, tmp_path)
    assert "planted" not in said
    assert "0123456789" not in said


def test_a_key_in_the_place_of_an_entry_of_the_keyring_is_not_quoted(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setitem(sys.modules, "keyring", None)  # as if the package were not there
    loaded = load_configuration(group={"baseUrl": "http://127.0.0.1:9/v1", "apiKeyKeyring": "sk-planted/0123456789ab"})
    with pytest.raises(CredentialError) as caught:
        asyncio.run(loaded.gateway().credentials.get())
    assert "planted" not in str(caught.value)
    assert "0123456789" not in str(caught.value)
