"""Which place wins, what is refused and where, and that no key goes to another's server."""

from itertools import combinations
from typing import Any

import pytest

from partstream.config.table import Layer, RawValue, Resolved, resolve
from partstream.settings.kinds import ConfigurationError, UnknownSettingError
from partstream.settings.row import SettingSource
from partstream.upstream.configuration import Timeouts
from rows import one_test_for

PLACES = [place for place in SettingSource if place is not SettingSource.DEFAULT]
URL = "https://api.example.com/v1"
OTHER_URL = "https://other.example.com/v1"


def layer(place: SettingSource, **settings: Any) -> Layer:
    return Layer(place, {name: RawValue(value, f"{place.name}: {name}") for name, value in settings.items()})


def values(resolved: Resolved) -> dict[str, Any]:
    return {name: value.given for name, value in resolved.values.items()}


@one_test_for(("stronger", "weaker"), [*combinations(PLACES, 2)])
def test_the_stronger_place_wins_whatever_the_order_of_reading(stronger: SettingSource, weaker: SettingSource):
    layers = [layer(weaker, proxy="http://weak:1"), layer(stronger, proxy="http://strong:1")]
    for given in (layers, layers[::-1]):
        value = resolve(given).values["proxy"]
        assert (value.value, value.place, value.where) == ("http://strong:1", stronger, f"{stronger.name}: proxy")


def test_the_order_of_places_is_the_documented_one():
    assert [str(place) for place in SettingSource] == [
        "command line",
        "VS Code group",
        "profile",
        "VS Code settings",
        "environment",
        "partstream.toml",
        "default",
    ]


def test_what_nobody_sets_is_not_among_the_values():
    assert values(resolve([layer(SettingSource.FILE, baseUrl=URL)])) == {"baseUrl": URL}


STRANGERS = {
    "the file's key and a group's URL": (
        layer(SettingSource.GROUP, baseUrl=URL),
        layer(SettingSource.FILE, apiKey="k"),
    ),
    "the file's key, for another URL": (
        layer(SettingSource.GROUP, baseUrl=URL),
        layer(SettingSource.FILE, apiKey="k", baseUrl=OTHER_URL),
    ),
    "the environment's key and a group's URL": (
        layer(SettingSource.GROUP, baseUrl=URL),
        layer(SettingSource.ENVIRONMENT, apiKey="k"),
    ),
    "the file's key and the environment's URL": (
        layer(SettingSource.ENVIRONMENT, baseUrl=URL),
        layer(SettingSource.FILE, apiKey="k", baseUrl=OTHER_URL),
    ),
    "the file's key and the command line's URL": (
        layer(SettingSource.COMMAND_LINE, baseUrl=URL),
        layer(SettingSource.FILE, apiKey="k", baseUrl=OTHER_URL),
    ),
    "the environment's key for another URL than the command line's": (
        layer(SettingSource.COMMAND_LINE, baseUrl=URL),
        layer(SettingSource.ENVIRONMENT, apiKey="k", baseUrl=OTHER_URL),
    ),
}


@one_test_for("layers", STRANGERS.values(), ids=STRANGERS)
def test_a_key_never_goes_to_another_server_than_the_one_it_stands_beside(layers: tuple[Layer, ...]):
    resolved = resolve(layers)
    assert values(resolved) == {"baseUrl": URL}
    assert any("apiKey" in note and "is not used" in note for note in resolved.notes)
    assert not any("'k'" in note for note in resolved.notes)


FRIENDS = {
    "the same place": (layer(SettingSource.FILE, baseUrl=URL, apiKey="k"),),
    "a stronger place": (layer(SettingSource.FILE, baseUrl=URL), layer(SettingSource.ENVIRONMENT, apiKey="k")),
    "the same URL": (layer(SettingSource.GROUP, baseUrl=URL), layer(SettingSource.FILE, baseUrl=URL, apiKey="k")),
    "the shell of the command line": (
        layer(SettingSource.COMMAND_LINE, baseUrl=URL),
        layer(SettingSource.ENVIRONMENT, apiKey="k"),
    ),
}


@pytest.mark.parametrize("layers", FRIENDS.values(), ids=FRIENDS)
def test_a_key_goes_to_the_server_of(layers: tuple[Layer, ...]):
    resolved = resolve(layers)
    assert values(resolved) == {"baseUrl": URL, "apiKey": "k"}
    assert resolved.notes == ()


def test_what_belongs_to_no_upstream_comes_from_anywhere():
    resolved = resolve(
        [layer(SettingSource.GROUP, baseUrl=URL), layer(SettingSource.FILE, timeouts={"idle": 5}, models=["m"])]
    )
    assert values(resolved) == {"baseUrl": URL, "timeouts": {"idle": 5}}


def test_a_stronger_source_of_the_key_replaces_a_weaker_one_whole():
    resolved = resolve(
        [
            layer(SettingSource.FILE, baseUrl=URL, apiKeyFile="/key", apiKeyLifetime=9),
            layer(SettingSource.ENVIRONMENT, apiKeyEnv="X"),
        ]
    )
    assert values(resolved) == {"baseUrl": URL, "apiKeyEnv": "X"}


REFUSED = {
    "a wrong type": ({"models": "m"}, "models", "a list of models"),
    "a wrong word": ({"protocol": "x"}, "protocol", "one of auto, openresponses"),
    "a wrong word inside": ({"request": {"systemAs": "x"}}, "request.systemAs", "one of instructions, developer"),
    "no time": ({"timeouts": {"idle": 0}}, "timeouts.idle", "a number of seconds"),
    "no attempts": ({"retry": {"attempts": 0}}, "retry.attempts", "a whole number from 1"),
    "a proxy that is none": ({"proxy": "socks://p"}, "proxy", "an http or https URL"),
    "a model that falls back on itself": ({"fallbacks": {"m": ["m"]}}, "fallbacks.m", "other models"),
    "a command for a shell": ({"apiKeyCommand": "op read x"}, "apiKeyCommand", "a list of a program"),
    "an empty command": ({"apiKeyCommand": []}, "apiKeyCommand", "a list of a program"),
    "a relative file": ({"apiKeyFile": "key.txt"}, "apiKeyFile", "an absolute path"),
    "a keyring without a user": ({"apiKeyKeyring": "service"}, "apiKeyKeyring", "service/user"),
    "a variable that is none": ({"apiKeyEnv": "a b"}, "apiKeyEnv", "the name of an environment variable"),
    "two keys": ({"apiKeyEnv": "A", "apiKeyFile": "/k"}, "apiKeyFile", "one of them"),
    "a lifetime of nothing": ({"apiKeyLifetime": 60}, "apiKeyLifetime", "a source of the key"),
    "a lifetime of no time": ({"apiKeyEnv": "A", "apiKeyLifetime": 0}, "apiKeyLifetime", "a number of seconds"),
    "a project that is a number": ({"vercelOidc": {"project": 5}}, "vercelOidc.project", "a string"),
    "a key that is a list": ({"apiKey": ["sk-planted"]}, "apiKey", "a string"),
}


@one_test_for(("settings", "where", "expected"), REFUSED.values(), ids=REFUSED)
@one_test_for("place", [SettingSource.GROUP, SettingSource.FILE])
def test_what_is_of_no_use_is_refused_with_its_place_and_what_could_stand_there(
    place: SettingSource, settings: dict[str, Any], where: str, expected: str
):
    # Also when another place is stronger: a typo shall not wait until it matters.
    with pytest.raises(ConfigurationError) as raised:
        resolve([layer(place, **settings), layer(SettingSource.COMMAND_LINE, baseUrl=URL)])
    assert raised.value.where == f"{place.name}: {where}"
    assert expected in raised.value.expected
    assert "sk-planted" not in str(raised.value)


UNKNOWN = {
    "at the top": ({"baseURL": URL}, "baseURL", "baseUrl"),
    "in Python's spelling": ({"api_key_env": "X"}, "api_key_env", "apiKeyEnv"),
    "within an object": ({"timeouts": {"idel": 1}}, "timeouts.idel", "idle"),
    "within a request": ({"request": {"sytemAs": "system"}}, "request.sytemAs", "systemAs"),
    "within the request of a model": ({"modelRequests": {"m": {"stor": True}}}, "modelRequests.m.stor", "store"),
    "within a model": ({"models": [{"id": "m", "tool_calling": True}]}, "models[0].tool_calling", "toolCalling"),
    "for Vercel": ({"vercelOidc": {"projekt": "x"}}, "vercelOidc.projekt", "project"),
    "like none": ({"temperature": 1}, "temperature", None),
    "of an object beside it": ({"numCtx": 8192}, "numCtx", "request.numCtx"),
}


@one_test_for(("settings", "where", "meant"), UNKNOWN.values(), ids=UNKNOWN)
@one_test_for("place", [SettingSource.COMMAND_LINE, SettingSource.ENVIRONMENT, SettingSource.FILE])
def test_an_unknown_setting_is_refused_with_the_one_that_is_probably_meant(
    place: SettingSource, settings: dict[str, Any], where: str, meant: str | None
):
    with pytest.raises(UnknownSettingError) as raised:
        resolve([layer(place, **settings), layer(SettingSource.GROUP, baseUrl=URL)])
    assert raised.value.where == f"{place.name}: {where}"
    assert raised.value.suggestion == meant
    name = where.rpartition(".")[2]
    assert str(raised.value).startswith(f"unknown setting {name!r} in ")
    assert ("did you mean" in str(raised.value)) is (meant is not None)


@one_test_for(("settings", "where", "meant"), UNKNOWN.values(), ids=UNKNOWN)
def test_in_a_group_it_is_a_warning_and_the_rest_of_the_group_works(
    settings: dict[str, Any], where: str, meant: str | None
):
    resolved = resolve([layer(SettingSource.GROUP, **{"baseUrl": URL, "proxy": "http://proxy:1", **settings})])
    assert (resolved.values["baseUrl"].value, resolved.values["proxy"].value) == (URL, "http://proxy:1")
    [warning] = resolved.warnings
    assert warning.startswith(f"unknown setting {where.rpartition('.')[2]!r} in ")
    assert (f"did you mean {meant!r}?" in warning) is (meant is not None)
    assert resolved.notes == ()


def test_what_else_stands_in_an_object_with_an_unknown_setting_is_in_force():
    resolved = resolve([layer(SettingSource.GROUP, baseUrl=URL, timeouts={"idel": 1, "idle": 5})])
    assert resolved.values["timeouts"].value == Timeouts(idle=5.0)
    assert resolved.warnings == ("unknown setting 'idel' in GROUP: timeouts; did you mean 'idle'?",)


def test_a_setting_of_another_protocol_is_a_warning_in_a_group_and_refused_elsewhere():
    request = {"baseUrl": URL, "protocol": "openresponses", "request": {"team": "acme", "store": True}}
    resolved = resolve([layer(SettingSource.GROUP, **request)])
    assert resolved.values["request"].value == {"store": True}
    assert "ai-gateway" in resolved.warnings[0]
    with pytest.raises(ConfigurationError, match="this protocol has no place for"):
        resolve([layer(SettingSource.FILE, **request)])
    # The protocol may come from another place, as long as that speaks of the same upstream.
    resolved = resolve([layer(SettingSource.ENVIRONMENT, protocol="ai-gateway"), layer(SettingSource.FILE, **request)])
    assert resolved.values["request"].value == {"own": {"team": "acme"}, "store": True}


@pytest.mark.parametrize("protocol", [{}, {"protocol": "auto"}])
def test_while_the_protocol_is_found_out_the_settings_of_all_of_them_are_taken_and_no_others(protocol: dict[str, str]):
    request = {"team": "acme", "compactAt": 9000, "store": True}
    resolved = resolve([layer(SettingSource.FILE, baseUrl=URL, request=request, **protocol)])
    assert resolved.values["request"].value == {"own": {"team": "acme", "compact_at": 9000}, "store": True}
    assert resolved.warnings == ()
    with pytest.raises(UnknownSettingError):
        resolve([layer(SettingSource.FILE, baseUrl=URL, request={"tem": "acme"}, **protocol)])


def test_the_settings_of_another_upstream_are_read_by_its_own_protocol():
    other = layer(SettingSource.FILE, baseUrl=OTHER_URL, protocol="ai-gateway", request={"team": "acme"})
    assert values(resolve([layer(SettingSource.GROUP, baseUrl=URL), other])) == {"baseUrl": URL}
    with pytest.raises(UnknownSettingError):
        resolve(
            [
                layer(SettingSource.GROUP, baseUrl=URL),
                layer(SettingSource.FILE, baseUrl=OTHER_URL, request={"tem": "acme"}),
            ]
        )


MISPLACED = [(SettingSource.COMMAND_LINE, {"apiKey": "sk-planted"}), (SettingSource.FILE, {"provider": "mine.py"})]


@pytest.mark.parametrize(("place", "settings"), MISPLACED)
def test_a_setting_that_cannot_stand_in_a_place_is_refused_there(place: SettingSource, settings: dict[str, Any]):
    with pytest.raises(ConfigurationError, match="is not allowed in") as raised:
        resolve([layer(place, **settings)])
    assert str(SettingSource.GROUP) in raised.value.expected
    assert "sk-planted" not in str(raised.value)


@pytest.mark.parametrize("name", ["apiKeyFile", "apiKeyKeyring", "baseUrl", "proxy"])
def test_a_key_in_the_wrong_setting_is_not_shown(name: str):
    with pytest.raises(ConfigurationError) as raised:
        resolve([layer(SettingSource.GROUP, **{name: "sk-planted"})])
    assert "sk-planted" not in str(raised.value)


def test_an_address_without_a_scheme_gets_one_which_a_note_says_and_still_is_the_same_upstream():
    layers = [
        layer(SettingSource.COMMAND_LINE, baseUrl="127.0.0.1:8421/v1"),
        layer(SettingSource.FILE, baseUrl="http://127.0.0.1:8421/v1", apiKeyEnv="MY_KEY"),
    ]
    resolved = resolve(layers)
    assert values(resolved) == {"baseUrl": "http://127.0.0.1:8421/v1", "apiKeyEnv": "MY_KEY"}
    assert resolved.values["baseUrl"].value == "http://127.0.0.1:8421/v1"
    assert resolved.notes == ("COMMAND_LINE: baseUrl: the address has no scheme, http://127.0.0.1:8421/v1 is used",)


def test_all_mistakes_of_a_place_are_said_and_where_a_field_of_requests_goes():
    with pytest.raises(ConfigurationError) as raised:
        resolve([layer(SettingSource.FILE, temperature=0.5, baseUrl=URL, thinking="loud", protokoll="x")])
    first, second, third = str(raised.value).splitlines()
    assert "unknown setting 'temperature'" in first
    assert "goes into `request.extraBody`" in first
    assert "FILE: thinking" in second
    assert "did you mean 'protocol'?" in third
