"""Runs the published AI SDK in Node, where both are installed: `make ai-sdk`."""

import asyncio
import json
import shutil
import subprocess
from pathlib import Path
from typing import Any

import pytest

FOLDER = Path(__file__).resolve().parents[1] / "tools" / "record_ai_sdk"
FIXTURES = Path(__file__).parent / "fixtures" / "ai_sdk"
MAJORS = (5, 6, 7)
SECONDS = 60
NODE_OF_VERSION_7 = 22


def find_node() -> str | None:
    """A Node that runs all versions: the one that the packages bring, else that of the machine."""
    brought = sorted(FOLDER.glob("node_modules/node-linux-*/bin/node"))
    return str(brought[0]) if brought else shutil.which("node")


def _missing() -> str:
    node = find_node()
    if node is None:
        return "there is no Node"
    if not (FOLDER / "node_modules" / "ai-7").exists():
        return "the AI SDK is not installed; run make ai-sdk"
    version = subprocess.run([node, "--version"], capture_output=True, text=True, check=True, timeout=SECONDS).stdout
    major = int(version.removeprefix("v").split(".")[0])
    return "" if major >= NODE_OF_VERSION_7 else f"Node {version.strip()} is too old for version 7 of the AI SDK"


MISSING = _missing()
needs_ai_sdk = pytest.mark.skipif(bool(MISSING), reason=MISSING)


async def perform(jobs: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """What the SDK makes of each job; the kinds of jobs stand in `tools/record_ai_sdk/round_trip.js`."""
    node = find_node()
    assert node is not None
    process = await asyncio.create_subprocess_exec(
        node,
        str(FOLDER / "round_trip.js"),
        stdin=asyncio.subprocess.PIPE,
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.PIPE,
    )
    try:
        async with asyncio.timeout(SECONDS):
            output, errors = await process.communicate(json.dumps(jobs).encode())
    finally:
        if process.returncode is None:
            process.kill()
            await process.wait()
    assert (process.returncode, errors.decode()) == (0, "")
    results: list[dict[str, Any]] = json.loads(output)
    return results
