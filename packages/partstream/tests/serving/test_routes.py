"""What stands at a path of a server, for protocols that share paths and for paths that name the model."""

from copy import copy
from dataclasses import replace

import pytest

from partstream.protocols.failures import RefusedRequestError
from partstream.protocols.model_documents import MODEL_DOCUMENTS
from partstream.protocols.protocol import DEFAULT_PROTOCOL, PROTOCOLS
from partstream.protocols.serve import ServedDocument
from partstream.server.requests import NoRouteError, Routes, endpoints_of, failure_of
from rows import one_test_for

OWN = PROTOCOLS[DEFAULT_PROTOCOL]
HEADER = "x-their-version"


def _answer(_request, _models, _tokens):
    return 200, {}


def _protocol(name: str, path: str, *documents: ServedDocument, paths: tuple[str, ...] = ()):
    return replace(
        OWN,
        name=name,
        write_request=lambda: _with(OWN.write_request(), path=path),
        write_response=lambda: _with(OWN.write_response(), documents=documents),
        paths=paths,
    )


def _with(corner, **fields):
    """A corner that differs in these attributes."""
    if isinstance(corner, type):
        return type(corner.__name__, (corner,), fields)
    made = copy(corner)
    for name, value in fields.items():
        object.__setattr__(made, name, value)
    return made


FIRST = _protocol("first", "/say", MODEL_DOCUMENTS[0])
THEIRS = ServedDocument("GET", "/models", _answer, lambda headers: HEADER in headers)
SECOND = _protocol(
    "second",
    "/models/{model}:stream",
    THEIRS,
    ServedDocument("GET", "/models/{model}", _answer),
    ServedDocument("POST", "/models/{model}:count", _answer),
    paths=("/models/{model}:stream", "/models/{model}:answer"),
)

ELSEWHERE = replace(
    _protocol("elsewhere", "/chat"),
    write_response=lambda: _with(OWN.write_response(), documents=()),
    base_paths=("/own",),
)


def _found(method, path, headers=()):
    route = Routes(endpoints_of([FIRST, SECOND])).find(method, path, dict(headers))
    return route.endpoint.protocol.name, route.path


@one_test_for(
    ("method", "path", "headers", "found"),
    [
        ("POST", "/v1/say", {}, ("first", "/v1/say")),
        ("POST", "/v1/models/a%2Fb:stream", {}, ("second", "/v1/models/{model}:stream")),
        ("POST", "/v1/models/a:answer", {}, ("second", "/v1/models/{model}:answer")),
        ("POST", "/v1/models/a:count", {}, ("second", "/v1/models/{model}:count")),
        ("GET", "/v1/models/a", {}, ("second", "/v1/models/{model}")),
        ("GET", "/v1/models", {}, ("first", "/v1/models")),
        ("GET", "/v1/models", {HEADER: "1"}, ("second", "/v1/models")),
    ],
)
def test_a_request_finds_what_it_means(method, path, headers, found):
    assert _found(method, path, headers) == found


def test_a_document_alone_at_its_path_needs_no_header():
    assert Routes(endpoints_of([SECOND])).find("GET", "/v1/models", {}).document is THEIRS


@one_test_for(
    ("path", "meant"),
    [
        ("/v1/say", "/v1/say"),
        ("/say", "/v1/say"),
        ("/v1/v1/say", "/v1/say"),
        ("/models/a%2Fb:stream", "/v1/models/a%2Fb:stream"),
        ("/v1/own/chat", "/own/chat"),
        ("/own/chat", "/own/chat"),
        ("/v2/say", "/v2/say"),
        ("/v1/v1/v1/say", "/v1/v1/v1/say"),
    ],
)
def test_a_base_url_may_end_in_v1_or_not_whatever_the_client_puts_behind_it(path, meant):
    assert Routes(endpoints_of([FIRST, SECOND, ELSEWHERE])).meant_path(path) == meant


@pytest.mark.parametrize(
    ("method", "path", "allowed"),
    [("GET", "/v1/models/a:stream", ("POST",)), ("POST", "/v1/models", ("GET",)), ("POST", "/v2/say", ())],
)
def test_what_is_not_there_is_told_with_what_is(method, path, allowed):
    with pytest.raises(NoRouteError) as refused:
        _found(method, path)
    assert refused.value.allowed == allowed
    assert (", ".join(allowed) or "expected /v1/say") in str(refused.value)


def test_where_nothing_is_alike_the_paths_are_told_where_models_answer():
    with pytest.raises(NoRouteError) as refused:
        _found("GET", "/")
    expected = "got path /, expected /v1/say, /v1/models/{model}:stream, /v1/models/{model}:answer"
    assert str(refused.value) == expected


def test_the_corners_get_the_path_with_the_model_and_the_base_path_where_it_was_asked():
    endpoint = Routes(endpoints_of([FIRST, SECOND])).find("POST", "/v1/models/a:stream", {}).endpoint
    request = endpoint.request("/v1/models/a:stream", {}, {}, "alt=sse")
    assert (request.base_path, request.path, request.query) == ("/v1", "/models/a:stream", "alt=sse")


def test_a_refusal_stands_in_the_error_object_of_the_protocol():
    writes = OWN.write_response()
    error = RefusedRequestError("No.", "messages", "bad", fields={"details": [1]})
    said = writes.failed(failure_of(error)).body["error"]
    assert (said["message"], said["param"], said["code"], said["details"]) == ("No.", "messages", "bad", [1])
    said = writes.failed(failure_of(RefusedRequestError("No."))).body["error"]
    assert (said["message"], said["param"], said["code"]) == ("No.", None, None)
