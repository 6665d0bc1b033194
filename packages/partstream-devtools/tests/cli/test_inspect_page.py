"""The page of `partstream inspect`, from a process of its own: served, opened, shown, ended."""

from __future__ import annotations
import asyncio
import signal
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

import httpx2

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
