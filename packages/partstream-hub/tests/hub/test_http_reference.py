"""The reference of HTTP against a real hub: each path of it is there, and asks for a key unless it stands as open."""

from __future__ import annotations
import asyncio
import re
from pathlib import Path
from typing import TYPE_CHECKING

from hub.hubs import Seller, hub, person
from offences import assert_none
from partstream.cli.serve_plan import METRICS_PATH
from serving.asgi import ask

if TYPE_CHECKING:
    from collections.abc import Iterator

    from hub.stores import HubDatabase

PAGE = (Path(__file__).resolve().parents[4] / "docs/reference/http.md").read_text(encoding="utf-8")
OPEN, CLOSED = PAGE.partition("## OpenResponses")[0], PAGE.partition("## OpenResponses")[2]
UNKNOWN = 404
NO_KEY = 401
OTHER_METHOD = 405


def _rows(text: str) -> Iterator[tuple[str, str]]:
    """The methods and paths of the tables of a text, each with ids instead of what is named."""
    for method, paths in re.findall(r"^\| ([A-Z]+) \| (`/.+?) \|", text, re.MULTILINE):
        for path in re.findall(r"`([^`]+)`", paths):
            yield method, path.replace("{model}", "m").replace("{id}", "resp_1")


def test_each_path_of_the_reference_is_there_and_the_open_ones_alone_want_no_key(
    hub_database: HubDatabase, tmp_path: Path
) -> None:
    async def run() -> None:
        _, of_ana = person("ana")
        async with hub(hub_database, of_ana, Seller(), tmp_path) as application:
            application.add_page(METRICS_PATH, lambda _accept: ("text/plain", b""))
            for method, path in (*_rows(OPEN), *_rows(CLOSED)):
                body = {} if method == "POST" else None
                statuses[method, path] = (await ask(application, path, body, method=method)).status
            nothing.append((await ask(application, "/v1/nothing")).status)

    statuses: dict[tuple[str, str], int] = {}
    nothing: list[int] = []
    asyncio.run(run())
    assert nothing == [UNKNOWN]
    assert len(statuses) > 40
    wants_key = {route: status == NO_KEY for route, status in statuses.items()}
    assert wants_key == {**dict.fromkeys(_rows(OPEN), False), **dict.fromkeys(_rows(CLOSED), True)}
    assert_none(
        f"{method} {path}: {status}" for (method, path), status in statuses.items() if status in {UNKNOWN, OTHER_METHOD}
    )
