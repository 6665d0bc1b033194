"""Settings of requests: read from JSON for an upstream and for single models, with a sentence for each wrong one."""

from dataclasses import fields
from typing import Any

import pytest

from partstream.conversation.context_management import ContextManagement
from partstream.conversation.settings import (
    Continuation,
    CountTokens,
    EncryptedReasoning,
    RequestSettings,
    SystemAs,
    ToolImages,
    Truncation,
)
from partstream.errors import CallerError
from partstream.upstreams import ConfigurationError, GatewayConfiguration
from partstream.upstreams.request_settings import REQUEST_SETTINGS, read_request_settings

URL = "http://127.0.0.1/v1"
ALL = {
    "systemAs": "developer",
    "toolImages": "native",
    "continuation": "on",
    "store": True,
    "encryptedReasoning": "off",
    "contextSizeField": "num_ctx",
    "specificationVersion": 3,
    "providerOptions": {"gateway": {"order": ["bedrock"], "zeroDataRetention": True}},
    "contextManagement": "on",
    "truncation": "auto",
    "compactAt": 90_000,
    "countTokens": "upstream",
    "team": "acme",
    "extraBody": {"service_tier": "flex", "prompt_cache_key": None},
    "extraHeaders": {"x-team": "blue"},
}


def test_every_setting_has_its_field_and_every_field_its_setting():
    assert {name for name, _ in REQUEST_SETTINGS.values()} == {field.name for field in fields(RequestSettings)}
    assert read_request_settings(ALL, "request") == RequestSettings(
        system_as=SystemAs.DEVELOPER,
        tool_images=ToolImages.NATIVE,
        continuation=Continuation.ON,
        context_management=ContextManagement(is_on=True),
        truncation=Truncation.AUTO,
        compact_at=90_000,
        count_tokens=CountTokens.UPSTREAM,
        store=True,
        encrypted_reasoning=EncryptedReasoning.OFF,
        context_size_field="num_ctx",
        specification_version=3,
        provider_options={"gateway": {"order": ["bedrock"], "zeroDataRetention": True}},
        team="acme",
        extra_body={"service_tier": "flex", "prompt_cache_key": None},
        extra_headers={"x-team": "blue"},
    )


def test_a_model_has_the_settings_of_its_upstream_but_for_its_own():
    configuration = GatewayConfiguration.from_json(
        {
            "baseUrl": URL,
            "modelRequests": {"large": {"toolImages": "native"}},
            "request": {"systemAs": "developer"},
        }
    )
    assert configuration.request_settings("small") == RequestSettings(system_as=SystemAs.DEVELOPER)
    large = RequestSettings(system_as=SystemAs.DEVELOPER, tool_images=ToolImages.NATIVE)
    assert configuration.request_settings("large") == large
    assert GatewayConfiguration.from_json({"baseUrl": URL}).request_settings("small") == RequestSettings()


WRONG: dict[str, tuple[dict[str, Any], str]] = {
    "no object": ({"request": "on"}, "request"),
    "an unknown setting": ({"request": {"temperature": 1}}, "request.temperature"),
    "an unknown value": ({"request": {"continuation": "always"}}, "request.continuation"),
    "a value of another type": ({"request": {"systemAs": ["system"]}}, "request.systemAs"),
    "a word for a switch": ({"request": {"store": "yes"}}, "request.store"),
    "the request itself": ({"request": {"extraBody": {"input": []}}}, "request.extraBody.input"),
    "a version that there is not": ({"request": {"specificationVersion": 5}}, "request.specificationVersion"),
    "a version as a text": ({"request": {"specificationVersion": "3"}}, "request.specificationVersion"),
    "a version as a switch": ({"request": {"specificationVersion": True}}, "request.specificationVersion"),
    "provider options as a list": ({"request": {"providerOptions": ["gateway"]}}, "request.providerOptions"),
    "options of a provider as a list": (
        {"request": {"providerOptions": {"gateway": ["bedrock"]}}},
        "request.providerOptions.gateway",
    ),
    "a team that no header holds": ({"request": {"team": "a\nb"}}, "request.team"),
    "no team": ({"request": {"team": ""}}, "request.team"),
    "a header that is none": ({"request": {"extraHeaders": {"x": "a\nb"}}}, "request.extraHeaders.x"),
    "a model": ({"modelRequests": {"m": {"store": 1}}}, "modelRequests.m.store"),
    "a header of a model": ({"modelRequests": {"m": {"extraHeaders": {"x": "ö"}}}}, "modelRequests.m.extraHeaders.x"),
    "models as a list": ({"modelRequests": ["m"]}, "modelRequests"),
}


PLACES = {
    "specificationVersion": ("ai-gateway", "openresponses"),
    "providerOptions": ("ai-gateway", "openresponses"),
    "contextManagement": ("ai-gateway", "openresponses"),
    "team": ("ai-gateway", "openresponses"),
    "truncation": ("openresponses", "ai-gateway"),
    "compactAt": ("openresponses", "ai-gateway"),
}


@pytest.mark.parametrize("name", PLACES)
def test_what_a_protocol_has_no_place_for_is_refused_and_not_ignored(name: str):
    has_place, has_none = PLACES[name]
    request = {name: ALL[name]}
    for settings, where in (({"request": request}, "request"), ({"modelRequests": {"m": request}}, "modelRequests.m")):
        with pytest.raises(ConfigurationError, match="this protocol has no place for") as caught:
            GatewayConfiguration.from_json({"baseUrl": URL, "protocol": has_none, **settings})
        assert caught.value.where == f"{where}.{name}"
        GatewayConfiguration.from_json({"baseUrl": URL, "protocol": has_place, **settings})


@pytest.mark.parametrize(("settings", "where"), WRONG.values(), ids=WRONG)
def test_a_wrong_setting_is_refused_with_its_place_and_what_could_stand_there(settings: dict[str, Any], where: str):
    with pytest.raises(ConfigurationError) as caught:
        GatewayConfiguration.from_json({"baseUrl": URL, **settings})
    assert caught.value.where == where
    assert caught.value.expected


def test_the_allowed_values_are_named():
    with pytest.raises(ConfigurationError, match="one of auto, on, off"):
        read_request_settings({"continuation": "maybe"}, "request")


def test_a_program_cannot_replace_the_request_either():
    with pytest.raises(CallerError, match="stream"):
        RequestSettings(extra_body={"stream": False})
