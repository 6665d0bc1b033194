"""A request as ASGI gives it: its path below a mount, percent-encoded, and its headers."""

from __future__ import annotations

from partstream.server.requests import headers_of, path_of
from rows import one_test_for


@one_test_for(
    ("scope", "path"),
    [
        ({"path": "/v1/models/a/b", "raw_path": b"/v1/models/a%2Fb"}, "/v1/models/a%2Fb"),
        ({"path": "/v1/models/a b"}, "/v1/models/a%20b"),
        ({"path": "/v1/models", "raw_path": b"/v1/models?limit=1"}, "/v1/models"),
        ({"path": "/llm/v1/models", "raw_path": b"/llm/v1/models", "root_path": "/llm"}, "/v1/models"),
        ({"path": "/llm/v1/models", "raw_path": b"/llm/v1/models", "root_path": "/llm/"}, "/v1/models"),
        ({"path": "/llm", "raw_path": b"/llm", "root_path": "/llm"}, "/"),
        ({"path": "/llms/v1", "raw_path": b"/llms/v1", "root_path": "/llm"}, "/llms/v1"),
        ({"path": "/v1/models", "raw_path": b"/v1/models", "root_path": "/llm"}, "/v1/models"),
        ({"path": "/ü/v1", "raw_path": b"/%C3%BC/v1", "root_path": "/ü"}, "/v1"),
    ],
    ids=str,
)
def test_the_path_is_that_below_the_mount_and_still_encoded(scope, path):
    assert path_of(scope) == path


def test_headers_of_one_name_are_joined_and_their_names_are_in_lower_case():
    scope = {"headers": [(b"Anthropic-Beta", b"one"), (b"x", b"1"), (b"anthropic-beta", b"two")]}
    assert headers_of(scope) == {"anthropic-beta": "one, two", "x": "1"}
