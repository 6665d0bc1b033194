"""A secret planted in any row of the table that may hold one is in nothing that anybody sees.

The answers of a real sidecar are in packages/partstream/tests/hosts/vscode/test_planted_everywhere.py.
"""

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from configuration.planted import SPOTS, Spot
from configuration.standing import load_from
from partstream.config.table import SETTINGS, secrets_of_settings, settings_of
from partstream.settings.kinds import ConfigurationError
from partstream.settings.row import Secrecy, SettingSource, shown
from partstream.vscode.failures import GroupSecrets

SECRETS = st.from_regex(r"[A-Za-z0-9_-]{4,40}-[0-9][A-Za-z0-9_-]{6,20}", fullmatch=True)
SECRET = "sk-planted-4f1d0c9ba37e"  # noqa: S105 - it opens nothing

every_spot = pytest.mark.parametrize("spot", SPOTS.values(), ids=SPOTS)


def test_the_table_says_of_these_rows_that_they_may_hold_a_secret():
    # A row that is added and may hold one shall be a decision.
    assert set(SPOTS) == {
        "baseUrl",
        "apiKey",
        "apiKeyCommand",
        "headers",
        "proxy",
        "request.extraBody",
        "request.extraHeaders",
        "request.providerOptions",
        "modelRequests.extraBody",
        "modelRequests.extraHeaders",
        "modelRequests.providerOptions",
    }


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("planted")


@every_spot
@given(secret=SECRETS, data=st.data())
@settings(max_examples=15, suppress_health_check=[HealthCheck.too_slow], deadline=None)
def test_it_is_in_no_representation_and_not_in_what_is_shown_and_every_log_leaves_it_out(
    spot: Spot, secret: str, data: st.DataObject, folder: Path
):
    place = data.draw(st.sampled_from(sorted(spot.places - {SettingSource.EDITOR})))
    loaded = load_from(spot.planted(secret), place, folder)
    redactor = GroupSecrets()
    gateway = loaded.gateway(redactor.learn_secret)
    seen = [repr(loaded), repr(loaded.resolved), repr(gateway), repr(gateway.request), repr(gateway.model_requests)]
    seen += [repr(gateway.request.own), *(repr(one.own) for one in gateway.model_requests.values())]
    seen += [gateway.shown_url, *loaded.resolved.notes, *loaded.resolved.warnings]
    seen += [json.dumps(value.shown) for value in loaded.resolved.values.values()]
    assert secret not in "\n".join(seen)
    assert secret not in redactor.redact(f"the upstream said {secret}, Bearer {secret}")
    # What the transport leaves out of the words of an upstream: all but the key, which only it knows.
    assert spot.row.secrecy in (Secrecy.WHOLE, Secrecy.ARGUMENTS) or any(secret in one for one in gateway.secrets)


@every_spot
@given(secret=SECRETS)
@settings(max_examples=10, deadline=None)
def test_the_sidecar_knows_it_before_the_group_is_read(spot: Spot, secret: str):
    for configuration in (spot.planted(secret), spot.misspelt(secret)):
        redactor = GroupSecrets()
        redactor.learn({"id": "g", "configuration": configuration})
        told = redactor.redact_values({"message": [f"{secret}, Bearer {secret}"], "more": {"x": secret, "n": 4}})
        assert secret not in json.dumps(told)


BROKEN = {
    "in a list": lambda secret: [secret],
    "in an object": lambda secret: {"x": secret},
    "alone": lambda secret: secret,
    "with a line break": lambda secret: f"{secret}\n",
    "in an object of an object": lambda secret: {"x": {"y": f"{secret}\n"}},
    "in a list behind a number": lambda secret: [4, secret],
    "in a URL": lambda secret: f"ftp://me:{secret}@host?x={secret}",
    "in what is no URL": lambda secret: f"http://[me:{secret}@host?x={secret}",
}


@every_spot
@pytest.mark.parametrize("broken", BROKEN.values(), ids=BROKEN)
def test_an_error_about_it_does_not_show_it(spot: Spot, broken: Any, folder: Path):
    if spot.row.secrecy is Secrecy.ARGUMENTS and isinstance(broken(SECRET), list) and broken(SECRET)[0] == SECRET:
        pytest.skip("the first of a command is a program, which is shown")
    given = spot.holding(broken(SECRET))
    errors = []
    for place in sorted(spot.places - {SettingSource.EDITOR}):
        try:
            load_from(given, place, folder).gateway()
        except ConfigurationError as error:
            errors += [str(error), repr(error), error.got, error.expected, error.where]
    assert SECRET not in "\n".join(errors)
    assert SECRET not in json.dumps({name: shown(SETTINGS[name], value) for name, value in given.items()})


@every_spot
@pytest.mark.parametrize("place", [SettingSource.GROUP, SettingSource.FILE])
def test_under_a_misspelt_name_it_is_not_shown_either(spot: Spot, place: SettingSource, folder: Path):
    given = spot.misspelt(SECRET)
    if place is SettingSource.GROUP:
        resolved = load_from(given, place, folder).resolved
        assert "unknown setting" in resolved.warnings[0]
        seen = [*resolved.warnings, repr(resolved), *(json.dumps(one.shown) for one in resolved.values.values())]
        assert SECRET not in "\n".join(seen)
        return
    with pytest.raises(ConfigurationError, match="unknown setting") as raised:
        load_from(given, place, folder)
    assert SECRET not in f"{raised.value} {raised.value!r}"


def test_ordinary_words_of_a_group_are_no_secrets():
    group = {
        "baseUrl": "https://gateway.example.com:8443/v1?api-version=",
        "protocol": "ai-gateway",
        "models": ["anthropic/claude-sonnet-4.5", {"id": "openai/gpt-5.1", "name": "GPT 5.1", "family": "gpt-5.1"}],
        "allowModels": ["anthropic/*"],
        "defaultModel": "anthropic/claude-sonnet-4.5",
        "apiKeyEnv": "MY_COMPANYS_KEY",
        "fallbacks": {"large-model-1": ["small-model-1"]},
        "request": {
            "team": "team_0123456789",
            "providerOptions": {"gateway": {"order": ["bedrock", "anthropic"], "only": ["vertex"], "sort": "cost"}},
            "extraBody": {"service_tier": "flex", "verbosity": "medium"},
        },
        "proxy": "http://proxy.example.com:8080",
    }
    assert secrets_of_settings(group) == set()


def test_a_group_of_an_unknown_protocol_has_its_secrets_known():
    assert secrets_of_settings({"protocol": "telepathy", "apiKey": "sk-planted"}) == {"sk-planted"}
    assert secrets_of_settings({"protocol": ["sk-planted-in-vain"], "headers": "Bearer sk-planted"}) == {
        "Bearer sk-planted",
        "sk-planted",
    }


def test_every_row_says_what_of_it_is_secret_in_every_table():
    for protocol, name in (("openresponses", "extraBody"), ("ai-gateway", "providerOptions")):
        contents = settings_of(protocol)["modelRequests"].contents
        assert contents is not None
        assert {row.name: row.secrecy for row in contents.rows}[name] is Secrecy.BODY
