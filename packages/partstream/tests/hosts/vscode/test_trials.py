"""A server is tried before it becomes a group: its models, or the one sentence that says what is wrong with it."""

import asyncio
import json
from contextlib import suppress

import pytest

from listening import accepting
from partstream.vscode.examining import try_server
from partstream.vscode.gateway import GatewaySurroundings
from partstream_devtools.testing.upstream import ReplayUpstream

MODELS = {
    "data": [
        {
            "id": "maker/tall-1",
            "context_length": 200_000,
            "architecture": {"input_modalities": ["text", "image"], "output_modalities": ["text"]},
            "supported_parameters": ["tools"],
            "pricing": {"prompt": "0.000001", "completion": "0.000002"},
        },
        {"id": "plain"},
    ]
}


def reply(status, body, content_type="application/json", **headers):
    """One answer of HTTP, whole."""
    lines = {"content-type": content_type, "content-length": len(body), "connection": "close", **headers}
    head = "".join(f"{name}: {value}\r\n" for name, value in lines.items())
    return f"HTTP/1.1 {status} X\r\n{head}\r\n{body}".encode()


def tried(answer):
    """The result of trying a server on which every request is answered so; `answer` may look at the request's head."""

    async def serve(reader, writer):
        with suppress(asyncio.IncompleteReadError):
            head = await reader.readuntil(b"\r\n\r\n")
            writer.write(answer(head) if callable(answer) else answer)
            await writer.drain()

    async def main():
        async with accepting(serve) as url:
            return await try_server({"baseUrl": f"{url}/v1"}, GatewaySurroundings(environment={}))

    return asyncio.run(main())


def test_what_the_server_says_of_its_models_is_told_and_nothing_else():
    tall, plain = tried(reply(200, json.dumps(MODELS)))["models"]
    says = {"details": "200K · tools · images · $1 / $2", "isUsable": True}
    assert tall == {"id": "maker/tall-1", "name": tall["name"], **says}
    assert plain == {"id": "plain", "name": plain["name"], "details": "", "isUsable": True}


@pytest.mark.parametrize(
    ("answer", "kind", "says"),
    [
        (reply(401, '{"error": {"message": "Incorrect API key provided"}}'), "key", "Incorrect API key"),
        (reply(404, '{"detail": "Not Found"}'), "address", "404"),
        (reply(200, "<html><title>Sign in</title></html>", "text/html"), "address", "a web page, perhaps a login"),
        (reply(302, "", location="https://sso.example/login"), "address", "points to https://sso.example/login"),
        (reply(500, '{"error": {"message": "out of memory"}}'), "other", "out of memory"),
        (b"garbage\r\n\r\n", "connection", "not HTTP"),
    ],
    ids=["refused key", "nothing there", "login page", "redirect", "broken", "no HTTP"],
)
def test_each_kind_of_trouble_is_one_sentence_and_says_what_can_be_changed(answer, kind, says):
    result = tried(answer)
    assert result["models"] == []
    assert (result["problem"]["kind"], says in result["problem"]["message"]) == (kind, True), result
    assert "\n" not in result["problem"]["message"]


@pytest.mark.parametrize(
    ("configuration", "kind"),
    [
        ({"baseUrl": "http://127.0.0.1:1/v1"}, "connection"),
        ({"baseUrl": "http://nobody.invalid/v1", "allowInsecureHttp": True}, "connection"),
        ({"baseUrl": "localhost:1/v1"}, "connection"),
        ({"baseUrl": "nonsense"}, "address"),
        ({"baseUrl": "http://somewhere.example/v1"}, "address"),
        ({"baseUrl": "http://127.0.0.1:1/v1", "apiKeyEnv": "NO_SUCH_VARIABLE"}, "key"),
        ({"baseUrl": "http://127.0.0.1:1/v1", "apiKeyFile": "/no/such/file"}, "key"),
    ],
)
def test_a_setting_that_cannot_be_used_says_whether_it_is_the_address_or_the_key(configuration, kind):
    result = asyncio.run(try_server(configuration, GatewaySurroundings(environment={})))
    assert result["problem"]["kind"] == kind, result


def test_https_at_a_server_of_this_machine_that_has_none_is_answered_with_the_address_that_answers():
    async def main():
        async with ReplayUpstream() as upstream:
            encrypted = upstream.base_url.replace("http:", "https:")
            return upstream.base_url, await try_server({"baseUrl": encrypted}, GatewaySurroundings(environment={}))

    base_url, result = asyncio.run(main())
    assert (result["problem"]["kind"], result["problem"]["baseUrl"]) == ("connection", base_url)
    assert "does not speak https" in result["problem"]["message"]


def test_what_a_server_speaks_is_told_with_its_reason_and_the_address_that_was_meant():
    async def main():
        async with ReplayUpstream(protocols={"chat-completions"}) as upstream:
            base_url = upstream.base_url_of("chat-completions")
            written = (base_url, base_url.removesuffix("/v1"), f"{base_url}/chat/completions", f"{base_url}/")
            results = [await try_server({"baseUrl": one}, GatewaySurroundings(environment={})) for one in written]
            return base_url, results

    base_url, results = asyncio.run(main())
    for result in results:
        assert "problem" not in result
        assert result["models"]
        spoken = result["spoken"]
        assert (spoken["protocol"], spoken["baseUrl"].rstrip("/")) == ("Chat Completions", base_url)
        assert spoken["reason"]


def test_a_server_that_answers_and_lists_no_models_is_no_wrong_address():
    def answer(head):
        is_chat = head.startswith(b"POST /v1/chat/completions ")
        return reply(400, '{"error": {"message": "messages is required"}}') if is_chat else reply(404, "{}")

    result = tried(answer)
    assert (result["spoken"]["protocol"], result["problem"]["kind"]) == ("Chat Completions", "list"), result
