"""What the proxy refuses, what it changes of a request, and how it reaches its server."""

import asyncio
import json
import shutil
import ssl
import subprocess

import anthropic
import httpx2
import openai
import pytest

from listening import accepting
from partstream_devtools.bundles.exchange import HowEnded
from partstream_devtools.testing.upstream import ReplayUpstream
from recorder.proxied import client, proxied, receive, run
from testing.clients import body, free_port, raw_exchange

OWN = "127.0.0.1:{port}"


@pytest.mark.parametrize(
    ("headers", "status", "says"),
    [
        ({"host": "localhost:{port}"}, 200, ""),
        ({"host": "[::1]:{port}"}, 200, ""),
        ({"host": "127.0.0.1"}, 200, ""),
        ({"host": "rebound.example:{port}"}, 403, "got the host 'rebound.example:"),
        ({"host": "127.0.0.1.example"}, 403, "expected 127.0.0.1 or localhost"),
        ({"host": "["}, 403, "expected 127.0.0.1 or localhost"),
        ({"host": ""}, 403, "got the host ''"),
        ({"origin": "http://localhost:3000"}, 200, ""),
        ({"origin": "vscode-webview://1234"}, 200, ""),
        ({"origin": "null"}, 403, "got a request of the page 'null'"),
        ({"origin": "null", "sec-fetch-site": "cross-site"}, 403, "got a request of the page"),
        ({"sec-fetch-site": "cross-site"}, 403, "a page that does not say which it is"),
        ({"sec-fetch-site": "none"}, 200, ""),
        ({"origin": "vscode-webview://1234", "sec-fetch-site": "cross-site"}, 200, ""),
        ({"origin": "https://page.example"}, 403, "expected one of a program"),
        ({"origin": ""}, 403, "expected one of a program"),
        ({"upgrade": "h2c", "connection": "Upgrade, HTTP2-Settings", "http2-settings": "AAMA"}, 200, ""),
        ({"upgrade": "WebSocket", "connection": "Upgrade"}, 426, "a recording holds no WebSocket"),
    ],
)
def test_only_this_machine_is_served_and_only_http(headers, status, says):
    async def check(upstream, proxy, watching):
        sent = {name: value.format(port=proxy.port) for name, value in headers.items()}
        received = await receive(f"{proxy.base_url}/models", "GET", headers={**sent, "authorization": "Bearer key"})
        assert received.status == status
        if says:
            assert says in json.loads(received.body)["error"]["message"]
            assert not upstream.requests
            assert not watching.seen
        else:
            assert len(upstream.requests) == 1
            assert not {"upgrade", "http2-settings"} & upstream.requests[0].headers.keys()

    run(check, token="key")  # noqa: S106 - of no server but this


@pytest.mark.parametrize(
    "target",
    [
        "/v1/../../admin",
        "/v1/./models",
        "/v1//models",
        "/v1/%2e%2e/admin",
        "/v1/a|b?c={d}&e=%7e",
        "/v1/models?",
        "/v1/../x?../y",
    ],
)
def test_a_server_gets_the_path_as_it_came(target):
    asked = []

    async def serve(reader, writer):
        asked.append((await reader.readuntil(b"\r\n")).split(b" ")[1].decode())
        await reader.readuntil(b"\r\n\r\n")
        writer.write(b"HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n")
        await writer.drain()

    async def check():
        async with accepting(serve) as url, proxied(url) as (proxy, _):
            lines = f"GET {target} HTTP/1.1\r\nHost: 127.0.0.1\r\nConnection: close\r\n\r\n"
            assert (await raw_exchange(proxy.port, lines.encode())).startswith(b"HTTP/1.1 200 ")

    asyncio.run(check())
    assert asked == [target.removesuffix("?")]


@pytest.mark.parametrize("target", ["http://127.0.0.1/v1/models", "*", "models"])
def test_a_client_that_takes_it_for_a_proxy_of_the_system_is_told_so(target):
    async def check(upstream, proxy, watching):
        asked = f"OPTIONS {target} HTTP/1.1\r\nHost: 127.0.0.1\r\nConnection: close\r\n\r\n"
        said = await raw_exchange(proxy.port, asked.encode())
        assert said.startswith(b"HTTP/1.1 400 ")
        assert b"set the base URL of the client" in said
        assert not upstream.requests

    run(check)


def test_a_request_passes_with_its_headers_query_and_escapes_and_without_those_of_its_connection():
    async def check():
        heads = []

        async def serve(reader, writer):
            heads.append((await reader.readuntil(b"\r\n\r\n")).decode())
            writer.write(b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\nSet-Cookie: a=1\r\nSet-Cookie: b=2\r\n\r\nok")

        async with accepting(serve) as url, proxied(f"{url}/base?version=7") as (proxy, _), client() as asker:
            assert proxy.base_url == f"http://127.0.0.1:{proxy.port}/base"
            response = await asker.get(
                f"{proxy.base_url}/models/a%2Fb:run?alt=sse&x=%20",
                headers={
                    "accept-encoding": "gzip",
                    "authorization": "Bearer of-the-client",
                    "connection": "close, x-hop",
                    "x-hop": "1",
                    "te": "trailers",
                    "x-own": "2",
                    "user-agent": "a client/1",
                },
            )
            assert response.headers.get_list("set-cookie") == ["a=1", "b=2"]
            lines = heads[0].split("\r\n")
            assert lines[0] == "GET /base/models/a%2Fb:run?version=7&alt=sse&x=%20 HTTP/1.1"
            assert sorted(line.lower() for line in lines[1:] if line) == [
                "accept-encoding: identity",
                "accept: */*",
                "authorization: bearer of-the-client",
                f"host: {url.removeprefix('http://')}",
                "user-agent: a client/1",
                "x-own: 2",
            ]

    asyncio.run(_within(check()))


def test_a_client_that_asks_before_it_sends_its_body_is_answered():
    async def check(upstream, proxy, watching):
        content = json.dumps(body("Hi", stream=False)).encode()
        reader, writer = await asyncio.open_connection("127.0.0.1", proxy.port)
        head = (
            f"POST /v1/responses HTTP/1.1\r\nHost: 127.0.0.1\r\nExpect: 100-continue\r\nContent-Length: {len(content)}"
        )
        writer.write(f"{head}\r\n\r\n".encode())
        assert await reader.readuntil(b"\r\n\r\n") == b"HTTP/1.1 100 \r\n\r\n"
        writer.write(content)
        assert (await reader.readuntil(b"\r\n\r\n")).startswith(b"HTTP/1.1 200 ")
        writer.transport.abort()
        assert "expect" not in upstream.requests[0].headers

    run(check)


def test_a_body_in_chunks_arrives_whole_and_one_that_is_too_large_is_refused_and_not_kept():
    async def check():
        async with ReplayUpstream() as upstream, proxied(upstream.base_url, largest_body=1000) as (proxy, watching):

            async def pieces(count):
                for _ in range(count):
                    yield b" " * 100
                yield json.dumps(body("Hi", stream=False)).encode()

            url = f"{proxy.base_url}/responses"
            json_type = {"content-type": "application/json"}
            assert (await receive(url, content=pieces(5), headers=json_type)).status == 200
            refused = await receive(url, content=pieces(50), headers=json_type)
            assert refused.status == 413
            assert b"expected at most 1,000" in refused.body
            refused = await receive(url, content=b" " * 2000, headers=json_type)
            assert refused.status == 413
            assert len(upstream.requests) == len(watching.seen) == 1

    asyncio.run(_within(check()))


def test_a_server_that_is_not_there_is_named_with_advice():
    async def check():
        address = f"127.0.0.1:{free_port()}"
        async with proxied(f"http://{address}/v1?key=very-secret") as (proxy, watching):
            received = await receive(f"{proxy.base_url}/models", "GET", params={"key": "other-secret"})
            assert received.status == 502
            said = json.loads(received.body)["error"]["message"]
            assert f"nothing listens at {address}" in said
            seen = await watching.ended()
            assert seen.how is HowEnded.NO_RESPONSE
            assert "secret" not in said + str(seen.error)

    asyncio.run(_within(check()))


def test_a_server_with_https_is_reached(tmp_path, monkeypatch):
    if shutil.which("openssl") is None:
        pytest.skip("openssl is missing, which makes the certificate of this test")
    key, certificate = tmp_path / "key.pem", tmp_path / "certificate.pem"
    made = ["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes"]
    names = ["-subj", "/CN=localhost", "-addext", "subjectAltName=DNS:localhost"]
    subprocess.run([*made, "-keyout", key, "-out", certificate, *names], check=True, capture_output=True)
    monkeypatch.setenv("SSL_CERT_FILE", str(certificate))
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(certificate, key)

    async def check():
        async def serve(reader, writer):
            await reader.readuntil(b"\r\n\r\n")
            writer.write(b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nhi\r\n0\r\n\r\n")
            writer.close()

        server = await asyncio.start_server(serve, "localhost", 0, ssl=context)
        async with server, proxied(f"https://localhost:{server.sockets[0].getsockname()[1]}") as (proxy, watching):
            assert (await receive(proxy.base_url + "/", "GET")).body == b"hi"
            assert (await watching.ended()).body == b"hi"

    asyncio.run(_within(check()))


def test_the_official_clients_talk_through_it_as_they_do_without_it():
    async def check(upstream, proxy, watching):
        root = f"http://127.0.0.1:{proxy.port}"
        async with openai.AsyncOpenAI(base_url=proxy.base_url, api_key="sk-of-a-test", max_retries=0) as asker:
            events = [one.type async for one in await asker.responses.create(model="any", input="Hi", stream=True)]
            assert events[-1] == "response.completed"
            with pytest.raises(openai.RateLimitError):
                await asker.responses.create(model="any", input="Hi fault:status=429")
            chunks = await asker.chat.completions.create(
                model="any", messages=[{"role": "user", "content": "Hi"}], stream=True
            )
            assert [chunk async for chunk in chunks][-1].choices[0].finish_reason == "stop"
            with pytest.raises(openai.APIError):
                _ = [one async for one in await asker.responses.create(model="any", input="Hi fault:cut", stream=True)]
        async with anthropic.AsyncAnthropic(base_url=root, api_key="sk-ant-of-a-test", max_retries=0) as asker:
            asked = {"model": "any", "max_tokens": 100, "messages": [{"role": "user", "content": "Hi"}]}
            async with asker.messages.stream(**asked) as stream:
                assert await stream.get_final_text()
        ends = [(await watching.ended(number)).how for number in range(1, 6)]
        assert ends == [HowEnded.WHOLE] * 3 + [HowEnded.CUT, HowEnded.WHOLE]
        assert [seen.status for seen in watching.seen] == [200, 429, 200, 200, 200]

    run(check)


def test_an_answer_that_goes_on_when_the_proxy_stops_is_seen_to_its_end():
    async def check():
        async with ReplayUpstream() as upstream:
            async with proxied(upstream.base_url) as (proxy, watching):
                asked = body("Hi fault:stall=3")
                asking = asyncio.create_task(receive(f"{proxy.base_url}/responses", json=asked))
                while not (watching.seen and watching.seen[0].chunks):
                    await asyncio.sleep(0)
            seen = watching.seen[0]
            assert seen.how is HowEnded.CUT
            assert str(seen.error) == "the proxy was stopped"
            assert (await asking).broke in {httpx2.ReadError.__name__, httpx2.RemoteProtocolError.__name__}
            assert upstream.requests

    asyncio.run(_within(check()))


async def _within(check):
    async with asyncio.timeout(30):
        await check


BROKEN = {
    "a folded header": b"HTTP/1.1 200 OK\r\nX: a\r\n b\r\nContent-Length: 2\r\n\r\nok",
    "two lengths": b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\nContent-Length: 3\r\n\r\nok!",
    "a length and chunks": b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n",
    "a null in a header": b"HTTP/1.1 200 OK\r\nX: a\0b\r\nContent-Length: 2\r\n\r\nok",
    "no HTTP": b"\x16\x03\x01\x02 garbage\r\n\r\n",
    "50,000 headers": b"HTTP/1.1 200 OK\r\n" + b"X: a\r\n" * 50_000 + b"Content-Length: 2\r\n\r\nok",
    "another protocol": b"HTTP/1.1 101 Switching Protocols\r\nUpgrade: x\r\n\r\n",
    "a body where none is": b"HTTP/1.1 204 No Content\r\nContent-Length: 2\r\n\r\nok",
    "chunks that break off": b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nok",
    "nothing": b"",
}


@pytest.mark.parametrize("answer", BROKEN.values(), ids=BROKEN)
def test_a_broken_answer_is_cut_or_502_and_the_proxy_goes_on(answer):
    async def check():
        async def serve(reader, writer):
            await reader.readuntil(b"\r\n\r\n")
            writer.write(answer)
            writer.close()

        async with accepting(serve) as url, proxied(url) as (proxy, _):
            for _ in range(2):
                asked = b"GET /v1/models HTTP/1.1\r\nHost: 127.0.0.1\r\nConnection: close\r\n\r\n"
                said = await raw_exchange(proxy.port, asked)
                assert said == b"" or said.split(b" ")[1] in {b"200", b"204", b"502"}, said[:100]
                assert said.count(b"HTTP/1.1 ") <= 1

    asyncio.run(_within(check()))
