"""Which base URLs a person may mean by a URL."""

from urllib.parse import urlsplit

import pytest
from hypothesis import given
from hypothesis import strategies as st

from partstream.upstream.endpoint import base_urls, own_base_url
from rows import one_test_for

ENDPOINTS = ("/responses", "/chat/completions", "/messages", "/models/{model}:streamGenerateContent", "/chat")


@one_test_for(
    ("url", "meant"),
    [
        ("http://h:1/v1", ["http://h:1/v1"]),
        ("http://h:1/v1/", ["http://h:1/v1"]),
        ("http://h:1//v1//", ["http://h:1/v1"]),
        ("http://h:1", ["http://h:1/v1", "http://h:1"]),
        ("http://h:1/", ["http://h:1/v1", "http://h:1"]),
        ("http://h:1/v1/responses", ["http://h:1/v1"]),
        ("http://h:1/v1/chat/completions", ["http://h:1/v1"]),
        ("http://h:1/v1/chat/completions/", ["http://h:1/v1"]),
        ("http://h:1/v1/models", ["http://h:1/v1", "http://h:1/v1/models"]),
        ("http://h:1/chat/completions", ["http://h:1", "http://h:1/v1"]),
        ("http://h:1/api", ["http://h:1/api/v1", "http://h:1/api", "http://h:1/v1"]),  # Ollama's own API
        ("http://h:1/api/v0", ["http://h:1/api/v0", "http://h:1/v1"]),  # LM Studio's own API
        ("http://h:1/openai/v1", ["http://h:1/openai/v1", "http://h:1/v1"]),
        ("http://h:1/api/paas/v4", ["http://h:1/api/paas/v4", "http://h:1/v1"]),
        ("http://h:1/v1beta/openai", ["http://h:1/v1beta/openai", "http://h:1/v1"]),
        ("http://h:1/models", ["http://h:1", "http://h:1/v1", "http://h:1/models"]),
        ("http://h:1/v1/messages", ["http://h:1/v1"]),
        ("http://h:1/anthropic", ["http://h:1/anthropic/v1", "http://h:1/anthropic", "http://h:1/v1"]),
        ("http://h:1/v1beta/models/m:streamGenerateContent", ["http://h:1/v1beta", "http://h:1/v1"]),
        ("http://h:1/v1beta/models/m:generateContent", ["http://h:1/v1beta", "http://h:1/v1"]),
        ("http://h:1/models/chat/completions", ["http://h:1/models", "http://h:1/models/v1", "http://h:1/v1"]),
        ("http://h:1/api/chat", ["http://h:1/api", "http://h:1/api/v1", "http://h:1/v1"]),
        ("http://h:1/v1?api-version=7", ["http://h:1/v1?api-version=7"]),
        ("http://h:1/v1/responses?key=k#top", ["http://h:1/v1?key=k"]),
    ],
)
def test_the_base_urls_that_may_be_meant_stand_in_the_order_of_their_likelihood(url: str, meant: list[str]):
    assert list(base_urls(url, ENDPOINTS)) == meant


@pytest.mark.parametrize(
    ("url", "own", "meant"),
    [
        ("http://h:1", "/api", "http://h:1/api"),
        ("http://h:1/v1", "/api", "http://h:1/api"),
        ("http://h:1/api", "/api", "http://h:1/api"),
        ("http://h:1/api/v1", "/api", "http://h:1/api"),
        ("http://h:1/api/chat", "/api", "http://h:1/api"),
        ("http://h:1/v1/chat/completions", "/api", "http://h:1/api"),
        ("http://h:1/ollama/v1?key=k", "/api", "http://h:1/ollama/api?key=k"),
        ("http://h:1/v1beta/models/m:generateContent", "/v1beta", "http://h:1/v1beta"),
    ],
)
def test_a_wire_with_a_base_path_of_its_own_is_looked_for_in_place_of_another(url: str, own: str, meant: str):
    assert own_base_url(url, own, ENDPOINTS) == meant


@given(st.text("/v1abc.-models" + "chat/completions", max_size=40))
def test_whatever_the_path_is_there_are_one_to_three_base_urls_on_the_same_host(path: str):
    url = f"https://h.example:8443/{path}?key=k"
    meant = base_urls(url, ENDPOINTS)
    assert 1 <= len(meant) <= 3
    assert len(set(meant)) == len(meant)
    for one in map(urlsplit, meant):
        assert (one.scheme, one.netloc, one.query) == ("https", "h.example:8443", "key=k")
        assert not one.path.endswith("/")
