"""Which place wins, what is refused and where, and that no key goes to another's server."""

from itertools import combinations
from typing import Any

import pytest

from partstream.configuration.places import Given, Layer, Place
from partstream.configuration.resolution import Resolved, resolve
from partstream.upstreams import ConfigurationError

PLACES = [place for place in Place if place is not Place.DEFAULT]
URL = "https://api.example.com/v1"
OTHER_URL = "https://other.example.com/v1"


def layer(place: Place, **settings: Any) -> Layer:
    return Layer(place, {name: Given(value, f"{place.name}: {name}") for name, value in settings.items()})


def values(resolved: Resolved) -> dict[str, Any]:
    return {name: value.value for name, value in resolved.values.items()}


@pytest.mark.parametrize(("stronger", "weaker"), [*combinations(PLACES, 2)])
def test_the_stronger_place_wins_whatever_the_order_of_reading(stronger: Place, weaker: Place):
    layers = [layer(weaker, proxy="http://weak:1"), layer(stronger, proxy="http://strong:1")]
    for given in (layers, layers[::-1]):
        value = resolve(given).values["proxy"]
        assert (value.value, value.place, value.where) == ("http://strong:1", stronger, f"{stronger.name}: proxy")


def test_the_order_of_places_is_the_documented_one():
    assert [str(place) for place in Place] == [
        "command line",
        "VS Code group",
        "VS Code settings",
        "environment",
        "partstream.toml",
        "default",
    ]


def test_what_nobody_sets_is_not_among_the_values():
    assert values(resolve([layer(Place.FILE, baseUrl=URL)])) == {"baseUrl": URL}


STRANGERS = {
    "the file's key and a group's URL": (layer(Place.GROUP, baseUrl=URL), layer(Place.FILE, apiKey="k")),
    "the file's key, for another URL": (
        layer(Place.GROUP, baseUrl=URL),
        layer(Place.FILE, apiKey="k", baseUrl=OTHER_URL),
    ),
    "the environment's key and a group's URL": (layer(Place.GROUP, baseUrl=URL), layer(Place.ENVIRONMENT, apiKey="k")),
    "the file's key and the environment's URL": (
        layer(Place.ENVIRONMENT, baseUrl=URL),
        layer(Place.FILE, apiKey="k", baseUrl=OTHER_URL),
    ),
    "the file's key and the command line's URL": (
        layer(Place.COMMAND_LINE, baseUrl=URL),
        layer(Place.FILE, apiKey="k", baseUrl=OTHER_URL),
    ),
    "the environment's key for another URL than the command line's": (
        layer(Place.COMMAND_LINE, baseUrl=URL),
        layer(Place.ENVIRONMENT, apiKey="k", baseUrl=OTHER_URL),
    ),
}


@pytest.mark.parametrize("layers", STRANGERS.values(), ids=STRANGERS)
def test_a_key_never_goes_to_another_server_than_the_one_it_stands_beside(layers: tuple[Layer, ...]):
    resolved = resolve(layers)
    assert values(resolved) == {"baseUrl": URL}
    assert any("apiKey" in note and "is not used" in note for note in resolved.notes)
    assert not any("'k'" in note for note in resolved.notes)


FRIENDS = {
    "the same place": (layer(Place.FILE, baseUrl=URL, apiKey="k"),),
    "a stronger place": (layer(Place.FILE, baseUrl=URL), layer(Place.ENVIRONMENT, apiKey="k")),
    "the same URL": (layer(Place.GROUP, baseUrl=URL), layer(Place.FILE, baseUrl=URL, apiKey="k")),
    "the shell of the command line": (layer(Place.COMMAND_LINE, baseUrl=URL), layer(Place.ENVIRONMENT, apiKey="k")),
}


@pytest.mark.parametrize("layers", FRIENDS.values(), ids=FRIENDS)
def test_a_key_goes_to_the_server_of(layers: tuple[Layer, ...]):
    resolved = resolve(layers)
    assert values(resolved) == {"baseUrl": URL, "apiKey": "k"}
    assert resolved.notes == ()


def test_what_belongs_to_no_upstream_comes_from_anywhere():
    resolved = resolve([layer(Place.GROUP, baseUrl=URL), layer(Place.FILE, timeouts={"idle": 5}, models=["m"])])
    assert values(resolved) == {"baseUrl": URL, "timeouts": {"idle": 5}}


def test_a_stronger_source_of_the_key_replaces_a_weaker_one_whole():
    resolved = resolve(
        [layer(Place.FILE, baseUrl=URL, apiKeyFile="/key", apiKeyLifetime=9), layer(Place.ENVIRONMENT, apiKeyEnv="X")]
    )
    assert values(resolved) == {"baseUrl": URL, "apiKeyEnv": "X"}


REFUSED = {
    "an unknown setting": ({"baseURL": URL}, "baseURL", "one of baseUrl, protocol"),
    "a wrong type": ({"models": "m"}, "models", "a list of models"),
    "a wrong word": ({"protocol": "x"}, "protocol", "one of openresponses"),
    "a wrong word inside": ({"request": {"systemAs": "x"}}, "request.systemAs", "one of instructions, developer"),
    "an unknown setting inside": ({"timeouts": {"read": 1}}, "timeouts.read", "one of connect, firstEvent"),
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
    "an unknown word for Vercel": ({"vercelOidc": {"name": "x"}}, "vercelOidc.name", "one of project, team"),
    "a key that is a list": ({"apiKey": ["sk-planted"]}, "apiKey", "a string"),
}


@pytest.mark.parametrize(("settings", "where", "expected"), REFUSED.values(), ids=REFUSED)
@pytest.mark.parametrize("place", [Place.GROUP, Place.FILE])
def test_what_is_of_no_use_is_refused_with_its_place_and_what_could_stand_there(
    place: Place, settings: dict[str, Any], where: str, expected: str
):
    # Also when another place is stronger: a typo shall not wait until it matters.
    with pytest.raises(ConfigurationError) as raised:
        resolve([layer(place, **settings), layer(Place.COMMAND_LINE, baseUrl=URL)])
    assert raised.value.where == f"{place.name}: {where}"
    assert expected in raised.value.expected
    assert "sk-planted" not in str(raised.value)
