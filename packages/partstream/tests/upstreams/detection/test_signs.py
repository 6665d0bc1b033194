"""What an answer to an empty request says of the endpoint: a row for each server that is known to answer like this."""

from typing import Any

import pytest

from partstream.codec.json_codec import dumps
from partstream.protocols.errors import COMMON_ERRORS
from partstream.upstream.detection import Presence, Round, server_of_list, sign_of
from partstream.upstream.discovery import FetchResponse
from rows import one_test_for

BASE = "http://h.example:8080/v1"
PATH = "/chat/completions"


def answer(status: int, body: object = b"", **headers: str) -> FetchResponse:
    content = body if isinstance(body, bytes) else dumps(body)
    return FetchResponse(status, {name.replace("_", "-"): value for name, value in headers.items()}, content)


def error(message: str, **fields: Any) -> dict[str, Any]:
    return {"error": {"message": message, **fields}}


THERE, MISSING, SILENT, NO_API = Presence.THERE, Presence.MISSING, Presence.SILENT, Presence.NO_API


@one_test_for(
    ("presence", "status", "body"),
    [
        pytest.param(THERE, 400, error("you must provide a model parameter"), id="OpenAI"),
        pytest.param(THERE, 400, error("[] is too short - 'messages'"), id="Ollama"),
        pytest.param(THERE, 422, {"detail": [{"loc": ["body", "messages"], "msg": "Field required"}]}, id="FastAPI"),
        pytest.param(THERE, 500, error("'messages' is required", code=500), id="llama.cpp, an old one"),
        pytest.param(THERE, 404, error("model '' not found"), id="a model that is not there"),
        pytest.param(THERE, 404, error("The model `m` does not exist", code="model_not_found"), id="vLLM"),
        pytest.param(THERE, 200, {"error": "'messages' field is required"}, id="LM Studio"),
        pytest.param(THERE, 200, {"object": "response", "output": []}, id="an answer to nothing"),
        pytest.param(THERE, 200, b"data: {}\n\n", id="a stream"),
        pytest.param(THERE, 400, b"Bad Request", id="a text"),
        pytest.param(THERE, 415, error("Unsupported Media Type"), id="another status"),
        pytest.param(
            THERE, 404, error("models/partstream is not found for API version v1beta", status="NOT_FOUND"), id="Google"
        ),
        pytest.param(THERE, 400, {"type": "error", "error": {"message": "max_tokens: Field required"}}, id="Anthropic"),
        pytest.param(THERE, 400, {"error": "model is required"}, id="Ollama's own"),
        pytest.param(MISSING, 404, b"404 page not found", id="Go"),
        pytest.param(MISSING, 404, {"detail": "Not Found"}, id="FastAPI without the path"),
        pytest.param(MISSING, 404, error("File Not Found", code=404), id="llama.cpp without the path"),
        pytest.param(MISSING, 404, error("Invalid URL (POST /v1/responses)"), id="OpenAI without the path"),
        pytest.param(
            MISSING, 404, error("got path /v4/ai/responses, expected /v4/ai/language-model"), id="a path's word"
        ),
        pytest.param(MISSING, 404, b"<!DOCTYPE html><pre>Cannot POST /v1/responses</pre>", id="Express"),
        pytest.param(MISSING, 405, {"detail": "Method Not Allowed"}, id="another method"),
        pytest.param(MISSING, 405, error("this model cannot be asked with POST"), id="another method, with a model"),
        pytest.param(MISSING, 200, {"error": "Unexpected endpoint or method. (POST /responses)"}, id="LM Studio, 200"),
        pytest.param(MISSING, 400, error("Unknown endpoint"), id="said with 400"),
        pytest.param(MISSING, 501, b"", id="not implemented"),
        pytest.param(SILENT, 401, error("Incorrect API key provided"), id="a key that is refused"),
        pytest.param(SILENT, 403, error("forbidden"), id="a key that may not"),
        pytest.param(SILENT, 400, [error("API key not valid. Please pass a valid API key.")], id="Gemini, no key"),
        pytest.param(SILENT, 400, error("Authentication Error, Invalid API key"), id="LiteLLM, another key"),
        pytest.param(SILENT, 429, error("slow down"), id="too many requests"),
        pytest.param(SILENT, 503, error("Loading model", code=503), id="llama.cpp while it loads"),
        pytest.param(SILENT, 502, b"Bad Gateway", id="a proxy"),
        pytest.param(SILENT, 500, b"Internal Server Error", id="a crash"),
        pytest.param(NO_API, 200, b"<html><title>Sign in</title></html>", id="a login page"),
        pytest.param(NO_API, 403, b"<html>blocked</html>", id="a page that refuses"),
        pytest.param(NO_API, 200, b"OK", id="a text with success"),
        pytest.param(NO_API, 400, b"Client sent an HTTP request to an HTTPS server.\n", id="https, Go"),
        pytest.param(NO_API, 400, b"<h1>The plain HTTP request was sent to HTTPS port</h1>", id="https, nginx"),
        pytest.param(NO_API, 302, b"", id="a redirect"),
    ],
)
def test_an_answer_says_whether_the_endpoint_is_there(presence: Presence, status: int, body: object):
    sign = sign_of(answer(status, body), COMMON_ERRORS, BASE, PATH)
    assert sign.presence is presence
    assert sign.says.startswith(f"HTTP {status}")


def test_a_port_that_wants_https_and_a_redirect_to_it_are_answered_with_the_url_to_use():
    plain = answer(400, b"Client sent an HTTP request to an HTTPS server.\n")
    assert "https://h.example:8080/v1" in sign_of(plain, COMMON_ERRORS, BASE, PATH).advice
    moved = answer(301, location="https://h.example/v1/chat/completions")
    assert sign_of(moved, COMMON_ERRORS, BASE, PATH).advice == "use https://h.example/v1"


@pytest.mark.parametrize("target", ["https://elsewhere.example/v1/chat/completions", "/login", "http://[", ""])
def test_a_redirect_to_anywhere_else_is_no_advice(target: str):
    assert sign_of(answer(302, location=target), COMMON_ERRORS, BASE, PATH).advice == ""


@pytest.mark.parametrize(
    ("server", "document", "headers"),
    [
        ("vllm", {"data": [{"id": "m", "owned_by": "vllm"}]}, {}),
        ("sglang", {"data": [{"id": "m", "owned_by": "sglang"}]}, {}),
        ("lm-studio", {"data": [{"id": "m", "owned_by": "organization_owner"}]}, {}),
        ("ollama", {"data": [{"id": "m", "owned_by": "me"}, {"id": "n", "owned_by": "library"}]}, {}),
        ("llama.cpp", {"data": [{"id": "m", "owned_by": "llamacpp"}]}, {}),
        ("llama.cpp", {"data": []}, {"server": "llama.cpp"}),
        ("litellm", {"data": [{"id": "m", "owned_by": "openai"}]}, {"x_litellm_version": "1.80"}),
        (None, {"data": [{"id": "m", "owned_by": "openai"}]}, {"server": "uvicorn"}),
        (None, {"data": [{"id": "m", "owned_by": ["vllm"]}, "vllm"]}, {}),
        (None, {"data": "vllm"}, {}),
        (None, [], {}),
    ],
)
def test_a_list_of_models_tells_its_server(server: str | None, document: object, headers: dict[str, str]):
    assert server_of_list(answer(200, document, **headers)) == server


def test_the_headers_of_any_answer_tell_its_server():
    assert sign_of(answer(400, {"error": "no"}, x_litellm_call_id="1"), COMMON_ERRORS, BASE, PATH).server == "litellm"
    assert sign_of(answer(401, b"", server="llama.cpp"), COMMON_ERRORS, BASE, PATH).server == "llama.cpp"
    assert sign_of(answer(400, {"error": "no"}, server="uvicorn"), COMMON_ERRORS, BASE, PATH).server is None


def test_only_a_list_is_a_list():
    assert Round("http://h/v1", {}, answer(200, {"data": []})).has_list
    assert Round("http://h/v1", {}, answer(200, [{"id": "m"}])).has_list
    assert not Round("http://h/v1", {}, answer(404, {"data": []})).has_list
    assert not Round("http://h/v1", {}, answer(200, b"<html>")).has_list
    assert not Round("http://h/v1", {}, answer(200, {"error": "no"})).has_list
    assert server_of_list(answer(404, {"data": [{"owned_by": "vllm"}]})) is None


@one_test_for("status", [200, 400, 404, 500])
@one_test_for("text", ["a", "/", "a/ ", "model ", "unknown ", "HTTP request to ", "<", "["])
def test_a_long_message_is_read_in_linear_time(status: int, text: str):
    # Searched once from each of its characters, a quarter of a megabyte takes minutes: the test would not end.
    long = text * (256 * 1024 // len(text))
    for body in (dumps(error(long)), long.encode()):
        assert sign_of(answer(status, body), COMMON_ERRORS, BASE, PATH).says.startswith("HTTP")
