"""A command that takes long says so in a terminal, and nowhere else."""

from __future__ import annotations
from typing import TYPE_CHECKING

from commands import run, terminal
from inspector import sample_streams as streams
from inspector.sample_streams import bundle, exchange, paced
from partstream_devtools.bundles.archive import write_bundle

if TYPE_CHECKING:
    from pathlib import Path


def test_a_command_says_in_a_terminal_what_it_is_busy_with(tmp_path: Path) -> None:
    async def test() -> None:
        file = tmp_path / "answer.partstream.zip"
        file.write_bytes(write_bundle(bundle(exchange(paced(streams.usual()), end=2100))))
        async with terminal("share", str(file), str(tmp_path / "out.md"), TERM="xterm") as shown:
            for said in ("Reading the recording…", "Replacing keys and texts…", "Writing ", "Redaction structure"):
                await shown.until(said)

    run(test())
