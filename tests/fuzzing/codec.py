"""Reads streams in a process of its own, in which msgspec is hidden: asked a seed a line, it answers with a digest."""

import subprocess
import sys
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path

_TESTS = Path(__file__).parents[1]
_CODE = "import sys; sys.modules['msgspec'] = None; from fuzzing.codec import answer; answer()"


class OtherCodec:
    """The process without msgspec."""

    def __init__(self, process: "subprocess.Popen[str]") -> None:
        self._process = process

    def digest(self, seed: int, protocol: str | None = None) -> str:
        """What the stream of a seed means there."""
        asked, answered = self._process.stdin, self._process.stdout
        assert asked is not None
        assert answered is not None
        asked.write(f"{seed} {protocol or '-'}\n")
        asked.flush()
        return answered.readline().strip()


@contextmanager
def without_msgspec() -> Iterator[OtherCodec]:
    """A process that reads streams with the standard library alone."""
    command = [sys.executable, "-c", _CODE]
    with subprocess.Popen(command, cwd=_TESTS, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as process:
        try:
            yield OtherCodec(process)
        finally:
            process.communicate(timeout=30)


def answer() -> None:
    """Answers until there are no more questions."""
    from fuzzing.damage import stream_of
    from fuzzing.properties import digest
    from partstream.codec.json_codec import FAST

    assert not FAST
    for line in _lines(sys.stdin):
        seed, _, protocol = line.partition(" ")
        sys.stdout.write(digest(stream_of(int(seed), None if protocol == "-" else protocol)) + "\n")
        sys.stdout.flush()


def _lines(source: Iterable[str]) -> Iterator[str]:
    for line in source:
        yield line.strip()
