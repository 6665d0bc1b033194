"""The page of `partstream inspect`, from a process of its own: served, opened, shown, ended."""

from __future__ import annotations
import asyncio
import os
import signal
import stat
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

import httpx2
import pytest

from commands import start
from inspector import sample_streams as streams
from inspector.sample_streams import bundle, exchange, paced
from partstream_devtools.bundles.archive import write_bundle
from partstream_devtools.inspector.server import TOKEN_HEADER

if TYPE_CHECKING:
    from pathlib import Path


def test_the_page_is_served_to_who_has_its_address_until_the_command_ends(tmp_path: Path):
    asyncio.run(_look_at_a_page(tmp_path))


async def _look_at_a_page(tmp_path: Path) -> None:
    file = tmp_path / "answer.partstream.zip"
    file.write_bytes(write_bundle(bundle(exchange(paced(streams.usual())))))
    process = await start("inspect", str(file), "--no-browser")
    try:
        assert process.stdout is not None
        async with asyncio.timeout(30):
            line = (await process.stdout.readline()).decode()
        address = urlsplit(line.split()[4])
        base = f"http://{address.netloc}"
        async with httpx2.AsyncClient() as client:
            page = await client.get(f"{base}/")
            refused = await client.get(f"{base}/view")
            shown = await client.get(f"{base}/view", headers={TOKEN_HEADER: address.fragment})
    finally:
        process.send_signal(signal.SIGINT)
        async with asyncio.timeout(30):
            code = await process.wait()
    assert page.status_code == 200
    assert "word 1" not in page.text  # the data come with the token alone
    assert refused.status_code in {401, 403}
    assert shown.json()["view"]["answers"][0]["outcome"] == "completed"
    assert code == 130


@pytest.mark.skipif(os.name != "posix", reason="the browser of this test is a script of a shell")
def test_the_page_is_opened_by_a_file_of_the_users_own(tmp_path: Path):
    asyncio.run(_open_a_page(tmp_path))


async def _open_a_page(tmp_path: Path) -> None:
    file, asked, browser = tmp_path / "answer.partstream.zip", tmp_path / "asked", tmp_path / "browser"
    file.write_bytes(write_bundle(bundle(exchange(paced(streams.usual())))))
    os.mkfifo(asked)
    browser.write_text(f'#!/bin/sh\necho "$@" > {asked}\n', encoding="utf-8")
    browser.chmod(0o755)
    variables = {"PARTSTREAM_CACHE": str(tmp_path / "cache"), "BROWSER": f"{browser} %s"}
    process = await start("inspect", str(file), **variables)
    try:
        async with asyncio.timeout(30):
            address = (await asyncio.to_thread(asked.read_text, encoding="utf-8")).strip()
    finally:
        process.send_signal(signal.SIGINT)
        async with asyncio.timeout(30):
            await process.wait()
    (page,) = (tmp_path / "cache").glob("*.html")
    assert address == page.as_uri(), "others on this machine read the arguments of a browser"
    assert "http://127.0.0.1:" in page.read_text(encoding="utf-8")
    assert stat.S_IMODE(page.stat().st_mode) == 0o600
