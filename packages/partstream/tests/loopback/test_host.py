"""The host of ASGI applications on loopback, with an application of the test's own."""

import asyncio
import json

import pytest

from partstream.server.loopback import BREAK_OFF, Host


def refusal(status, message):
    return json.dumps([status, message]).encode()


def exchange(application, data):
    """What comes back for the bytes, until the host closes the connection."""

    async def within():
        async with asyncio.timeout(20), Host(application, refusal) as host:
            reader, writer = await asyncio.open_connection("127.0.0.1", host.port)
            writer.write(data)
            try:
                return await reader.read()
            finally:
                writer.close()

    return asyncio.run(within())


def get(path, *headers, method="GET", body=b""):
    lines = [f"{method} {path} HTTP/1.1", "Host: h", "Connection: close", *headers]
    if body:
        lines.append(f"Content-Length: {len(body)}")
    return "\r\n".join([*lines, "", ""]).encode() + body


async def _answer(send, status, *pieces):
    await send({"type": "http.response.start", "status": status, "headers": [(b"x-a", b"1"), (b"x-a", b"2")]})
    for piece in pieces:
        await send({"type": "http.response.body", "body": piece, "more_body": True})
    await send({"type": "http.response.body"})


def test_an_application_gets_the_request_as_asgi_has_it():
    seen = []

    async def application(scope, receive, send):
        seen.append((scope, await receive()))
        await _answer(send, 201, b"o", b"k")

    answer = exchange(application, get("/a%2Fb?x=%31", "X-B: é", method="POST", body=b"abc"))
    assert answer.startswith(b"HTTP/1.1 201 ")
    assert answer.lower().count(b"x-a: ") == 2
    assert answer.endswith(b"\r\n\r\n1\r\no\r\n1\r\nk\r\n0\r\n\r\n")
    (scope, message), *_ = seen
    assert (scope["type"], scope["method"], scope["path"], scope["raw_path"]) == ("http", "POST", "/a/b", b"/a%2Fb")
    assert scope["query_string"] == b"x=%31"
    assert (b"x-b", "é".encode()) in scope["headers"]
    assert message == {"type": "http.request", "body": b"abc", "more_body": False}


def test_an_answer_to_head_ends_behind_its_headers():
    async def application(scope, receive, send):
        await _answer(send, 200, b"never sent")

    assert exchange(application, get("/", method="HEAD")).endswith(b"\r\n\r\n")


def test_an_application_hears_that_the_client_has_left_and_cannot_send_any_more():
    async def within():
        heard = asyncio.get_running_loop().create_future()

        async def application(scope, receive, send):
            await receive()
            await send({"type": "http.response.start", "status": 200, "headers": []})
            message = await receive()
            try:
                await send({"type": "http.response.body", "body": b"x", "more_body": True})
            except OSError as error:
                heard.set_result((message, error))

        async with asyncio.timeout(20), Host(application, refusal) as host:
            reader, writer = await asyncio.open_connection("127.0.0.1", host.port)
            writer.write(get("/"))
            await reader.readexactly(1)
            writer.transport.abort()
            return await heard

    message, _ = asyncio.run(within())
    assert message == {"type": "http.disconnect"}


@pytest.mark.parametrize("reset", [True, False])
def test_an_application_can_break_the_connection_off(reset):
    async def application(scope, receive, send):
        assert BREAK_OFF in scope["extensions"]
        await send({"type": "http.response.start", "status": 200, "headers": []})
        await send({"type": "http.response.body", "body": b"x", "more_body": True})
        await send({"type": BREAK_OFF, "reset": reset})

    if reset:
        with pytest.raises(ConnectionResetError):
            exchange(application, get("/"))
    else:
        assert exchange(application, get("/")).endswith(b"\r\n\r\n1\r\nx\r\n")


def test_what_an_application_raises_is_raised_at_the_end_of_the_block():
    async def application(scope, receive, send):
        await send({"type": "http.response.trailers"})

    with pytest.raises(ValueError, match=r"http\.response\.trailers"):
        exchange(application, get("/"))


def test_what_is_no_request_never_reaches_the_application():
    async def application(scope, receive, send):
        raise AssertionError

    assert exchange(application, b"no HTTP\r\n\r\n").count(b"[400, ") == 1


def test_more_connections_than_the_most_are_cut_while_all_are_answered():
    async def within():
        goes_on, asked = asyncio.Event(), asyncio.Semaphore(0)

        async def application(scope, receive, send):
            asked.release()
            await goes_on.wait()
            await _answer(send, 200, b"ok")

        async with asyncio.timeout(20), Host(application, refusal, connections=2) as host:
            opened = []
            for _ in range(2):
                opened.append(await asyncio.open_connection("127.0.0.1", host.port))
                opened[-1][1].write(get("/"))
                await asked.acquire()
            opened += [await asyncio.open_connection("127.0.0.1", host.port) for _ in range(3)]
            for cut, _ in opened[2:]:
                assert await cut.read() == b""
            goes_on.set()
            for reader, _ in opened[:2]:
                assert (await reader.readline()).startswith(b"HTTP/1.1 200 ")
            for _, writer in opened:
                writer.close()

    asyncio.run(within())


@pytest.mark.parametrize(
    "begun", [b"", b"G", b"GET / HTTP/1.1\r\nHost: h\r\n", get("/", method="POST", body=b"half")[:-2]]
)
def test_connections_that_ask_nothing_give_way_to_one_that_asks(begun):
    async def application(scope, receive, send):
        await _answer(send, 200, b"ok")

    async def within():
        async with asyncio.timeout(20), Host(application, refusal, connections=32) as host:
            idle = []
            for _ in range(100):
                idle.append(await asyncio.open_connection("127.0.0.1", host.port))
                idle[-1][1].write(begun)
            for _ in range(3):
                reader, writer = await asyncio.open_connection("127.0.0.1", host.port)
                writer.write(get("/"))
                assert (await reader.readline()).startswith(b"HTTP/1.1 200 ")
                writer.close()
            assert host.open_connections <= 33
            for _, writer in idle:
                writer.close()

    asyncio.run(within())
