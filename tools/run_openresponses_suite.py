"""Runs the public compliance suite of OpenResponses against `partstream serve --demo`.

The suite is a checkout that the user has fetched, with its dependencies installed; nothing of it belongs to
this project. It needs bun, which npm has.

    python tools/run_openresponses_suite.py path/to/openresponses
"""

from __future__ import annotations
import argparse
import json
import os
import secrets
import shutil
import signal
import subprocess
import sys
import tempfile
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Iterator

ENTRY = Path("bin/compliance-test.ts")
SECONDS = 120


def main() -> int:
    """Runs the suite; the exit code is 1 unless every test has passed."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("suite", type=Path, help="the folder of the fetched checkout")
    parser.add_argument("--bun", default="bun", help="the program that runs it")
    options = parser.parse_args()
    bun = shutil.which(options.bun)
    if not (options.suite / ENTRY).is_file():
        parser.error(f"{options.suite}: got a folder without {ENTRY}, expected a checkout of openresponses")
    if bun is None:
        parser.error(f"--bun: got {options.bun!r}, which is no program; npm has it as the package bun")
    token = secrets.token_urlsafe(24)
    with tempfile.TemporaryDirectory() as folder, served(Path(folder), token) as url:
        command = [bun, "run", str(ENTRY), "--base-url", f"{url}/v1", "--model", "demo", "--json"]
        environment = {**os.environ, "OPENRESPONSES_API_KEY": token}
        ran = subprocess.run(
            command, cwd=options.suite, env=environment, capture_output=True, text=True, timeout=SECONDS, check=False
        )
    return report(ran.stdout, ran.stderr)


@contextmanager
def served(folder: Path, token: str) -> Iterator[str]:
    """The URL of a server of its own, which is stopped after the block."""
    environment = {**os.environ, "PARTSTREAM_DATA": str(folder), "PARTSTREAM_SERVE_TOKEN": token}
    command = [sys.executable, "-m", "partstream", "serve", "--demo", "--json", "--port", "0", "--log", "off"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True, env=environment) as process:
        try:
            started: dict[str, Any] = {}
            while started.get("type") != "listening":
                line = process.stdout.readline() if process.stdout else ""
                if not line:
                    raise SystemExit("partstream serve has not started")
                started = json.loads(line)
            yield started["url"]
        finally:
            process.send_signal(signal.SIGTERM)


def report(output: str, errors: str) -> int:
    """Prints a line for each test, and how many have passed."""
    try:
        said = json.loads(output[output.index("{") :])
        results = said["results"]
    except (ValueError, KeyError):
        sys.stderr.write(f"{output}\n{errors}\n")
        return 1
    for one in results:
        print(f"{one['status']:8} {one['id']}")
        for error in one.get("errors") or ():
            print(f"         {error}")
    passed = sum(one["status"] == "passed" for one in results)
    print(f"{passed} of {len(results)} passed")
    return 0 if results and passed == len(results) else 1


if __name__ == "__main__":
    sys.exit(main())
