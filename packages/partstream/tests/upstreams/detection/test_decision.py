"""What a base URL speaks, by its host and by what was answered below it; and the reason that people read."""

from dataclasses import replace

import pytest

from partstream.codec.json_codec import dumps
from partstream.protocols.ai_gateway import SPOKEN_AT as AI_GATEWAY
from partstream.protocols.chat_completions import SPOKEN_AT as CHAT_COMPLETIONS
from partstream.protocols.errors import COMMON_ERRORS
from partstream.protocols.openresponses import SPOKEN_AT as OPENRESPONSES
from partstream.protocols.protocol import ServerProtocol
from partstream.upstream.detection import (
    CandidateProtocol,
    Presence,
    Round,
    Sign,
    decide,
    decide_by_host,
    is_last,
    joined,
    probed_wires,
)
from partstream.upstream.discovery import FetchResponse
from partstream.upstream.endpoint import base_urls
from rows import one_test_for

RESPONSES = CandidateProtocol("openresponses", "OpenResponses", "/responses", {}, OPENRESPONSES, COMMON_ERRORS)
CHAT = CandidateProtocol(
    "chat-completions", "Chat Completions", "/chat/completions", {}, CHAT_COMPLETIONS, COMMON_ERRORS
)
GATEWAY = CandidateProtocol("ai-gateway", "Vercel AI Gateway", "/language-model", None, AI_GATEWAY, COMMON_ERRORS)
WIRES = (RESPONSES, CHAT, GATEWAY)
ENDPOINTS = [wire.path for wire in WIRES]

THERE, MISSING = Sign(Presence.THERE, "HTTP 400"), Sign(Presence.MISSING, "HTTP 404")
REFUSED, PAGE = Sign(Presence.SILENT, "HTTP 401"), Sign(Presence.NO_API, "HTTP 200, a web page")
DEAD = Sign(Presence.SILENT, "nothing listens at h:1")


def asked(base_url: str, responses: Sign, chat: Sign, models: object = None) -> Round:
    listing = None if models is None else FetchResponse(200, {}, dumps(models))
    return Round(base_url, {"openresponses": responses, "chat-completions": chat}, listing)


def owned_by(name: str) -> dict[str, object]:
    return {"object": "list", "data": [{"id": "m", "owned_by": name}]}


def decided(url: str, *rounds: Round):
    return decide(url, rounds, WIRES)


# ---- by the host ----


@one_test_for(
    ("url", "protocol", "base_url"),
    [
        ("https://api.openai.com/v1", "openresponses", "https://api.openai.com/v1"),
        ("https://api.openai.com", "openresponses", "https://api.openai.com/v1"),
        ("https://api.openai.com/v1/chat/completions", "openresponses", "https://api.openai.com/v1"),
        ("https://eu.api.openai.com/v1/", "openresponses", "https://eu.api.openai.com/v1"),
        ("https://api.x.ai/v1", "openresponses", "https://api.x.ai/v1"),
        ("https://api.deepseek.com", "chat-completions", "https://api.deepseek.com"),
        ("https://api.deepseek.com/chat/completions", "chat-completions", "https://api.deepseek.com"),
        ("https://openrouter.ai", "chat-completions", "https://openrouter.ai/api/v1"),
        ("https://openrouter.ai/api", "chat-completions", "https://openrouter.ai/api/v1"),
        ("https://openrouter.ai/api/v1/responses", "chat-completions", "https://openrouter.ai/api/v1"),
        ("https://api.groq.com/openai", "chat-completions", "https://api.groq.com/openai/v1"),
        ("https://api.mistral.ai/v1", "chat-completions", "https://api.mistral.ai/v1"),
        (
            "https://generativelanguage.googleapis.com/v1beta",
            "chat-completions",
            "https://generativelanguage.googleapis.com/v1beta/openai",
        ),
        ("https://me.openai.azure.com/", "openresponses", "https://me.openai.azure.com/openai/v1"),
        (
            "https://me.openai.azure.com/openai/v1?api-version=preview",
            "openresponses",
            "https://me.openai.azure.com/openai/v1?api-version=preview",
        ),
        ("https://ai-gateway.vercel.sh", "ai-gateway", "https://ai-gateway.vercel.sh/v4/ai"),
        ("https://ai-gateway.vercel.sh/v4/ai", "ai-gateway", "https://ai-gateway.vercel.sh/v4/ai"),
        ("https://ai-gateway.vercel.sh/v1", "openresponses", "https://ai-gateway.vercel.sh/v1"),
        ("https://dashscope.aliyuncs.com/compatible-mode/v1", "chat-completions", None),
        (
            "https://dashscope-us.aliyuncs.com",
            "chat-completions",
            "https://dashscope-us.aliyuncs.com/compatible-mode/v1",
        ),
    ],
)
def test_a_known_host_says_what_it_speaks_and_where(url: str, protocol: str, base_url: str | None):
    found = decide_by_host(url, WIRES)
    assert found is not None
    assert (found.protocol, found.base_url) == (protocol, base_url or url)
    assert found.is_certain


def test_the_reason_names_the_host_and_why_a_better_wire_is_not_used():
    found = decide_by_host("https://openrouter.ai/api/v1", WIRES)
    assert found is not None
    assert found.reason == (
        "openrouter.ai is OpenRouter; OpenResponses is not complete at OpenRouter "
        "(the endpoint is a beta, and may end without its closing event)"
    )
    alone = decide_by_host("https://api.openai.com", WIRES)
    assert alone is not None
    assert alone.reason == "api.openai.com is OpenAI"


@pytest.mark.parametrize(
    "url",
    [
        "http://127.0.0.1:11434/v1",  # a port is no proof
        "https://models.example/v1",
        "https://me.openai.azure.com/openai/deployments/gpt-4o?api-version=2024-10-21",  # not below the base URL
        "https://api.z.ai/api/unheard-of/v4",
        "https://api.cloudflare.com/client/v4/accounts/1/ai/v1",  # known, and nothing is known of its paths
    ],
)
def test_where_the_host_does_not_tell_the_server_is_asked(url: str):
    assert decide_by_host(url, WIRES) is None


# ---- by the answers ----


@pytest.mark.parametrize(
    ("url", "round_", "protocol", "reason"),
    [
        pytest.param(
            "http://h:1/v1",
            asked("http://h:1/v1", THERE, MISSING),
            "openresponses",
            "/v1/responses answers an empty request (HTTP 400); /v1/chat/completions is missing (HTTP 404)",
            id="one",
        ),
        pytest.param(
            "http://h:1/v1",
            asked("http://h:1/v1", MISSING, THERE),
            "chat-completions",
            "/v1/chat/completions answers an empty request (HTTP 400); /v1/responses is missing (HTTP 404)",
            id="the other",
        ),
        pytest.param(
            "http://h:1/v1",
            asked("http://h:1/v1", THERE, THERE),
            "openresponses",
            "/v1/responses answers an empty request (HTTP 400)",
            id="both, and nothing is known of the server",
        ),
        pytest.param(
            "http://h:1/v1",
            asked("http://h:1/v1", THERE, THERE, owned_by("library")),
            "chat-completions",
            "/v1/chat/completions answers an empty request (HTTP 400); OpenResponses is not complete at Ollama "
            "(text after a call is dropped, and messages before calls are not closed)",
            id="both, and the list is that of a server where the better one is not complete",
        ),
        pytest.param(
            "http://127.0.0.1:11434/v1",
            asked("http://127.0.0.1:11434/v1", THERE, THERE, {"data": []}),
            "chat-completions",
            "/v1/chat/completions answers an empty request (HTTP 400); OpenResponses is not complete at Ollama, whose "
            "usual port this is (text after a call is dropped, and messages before calls are not closed)",
            id="both, and the port is that of such a server",
        ),
        pytest.param(
            "http://127.0.0.1:11434/v1",
            asked("http://127.0.0.1:11434/v1", THERE, THERE, owned_by("organization_owner")),
            "openresponses",
            None,
            id="a list is a better sign than a port",
        ),
        pytest.param(
            "http://127.0.0.1:1234/v1",
            asked("http://127.0.0.1:1234/v1", THERE, THERE),
            "openresponses",
            None,
            id="whole",
        ),
        pytest.param(
            "http://127.0.0.1:8000/v1",
            asked("http://127.0.0.1:8000/v1", THERE, MISSING, owned_by("vllm")),
            "openresponses",
            None,
            id="incomplete, and there is nothing else",
        ),
        pytest.param(
            "http://h:1/v1", asked("http://h:1/v1", REFUSED, THERE), "chat-completions", None, id="one is silent"
        ),
    ],
)
def test_an_endpoint_that_is_there_is_used_and_the_better_one_of_two(
    url: str, round_: Round, protocol: str, reason: str | None
):
    assert is_last(round_)
    found = decided(url, round_)
    assert (found.protocol, found.base_url, found.is_certain) == (protocol, round_.base_url, True)
    assert reason is None or found.reason == reason


@pytest.mark.parametrize(
    ("url", "models", "server"),
    [
        ("http://h:1/v1", None, ""),
        ("http://h:1/v1", owned_by("vllm"), "vllm"),
        ("http://127.0.0.1:11434/v1", None, "ollama"),
        ("http://127.0.0.1:8080/v1", owned_by("vllm"), "vllm"),
        ("https://api.mistral.ai/v2", owned_by("vllm"), "mistral"),
    ],
)
@pytest.mark.parametrize("sign", [THERE, REFUSED])
def test_the_server_is_told_by_its_host_else_by_its_list_else_by_its_port(
    url: str, models: object, server: str, sign: Sign
):
    assert decided(url, asked(url, MISSING, sign, models)).server == server


def test_a_server_that_only_its_endpoints_name_is_known_all_the_same():
    there = replace(THERE, server="litellm")
    found = decided("http://h/v1", asked("http://h/v1", there, there, owned_by("openai")))
    assert found.protocol == "chat-completions"
    assert "OpenResponses is not complete at LiteLLM" in found.reason


def test_the_base_url_is_the_one_below_which_an_endpoint_is_there():
    url = "http://h:1/api"
    rounds = [asked(one, MISSING, MISSING) for one in base_urls(url, ENDPOINTS)[:2]]
    assert not any(map(is_last, rounds))
    found = decided(url, *rounds, asked("http://h:1/v1", MISSING, THERE))
    assert (found.protocol, found.base_url) == ("chat-completions", "http://h:1/v1")


@pytest.mark.parametrize(
    ("url", "round_", "protocol"),
    [
        ("http://h:1/v1", asked("http://h:1/v1", REFUSED, REFUSED), "openresponses"),
        ("http://h:1/v1", asked("http://h:1/v1", MISSING, REFUSED), "chat-completions"),
        ("http://h:1/v1", asked("http://h:1/v1", REFUSED, REFUSED, owned_by("vllm")), "chat-completions"),
        ("http://127.0.0.1:11434", asked("http://127.0.0.1:11434/v1", DEAD, DEAD), "chat-completions"),
        ("http://127.0.0.1:1", asked("http://127.0.0.1:1/v1", DEAD, DEAD), "openresponses"),
    ],
)
def test_a_server_that_does_not_tell_gets_a_guess_that_says_so(url: str, round_: Round, protocol: str):
    assert is_last(round_)
    found = decided(url, round_)
    assert (found.protocol, found.base_url, found.is_certain) == (protocol, round_.base_url, False)
    assert "a guess, as the server does not tell" in found.reason
    assert found.says.startswith("Asked in")


def test_a_server_with_neither_endpoint_is_described():
    url = "http://h:1/v1"
    lists = decided(url, asked(url, MISSING, MISSING, owned_by("me")))
    assert not lists.is_certain
    assert (
        lists.advice == "it lists models and has none of /v1/responses, /v1/chat/completions: it speaks something else"
    )
    nothing = decided(url, asked(url, MISSING, MISSING))
    assert nothing.reason == "a guess, as none of /v1/responses, /v1/chat/completions is there"
    assert "often in /v1" in nothing.advice
    page = decided(url, asked(url, PAGE, PAGE))
    assert page.reason == "a guess, as the server answered HTTP 200, a web page"
    https = Sign(Presence.NO_API, "HTTP 400", "this port wants https: use https://h:1/v1")
    assert decided(url, asked(url, https, https)).advice == "this port wants https: use https://h:1/v1"


def test_where_no_endpoint_is_there_the_path_or_the_host_of_a_protocol_that_is_not_asked_for_counts():
    url = "http://127.0.0.1:9/v4/ai"
    found = decided(url, asked(url, MISSING, MISSING))
    assert (found.protocol, found.base_url, found.is_certain) == ("ai-gateway", url, True)
    older = "https://ai-gateway.vercel.sh/v3/ai"
    found = decided(older, asked(older, MISSING, MISSING))
    assert (found.protocol, found.base_url, found.is_certain) == ("ai-gateway", older, True)


def test_three_protocols_at_the_most_are_asked_for_and_only_those_with_an_empty_request():
    assert probed_wires(WIRES) == (RESPONSES, CHAT)
    assert probed_wires((GATEWAY, CHAT, RESPONSES, CHAT, CHAT)) == (CHAT, RESPONSES, CHAT)


# ---- a wire with a base path of its own ----


def _at_ollama(*, is_complete: bool, rank: int = 1, reason: str = "") -> ServerProtocol:
    return ServerProtocol("ollama", "http://localhost:11434/x", is_complete, reason, "a test", rank)


OWN = CandidateProtocol(
    "own", "Own", "/chat", {}, (_at_ollama(is_complete=True),), COMMON_ERRORS, "/api", "http://127.0.0.1:11434/api"
)
CUTS = replace(CHAT, rows=(_at_ollama(is_complete=False, reason="long prompts are cut"),))
LOSES_MORE = replace(RESPONSES, rows=(_at_ollama(is_complete=False, rank=2, reason="text is dropped"),))


def _asked_too(responses: Sign, chat: Sign, own: Sign, base_url: str = "http://127.0.0.1:11434/v1") -> Round:
    signs = {"openresponses": responses, "chat-completions": chat, "own": own}
    return Round(base_url, signs)


def test_it_is_asked_for_apart_from_those_that_stand_beside_each_other():
    assert probed_wires((RESPONSES, OWN, CHAT)) == (RESPONSES, CHAT)
    assert probed_wires((RESPONSES, OWN, CHAT), elsewhere=True) == (OWN,)


def test_it_wins_where_it_alone_is_complete_and_the_reason_says_what_the_others_lose():
    wires = (LOSES_MORE, CUTS, OWN)
    url = "http://127.0.0.1:11434/v1"
    found = decide(url, [_asked_too(THERE, THERE, THERE)], wires)
    assert (found.protocol, found.base_url) == ("own", "http://127.0.0.1:11434/api")
    assert found.reason == (
        "/api/chat answers an empty request (HTTP 400); OpenResponses is not complete at Ollama, whose usual port this "
        "is (text is dropped); Chat Completions is not complete at Ollama, whose usual port this is (long prompts are "
        "cut)"
    )


def test_without_it_the_one_that_loses_least_wins():
    url = "http://127.0.0.1:11434/v1"
    found = decide(url, [_asked_too(THERE, THERE, MISSING)], (LOSES_MORE, CUTS, OWN))
    assert (found.protocol, found.base_url) == ("chat-completions", url)
    assert "/api/chat is missing (HTTP 404)" in found.reason


def test_a_guess_takes_its_base_url_too():
    found = decide("http://127.0.0.1:11434", [_asked_too(DEAD, DEAD, DEAD)], (CUTS, OWN))
    assert (found.protocol, found.base_url, found.is_certain) == ("own", "http://127.0.0.1:11434/api", False)


def test_what_was_answered_to_further_questions_belongs_to_the_same_round():
    first = asked("http://h:1/v1", MISSING, THERE)
    more = Round("http://h:1/v1", {"own": THERE})
    both = joined(first, more)
    assert (both.path_of(CHAT), both.path_of(OWN)) == ("/v1/chat/completions", "/api/chat")
    assert both.names(Presence.THERE) == ["chat-completions", "own"]
