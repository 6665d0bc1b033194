"""Settings of requests: read from JSON for an upstream and for single models, with a sentence for each wrong one."""

from dataclasses import fields
from datetime import date
from typing import Any

import pytest

from partstream.conversation.preparation import Continuation, CountTokens, RequestSettings, SystemAs, ToolImages
from partstream.protocols.ag_ui.write_request import AGUISettings, Thread
from partstream.protocols.ai_gateway.models import AIGatewaySettings, ContextManagement
from partstream.protocols.anthropic_messages.models import (
    AnthropicMessagesSettings,
    ContextEditing,
    KeyHeader,
    LateSystem,
    Platform,
    PromptCache,
    ThinkingAs,
    ThinkingDisplay,
)
from partstream.protocols.chat_completions.models import (
    CacheControl,
    ChatCompletionsSettings,
    EffortAs,
    EmptyContent,
    MaxTokensField,
    ReasoningBack,
)
from partstream.protocols.gemini.models import GeminiSettings, ToolSchemas
from partstream.protocols.gemini_interactions.write_request import InteractionsSettings
from partstream.protocols.ollama.models import OllamaSettings
from partstream.protocols.openresponses.write_request import EncryptedReasoning, OpenResponsesSettings, Truncation
from partstream.protocols.protocol import asked_protocols
from partstream.settings.kinds import ConfigurationError
from partstream.upstream.configuration import GatewayConfiguration, own_settings_of, upstream_rows
from rows import one_test_for
from upstream_settings import gateway_of

URL = "http://127.0.0.1/v1"
ALL = {
    "systemAs": "developer",
    "toolImages": "native",
    "continuation": "on",
    "store": True,
    "contextSizeField": "num_ctx",
    "countTokens": "upstream",
    "extraBody": {"service_tier": "flex", "prompt_cache_key": None},
    "extraHeaders": {"x-team": "blue"},
}
OWN = {
    "openresponses": {"encryptedReasoning": "off", "truncation": "auto", "compactAt": 90_000},
    "ai-gateway": {
        "specificationVersion": 3,
        "providerOptions": {"gateway": {"order": ["bedrock"], "zeroDataRetention": True}},
        "contextManagement": "on",
        "team": "acme",
    },
    "chat-completions": {
        "server": "vllm",
        "maxTokensField": "max_completion_tokens",
        "effortAs": "enable_thinking",
        "reasoningBack": "reasoning",
        "emptyContent": "text",
        "cacheControl": "on",
    },
    "anthropic-messages": {
        "messagesServer": "ollama",
        "thinkingAs": "enabled",
        "thinkingTokens": 2048,
        "thinkingDisplay": "omitted",
        "promptCache": "1h",
        "contextEditing": "on",
        "clearResultsAt": 50_000,
        "summarizeAt": 150_000,
        "lateSystem": "join",
        "betas": ["files-api-2025-04-14"],
        "keyHeader": "bearer",
        "platform": "vertex",
    },
    "gemini": {
        "includeThoughts": False,
        "toolSchemas": "openapi",
        "validatesCalls": True,
        "serverTools": ["googleSearch"],
        "mostFileMegabytes": 100,
    },
    "gemini-interactions": {
        "includeThoughts": False,
        "validatesCalls": True,
        "serverTools": ["googleSearch"],
        "mostFileMegabytes": 100,
    },
    "ollama": {"numCtx": 65_536, "keepAlive": "30m", "truncate": True, "shift": True},
    "ag-ui": {"agentPath": "/agents/{model}", "thread": "conversation"},
}
READ = {
    "openresponses": OpenResponsesSettings(
        encrypted_reasoning=EncryptedReasoning.OFF, truncation=Truncation.AUTO, compact_at=90_000
    ),
    "ai-gateway": AIGatewaySettings(
        specification_version=3,
        provider_options={"gateway": {"order": ["bedrock"], "zeroDataRetention": True}},
        context_management=ContextManagement(is_on=True),
        team="acme",
    ),
    "chat-completions": ChatCompletionsSettings(
        server="vllm",
        max_tokens_field=MaxTokensField.MAX_COMPLETION_TOKENS,
        effort_as=EffortAs.ENABLE_THINKING,
        reasoning_back=ReasoningBack.REASONING,
        empty_content=EmptyContent.TEXT,
        cache_control=CacheControl.ON,
    ),
    "anthropic-messages": AnthropicMessagesSettings(
        messages_server="ollama",
        thinking_as=ThinkingAs.ENABLED,
        thinking_tokens=2048,
        thinking_display=ThinkingDisplay.OMITTED,
        prompt_cache=PromptCache.ONE_HOUR,
        context_editing=ContextEditing.ON,
        clear_results_at=50_000,
        summarize_at=150_000,
        late_system=LateSystem.JOIN,
        betas=("files-api-2025-04-14",),
        key_header=KeyHeader.BEARER,
        platform=Platform.VERTEX,
    ),
    "gemini": GeminiSettings(
        include_thoughts=False,
        tool_schemas=ToolSchemas.OPENAPI,
        validates_calls=True,
        server_tools=("googleSearch",),
        most_file_megabytes=100,
    ),
    "gemini-interactions": InteractionsSettings(
        include_thoughts=False, validates_calls=True, server_tools=("googleSearch",), most_file_megabytes=100
    ),
    "ollama": OllamaSettings(num_ctx=65_536, keep_alive="30m", truncate=True, shift=True),
    "ag-ui": AGUISettings(agent_path="/agents/{model}", thread=Thread.CONVERSATION),
}


def read(request: Any, protocol: str = "openresponses") -> RequestSettings:
    return gateway_of({"baseUrl": URL, "protocol": protocol, "request": request}).request


@pytest.mark.parametrize("protocol", asked_protocols())
def test_every_setting_has_its_field_and_every_field_its_setting(protocol: str):
    contents = upstream_rows(protocol)["request"].contents
    assert contents is not None
    assert {row.name for row in contents.rows} == {*ALL, *OWN[protocol]}
    own = own_settings_of(protocol)
    assert own is not None
    common = {field.name for field in fields(RequestSettings)} - {"own", "max_output_tokens", "capabilities"}
    assert {row.path for row in contents.rows} == common | {f"own.{field.name}" for field in fields(own.kind)}
    assert read({**ALL, **OWN[protocol]}, protocol) == RequestSettings(
        system_as=SystemAs.DEVELOPER,
        tool_images=ToolImages.NATIVE,
        continuation=Continuation.ON,
        count_tokens=CountTokens.UPSTREAM,
        store=True,
        context_size_field="num_ctx",
        extra_body={"service_tier": "flex", "prompt_cache_key": None},
        extra_headers={"x-team": "blue"},
        own=READ[protocol],
    )


def test_a_model_keeps_the_settings_of_the_protocol_that_it_does_not_set_itself():
    configuration = gateway_of(
        {
            "baseUrl": URL,
            "request": {"truncation": "auto", "compactAt": 90_000},
            "modelRequests": {"large": {"compactAt": 200_000}},
        }
    )
    large = configuration.request_settings("large").own_settings(OpenResponsesSettings)
    assert (large.truncation, large.compact_at) == (Truncation.AUTO, 200_000)
    assert configuration.request_settings("small").own_settings(OpenResponsesSettings).compact_at == 90_000
    assert RequestSettings().own_settings(OpenResponsesSettings) == OpenResponsesSettings()


def test_a_model_has_the_settings_of_its_upstream_but_for_its_own():
    configuration = gateway_of(
        {
            "baseUrl": URL,
            "modelRequests": {"large": {"toolImages": "native"}},
            "request": {"systemAs": "developer"},
        }
    )
    assert configuration.request_settings("small") == RequestSettings(system_as=SystemAs.DEVELOPER)
    large = RequestSettings(system_as=SystemAs.DEVELOPER, tool_images=ToolImages.NATIVE)
    assert configuration.request_settings("large") == large
    assert gateway_of({"baseUrl": URL}).request_settings("small") == RequestSettings()


WRONG: dict[str, tuple[dict[str, Any], str]] = {
    "no object": ({"request": "on"}, "request"),
    "an unknown setting": ({"request": {"temperature": 1}}, "request.temperature"),
    "an unknown value": ({"request": {"continuation": "always"}}, "request.continuation"),
    "a value of another type": ({"request": {"systemAs": ["system"]}}, "request.systemAs"),
    "a word for a switch": ({"request": {"store": "yes"}}, "request.store"),
    "the request itself": ({"request": {"extraBody": {"input": []}}}, "request.extraBody.input"),
    "a number without end": ({"request": {"extraBody": {"a": {"b": [float("inf")]}}}}, "request.extraBody.a"),
    "a date of TOML": ({"request": {"extraBody": {"since": date(2026, 1, 1)}}}, "request.extraBody.since"),
    "a limit without end": ({"maxOutputTokens": 10**400}, "maxOutputTokens"),
    "a limit of 64 bits": ({"models": [{"id": "m", "contextWindow": 2**63}]}, "models[0].contextWindow"),
    "seconds of hundreds of digits": ({"timeouts": {"idle": 10**400}}, "timeouts.idle"),
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


@one_test_for(
    ("has_place", "has_none", "name"),
    [
        (protocol, other, name)
        for protocol, settings in OWN.items()
        for other in OWN
        if other != protocol
        for name in settings
        if name not in OWN[other]  # Google's two protocols share most of theirs
    ],
)
def test_what_a_protocol_has_no_place_for_is_refused_and_not_ignored(has_place: str, has_none: str, name: str):
    request = {name: OWN[has_place][name]}
    for settings, where in (({"request": request}, "request"), ({"modelRequests": {"m": request}}, "modelRequests.m")):
        with pytest.raises(ConfigurationError, match="this protocol has no place for") as caught:
            gateway_of({"baseUrl": URL, "protocol": has_none, **settings})
        assert caught.value.where == f"{where}.{name}"
        assert has_place in str(caught.value)
        gateway_of({"baseUrl": URL, "protocol": has_place, **settings})
    with pytest.raises(ConfigurationError, match="this protocol has no place for"):
        GatewayConfiguration(URL, protocol=has_none, request=RequestSettings(own=READ[has_place]))


@one_test_for(("settings", "where"), WRONG.values(), ids=WRONG)
def test_a_wrong_setting_is_refused_with_its_place_and_what_could_stand_there(settings: dict[str, Any], where: str):
    with pytest.raises(ConfigurationError) as caught:
        gateway_of({"baseUrl": URL, "protocol": _protocol_of(where), **settings})
    assert caught.value.where == where
    assert caught.value.expected


def _protocol_of(where: str) -> str:
    name = where.split(".")[1] if "." in where else ""
    return next((protocol for protocol, settings in OWN.items() if name in settings), "openresponses")


def test_the_allowed_values_are_named():
    with pytest.raises(ConfigurationError, match="one of auto, on, off"):
        read({"continuation": "maybe"})


HOLDING = [
    ("openresponses", "input"),
    ("openresponses", "stream"),
    ("ai-gateway", "prompt"),
    ("chat-completions", "messages"),
]


@pytest.mark.parametrize(("protocol", "name"), HOLDING)
def test_a_program_cannot_replace_the_request_either(protocol: str, name: str):
    settings = RequestSettings(extra_body={name: False})
    for changes in ({"request": settings}, {"model_requests": {"m": settings}}):
        with pytest.raises(ConfigurationError, match=rf"extraBody\.{name}: got a field that holds the request itself"):
            GatewayConfiguration(URL, protocol=protocol, **changes)
