"""The URLs of an upstream: a path on its host, with the query of its base URL."""

import pytest

from partstream.upstream.endpoint import url_on_host, with_scheme, without_query

URLS = {
    "a path": ("https://host/v1", "/v1/models", "", "https://host/v1/models"),
    "another path than that of the base URL": ("https://host/v1", "/api/show", "", "https://host/api/show"),
    "a port": ("http://127.0.0.1:8080/v1", "/v1/models", "", "http://127.0.0.1:8080/v1/models"),
    "the query of the base URL": ("https://host/v1?api-version=1", "/v1/x", "", "https://host/v1/x?api-version=1"),
    "a query of its own": ("https://host/v1", "/v1/x", "alt=sse", "https://host/v1/x?alt=sse"),
    "both queries": ("https://host/v1?key=1", "/v1/x", "alt=sse", "https://host/v1/x?key=1&alt=sse"),
    "what looks like another host": ("https://host/v1", "//elsewhere/x", "", "https://host//elsewhere/x"),
}


@pytest.mark.parametrize(("base_url", "path", "query", "url"), URLS.values(), ids=URLS)
def test_the_url_of(base_url: str, path: str, query: str, url: str):
    assert url_on_host(base_url, path, query) == url


def test_what_a_message_shows_of_a_url_has_no_query():
    assert without_query("https://host:8080/v1/models?key=secret") == "https://host:8080/v1/models"


SCHEMES = {
    "127.0.0.1:8421": "http://127.0.0.1:8421",
    "localhost/v1": "http://localhost/v1",
    "models.localhost:1234/v1": "http://models.localhost:1234/v1",
    "[::1]:8000/v1": "http://[::1]:8000/v1",
    "192.168.1.10:8000/v1": "http://192.168.1.10:8000/v1",
    "api.example.com/v1": "https://api.example.com/v1",
    "gpu-box:8000": "https://gpu-box:8000",
    "https://127.0.0.1:8421": "https://127.0.0.1:8421",
    "ftp://host": "ftp://host",
    "[::1:8000": "[::1:8000",
    "[1.2]:80": "[1.2]:80",
    "sk-never-sent:80": "sk-never-sent:80",
    "a word": "a word",
    "word": "word",
    "": "",
}


@pytest.mark.parametrize(("text", "url"), SCHEMES.items())
def test_an_address_without_a_scheme_gets_the_likely_one_and_what_may_be_a_key_gets_none(text: str, url: str):
    assert with_scheme(text) == url
