"""What every client of HTTP may expect of a server: old versions, heads alone, packed bodies, slashes at the end."""

import json

import pytest

from partstream import TextPart
from partstream.server.settings import ServingSettings
from partstream.upstream.endpoint import Secret
from serving.hosted import hosted, posted, status_of
from serving.providers import Driven

TOKEN = "the-key-of-the-tests-1234"  # noqa: S105 - of no server but these
KEY = f"Authorization: Bearer {TOKEN}".encode()
CHAT = b"/v1/chat/completions"
MOST = 100_000


async def _answer(progress, token):
    del token
    progress.report(TextPart("hello"))


@pytest.fixture(scope="module")
def server():
    with hosted(Driven(_answer), ServingSettings(token=Secret(TOKEN), body_bytes=MOST)) as served:
        yield served


def _asked(**more):
    return json.dumps({"model": "m", "messages": [{"role": "user", "content": "Hi"}], **more}).encode()


def _head_and_body(answer):
    head, _, body = answer.partition(b"\r\n\r\n")
    lines = (line.split(b": ", 1) for line in head.splitlines()[1:])
    return {name.decode(): value.decode() for name, value in lines}, body


# ---- HTTP/1.0 ----


@pytest.mark.parametrize("stream", [False, True], ids=["a document", "a stream"])
def test_an_answer_in_http_1_0_has_no_chunks_and_ends_with_the_connection(server, stream):
    asked = posted(CHAT, _asked(stream=stream), KEY).replace(b" HTTP/1.1", b" HTTP/1.0", 1)
    answer = server.exchange(asked.replace(b"Connection: close\r\n", b""))
    headers, body = _head_and_body(answer)
    assert status_of(answer) == 200
    assert "transfer-encoding" not in headers
    assert headers["connection"] == "close"
    if stream:
        assert body.startswith(b"data: {")
        assert body.endswith(b"data: [DONE]\n\n")
        assert "content-length" not in headers
    else:
        assert json.loads(body)["choices"][0]["message"]["content"] == "hello"
        assert headers["content-length"] == str(len(body))
