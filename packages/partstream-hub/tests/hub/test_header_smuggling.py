"""Headers on a real connection to a hub: an oddly written key names no person, and never another one."""

from __future__ import annotations
import asyncio
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

import pytest

from hub.hubs import QUICK, Seller, person
from partstream_hub.app import hub_app
from partstream_hub.hub import HubSettings
from serving.asgi import WAIT
from serving.served import served

if TYPE_CHECKING:
    from pathlib import Path

    from hub.stores import HubDatabase

ODD = {
    "one key": (["Authorization: Bearer {ana}"], "200 ana"),
    "its header in capitals": (["AUTHORIZATION: BEARER {ana}"], "200 ana"),
    "the same key in two headers": (["Authorization: Bearer {ana}", "X-Api-Key: {ana}"], "200 ana"),
    "two authorizations": (["Authorization: Bearer {ana}", "Authorization: Bearer {bob}"], "401"),
    "two authorizations, the other first": (["Authorization: Bearer {bob}", "Authorization: Bearer {ana}"], "401"),
    "the same authorization twice": (["Authorization: Bearer {ana}", "Authorization: Bearer {ana}"], "401"),
    "an empty one and a key": (["Authorization:", "Authorization: Bearer {ana}"], "401"),
    "two keys in two headers": (["Authorization: Bearer {ana}", "X-Api-Key: {bob}"], "401"),
    "two keys in one header": (["Authorization: Bearer {ana} {bob}"], "401"),
    "two keys behind a comma": (["X-Api-Key: {ana},{bob}"], "401"),
    "a folded header": (["Authorization: Bearer", " {ana}"], "4"),
    "a folded key": (["X-Filler: a", "\tAuthorization: Bearer {ana}"], "4"),
    "a space before the colon": (["Authorization : Bearer {ana}"], "4"),
    "a name with an underscore": (["X_Api_Key: {ana}"], "401"),
    "a zero byte": (["Authorization: Bearer {ana}\0"], "4"),
    "a line feed alone": (["X-Filler: a\nAuthorization: Bearer {ana}"], "4|200 ana"),
    "a carriage return alone": (["X-Filler: a\rAuthorization: Bearer {ana}"], "4"),
    "what a proxy would say": (["X-Forwarded-User: ana", "X-Forwarded-Authorization: Bearer {ana}"], "401"),
    "what we would say": (["X-Partstream-Person: ana", "X-Partstream-Key: {ana}"], "401"),
    "a key in the query": (["X-Filler: a"], "401"),
}


async def _told(url: str, lines: list[str], path: str) -> str:
    """The status of the reply, and the person that the hub takes the sender for."""
    address = urlsplit(url)
    reader, writer = await asyncio.open_connection(address.hostname, address.port)
    try:
        head = "\r\n".join([f"GET {path} HTTP/1.1", "Host: hub", "Connection: close", *lines, "", ""])
        writer.write(head.encode("latin-1"))
        async with asyncio.timeout(WAIT):
            reply = (await reader.read()).decode("latin-1")
    finally:
        writer.close()
        await writer.wait_closed()
    status = reply.split(" ", 2)[1] if reply else "400"
    person = reply.partition('"person":"')[2].partition('"')[0]
    return f"{status} {person}".rstrip()


@pytest.mark.parametrize("hub_database", ["sqlite"], indirect=True)
def test_no_way_to_write_headers_makes_one_person_another(hub_database: HubDatabase, tmp_path: Path):
    async def run() -> dict[str, str]:
        ana, changes = person("ana")
        bob, more = person("bob")
        hub_database.migrated().change([*changes, *more], "test")
        keys = {"ana": ana.key.secret.reveal(), "bob": bob.key.secret.reveal()}
        application = hub_app(Seller(), hub_database.store(), HubSettings(worker=QUICK, locks=tmp_path / "locks"))
        async with served(application) as url:
            return {
                name: await _told(url, [one.format(**keys) for one in lines], f"/hub/v1/me?key={keys['ana']}")
                for name, (lines, _) in ODD.items()
            }

    found = asyncio.run(run())
    wrong = {
        name: found[name]
        for name, (_, expected) in ODD.items()
        if not any(found[name].startswith(one) for one in expected.split("|"))
    }
    assert wrong == {}
    assert not any("bob" in one for one in found.values())
