"""Settings: what is read from a group, and which sentence answers each wrong one."""

import pytest

from partstream.settings.kinds import ConfigurationError
from partstream.upstream.configuration import GatewayConfiguration, RetryPolicy, Timeouts
from partstream.upstream.endpoint import Secret
from partstream.upstream.model_information import ModelOverride
from rows import one_test_for
from upstream_settings import gateway_of

URL = "https://api.example.com/v1"
KEY = "sk-planted"


def test_a_url_alone_is_enough():
    configuration = gateway_of({"baseUrl": URL})
    assert configuration == GatewayConfiguration(URL)
    assert (configuration.models, configuration.api_key, configuration.headers) == ((), None, {})
    assert (configuration.timeouts, configuration.retry) == (Timeouts(), RetryPolicy())


def test_every_setting_has_its_field():
    configuration = gateway_of(
        {
            "baseUrl": URL,
            "protocol": "openresponses",
            "apiKey": KEY,
            "headers": {"x-team": "blue"},
            "models": [
                "small",
                {
                    "id": "large",
                    "name": "Large",
                    "family": "big",
                    "version": "2",
                    "maxInputTokens": 1000,
                    "maxOutputTokens": 100,
                    "imageInput": True,
                    "toolCalling": False,
                },
            ],
        }
    )
    assert configuration.api_key == Secret(KEY)
    assert configuration.headers == {"x-team": "blue"}
    assert configuration.selection.overrides == {
        "small": ModelOverride(),
        "large": ModelOverride(
            name="Large",
            family="big",
            version="2",
            max_input_tokens=1000,
            max_output_tokens=100,
            image_input=True,
            tool_calling=False,
        ),
    }


def test_empty_settings_count_as_left_out():
    settings = {"baseUrl": URL, "protocol": "", "apiKey": "", "headers": None, "models": None}
    assert gateway_of(settings) == GatewayConfiguration(URL)


WRONG = {
    "no URL": ({"apiKey": KEY}, "baseUrl"),
    "an empty URL": ({"baseUrl": ""}, "baseUrl"),
    "a URL of null": ({"baseUrl": None}, "baseUrl"),
    "a number for a URL": ({"baseUrl": 8080}, "baseUrl"),
    "a word": ({"baseUrl": "nonsense"}, "baseUrl"),
    "another scheme": ({"baseUrl": "ftp://api.example.com"}, "baseUrl"),
    "no host": ({"baseUrl": "https:///v1"}, "baseUrl"),
    "an open bracket": ({"baseUrl": "http://[::1/v1"}, "baseUrl"),
    "a port of words": ({"baseUrl": "http://host:port/v1"}, "baseUrl"),
    "a port too large": ({"baseUrl": "http://host:70000/v1"}, "baseUrl"),
    "a host that no name can be": ({"baseUrl": "https://\U0001f600/v1"}, "baseUrl"),
    "an address of a number too large": ({"baseUrl": "https://999.1.1.1/v1"}, "baseUrl"),
    "a line break in the URL": ({"baseUrl": "http://host/v1\n"}, "baseUrl"),
    "an unknown protocol": ({"baseUrl": URL, "protocol": "telepathy"}, "protocol"),
    "an unknown setting": ({"baseUrl": URL, "apikey": KEY}, "apikey"),
    "a key that is a list": ({"baseUrl": URL, "apiKey": [KEY]}, "apiKey"),
    "a key with a line break": ({"baseUrl": URL, "apiKey": f"{KEY}\n"}, "apiKey"),
    "a key with an umlaut": ({"baseUrl": URL, "apiKey": f"{KEY}ü"}, "apiKey"),
    "headers that are a list": ({"baseUrl": URL, "headers": [KEY]}, "headers"),
    "a header that is a number": ({"baseUrl": URL, "headers": {"x-a": 1}}, "headers.x-a"),
    "a header with a line break": ({"baseUrl": URL, "headers": {"x-a": f"{KEY}\r\nx-b: 1"}}, "headers.x-a"),
    "a header without a name": ({"baseUrl": URL, "headers": {"": KEY}}, "headers.''"),
    "a header name with a blank": ({"baseUrl": URL, "headers": {"x a": KEY}}, "headers.'x a'"),
    "models that are one": ({"baseUrl": URL, "models": "small"}, "models"),
    "a model that is a number": ({"baseUrl": URL, "models": ["small", 4]}, "models[1]"),
    "a model without an id": ({"baseUrl": URL, "models": [{"name": "Small"}]}, "models[0].id"),
    "a model with an empty id": ({"baseUrl": URL, "models": [""]}, "models[0].id"),
    "an unknown field of a model": ({"baseUrl": URL, "models": [{"id": "a", "size": 4}]}, "models[0].size"),
    "no tokens": ({"baseUrl": URL, "models": [{"id": "a", "maxInputTokens": 0}]}, "models[0].maxInputTokens"),
    "tokens that are true": (
        {"baseUrl": URL, "models": [{"id": "a", "maxInputTokens": True}]},
        "models[0].maxInputTokens",
    ),
    "yes for tools": ({"baseUrl": URL, "models": [{"id": "a", "toolCalling": "yes"}]}, "models[0].toolCalling"),
}


@one_test_for(("settings", "where"), WRONG.values(), ids=WRONG)
def test_a_wrong_setting_is_named_with_what_could_stand_there_and_no_key(settings: dict, where: str):
    with pytest.raises(ConfigurationError) as caught:
        gateway_of(settings)
    assert caught.value.where == where
    assert caught.value.expected
    assert KEY not in str(caught.value)


@pytest.mark.parametrize("scheme", ["https", "ftp", "nonsense"])
def test_a_password_in_the_url_is_refused_and_not_repeated(scheme: str):
    with pytest.raises(ConfigurationError, match="user name or password") as caught:
        GatewayConfiguration(f"{scheme}://user:hunter2@api.example.com/v1")
    assert "hunter2" not in str(caught.value)


URLS_MEANT = {
    " https://models.example.com/v1\n": "https://models.example.com/v1",
    "http://localhost:1234 /v1": "http://localhost:1234/v1",
    f"https://models.example.com/v1?k={KEY} ": "https://models.example.com/v1?k=***",
    "": "https://host/v1",
    "nonsense": "https://host/v1",
    KEY: "https://host/v1",
    f"{KEY}.part": "https://host/v1",
    "http:/localhost": "https://host/v1",
}


@pytest.mark.parametrize(("given", "meant"), URLS_MEANT.items())
def test_a_base_url_of_no_use_is_answered_with_the_url_to_use(given: str, meant: str):
    with pytest.raises(ConfigurationError) as caught:
        GatewayConfiguration(given)
    assert caught.value.expected == f"an http or https URL such as {meant}"
    assert KEY not in str(caught.value)


def test_a_base_url_without_a_scheme_is_the_same_upstream_as_one_with_it():
    made = (GatewayConfiguration("127.0.0.1:1234/v1"), gateway_of({"baseUrl": "127.0.0.1:1234/v1"}))
    assert {one.base_url for one in made} == {"http://127.0.0.1:1234/v1"}


PLAIN = {
    "no key": ({}, "prompts and answers would be readable"),
    "a key": ({"api_key": Secret(KEY)}, "prompts, answers and the key would be readable"),
    "a header": ({"headers": {"x-key": KEY}}, "prompts, answers and the key would be readable"),
}


@pytest.mark.parametrize(("settings", "says"), PLAIN.values(), ids=PLAIN)
def test_plain_http_to_another_machine_is_refused_with_what_allows_it(settings: dict, says: str):
    with pytest.raises(ConfigurationError) as caught:
        GatewayConfiguration("http://192.168.1.10:8000/v1", **settings)
    assert f"refusing plain HTTP to 192.168.1.10:8000: {says} on the network" in str(caught.value)
    assert str(caught.value).endswith("use https://, or allow plain HTTP by the setting allowInsecureHttp")
    GatewayConfiguration("http://192.168.1.10:8000/v1", allow_insecure_http=True, **settings)


@pytest.mark.parametrize("name", ["api_key", "headers"])
def test_what_no_header_can_hold_is_refused_however_the_configuration_is_made(name: str):
    value = {"api_key": Secret(f"{KEY}\n"), "headers": {"x-key": f"{KEY}\n"}}[name]
    with pytest.raises(ConfigurationError) as caught:
        GatewayConfiguration(URL, **{name: value})
    assert KEY not in str(caught.value)


def test_an_at_sign_in_the_path_is_no_password():
    assert GatewayConfiguration("https://host/accounts/@me/v1").base_url == "https://host/accounts/@me/v1"
