"""Makes the file that people use of a recording that has grown: without keys, cookies and ids of people.

Runs as a program of its own too, so that a recording that is full is finished beside the proxy, not in it:
`python -m partstream_devtools.recorder.finishing PART FILE`. It reads the keys of the exchanges, an array in JSON, from
its standard input: other users of the machine read arguments and environments.
"""

from __future__ import annotations
import os
import sys
from collections.abc import Iterable
from pathlib import Path
from typing import Final

from partstream.codec.json_codec import loads
from partstream.codec.system import replace_file
from partstream_devtools.bundles.exchange import RedactionLevel
from partstream_devtools.bundles.forms import write_as
from partstream_devtools.bundles.partial import read_partial
from partstream_devtools.redaction.redacting import redact

_LOWER_PRIORITY: Final = 10
"""What is added to the niceness of a process that works beside the proxy."""


def finish(part: Path, file: Path, secrets: Iterable[str]) -> None:
    """Writes the file, whose ending says the form, and removes the recording that has grown.

    That recording stays where something fails.

    Args:
        part: The recording that has grown. Its reads are masked one by one, so a key whose pieces a model repeats in
            several events is still in it.
        file: The file to write.
        secrets: The keys that the exchanges were sent with; they are found across events too.

    Raises:
        BundleError: The recording is damaged, or the form cannot hold it.
        OSError: The system refuses.
    """
    bundle, _ = redact(read_partial(part.read_bytes()), RedactionLevel.KEYS, secrets=secrets)
    replace_file(file, write_as(bundle, file.name))
    part.unlink()


def step_back() -> None:
    """Lets all other processes go first: exchanges of the proxy do not wait for this one."""
    if hasattr(os, "nice"):  # not on Windows
        os.nice(_LOWER_PRIORITY)


if __name__ == "__main__":
    step_back()
    finish(Path(sys.argv[1]), Path(sys.argv[2]), loads(sys.stdin.buffer.read()))
