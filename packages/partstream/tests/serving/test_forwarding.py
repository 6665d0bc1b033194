"""Same wire in, same bytes out: a request goes on as it came, and the answer's bytes come as they are."""

from __future__ import annotations
from typing import Any

import pytest

from partstream.server.application import app
from serving.asgi import Call, call
from serving.vendors import KEY, LIMITS, VENDORS, Vendor, vendor_of
from upstreams.upstreams import run

every_vendor = pytest.mark.parametrize("vendor", VENDORS, ids=lambda vendor: vendor.name)
both_forms = pytest.mark.parametrize("stream", [True, False], ids=["stream", "document"])


def asked(application: Any, vendor: Vendor, *, stream: bool, **more: Any) -> Call:
    path, body, headers, query = vendor.request(stream=stream)
    return call(application, path, more.pop("body", body), headers=headers | more.pop("headers", {}), query=query)


@every_vendor
@both_forms
def test_request_and_answer_go_through_as_they_are(vendor: Vendor, stream: bool) -> None:
    async def test() -> None:
        async with vendor_of(vendor, vendor.reply(stream=stream)) as (provider, requests):
            reply = await asked(app(provider), vendor, stream=stream).end()
            (got,) = requests
            path, body, _, query = vendor.request(stream=stream)
            assert reply.status == 200, reply.body
            assert got.body == body
            assert (got.path, got.query) == (path, query)
            assert {name: got.headers.get(name) for name in vendor.headers} == vendor.headers
            assert "cookie" not in got.headers
            assert KEY in repr(dict(got.headers))
            assert reply.body == (b"".join(vendor.events) if stream else vendor.whole)
            assert {name: reply.headers.get(name) for name, _ in LIMITS} == dict(LIMITS)
            assert "set-cookie" not in reply.headers
            assert "x-internal" not in reply.headers

    run(test())
