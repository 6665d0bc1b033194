"""What `partstream record` says, as text or JSON: where it listens, each exchange that is over, and the file."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any, Final, Protocol

import click

from partstream.cli.terminal import echo_while_read, program
from partstream.devtools.bundles.exchange import HowEnded

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from pathlib import Path

    from partstream.devtools.recorder.session import AnswerFacts

__all__ = ["RecordJsonScreen", "RecordScreen", "RecordTextScreen"]

_KILO: Final = 1000
_ENDINGS: Final = {
    HowEnded.CUT: "the connection broke",
    HowEnded.CANCELLED: "the client left",
    HowEnded.NO_RESPONSE: "no response",
}


class RecordScreen(Protocol):
    """Where the command says what happens."""

    def started(self, base_url: str, server: str, part: Path) -> None:
        """It listens; `server` is the base URL that it stands for, without secrets."""
        ...

    def answered(self, facts: AnswerFacts) -> None:
        """An exchange is over."""
        ...

    def failed(self, error: Exception) -> None:
        """A file cannot be written; the exchanges go on."""
        ...

    def stopping(self) -> None:
        """It writes the file."""
        ...

    def ended(self, files: Sequence[Path], left: Mapping[Path, Exception]) -> None:
        """The files are written; what is left is a recording as it has grown."""
        ...


class RecordTextScreen:
    """Lines for people."""

    def started(self, base_url: str, server: str, part: Path) -> None:
        """Says what to do with a client."""
        echo_while_read(f"Recording {server} (Ctrl-C ends it and writes the file)")
        echo_while_read(f"  Set the base URL of your client to {base_url}; its key stays as it is.")
        echo_while_read(f"  What comes is kept at once in {part}")

    def answered(self, facts: AnswerFacts) -> None:
        """Says how it went, in one line."""
        echo_while_read(line_of(facts))

    def failed(self, error: Exception) -> None:
        """Says why."""
        click.echo(f"Error: the recording cannot be written: {_reason(error)}; requests are forwarded still", err=True)

    def stopping(self) -> None:
        """Says that it takes a moment."""
        echo_while_read("Writing the file: keys, cookies and ids of people are taken out.")

    def ended(self, files: Sequence[Path], left: Mapping[Path, Exception]) -> None:
        """Says where the files are, what is in them, and what to do next."""
        for path, error in left.items():
            click.echo(f"Error: the file cannot be made: {_reason(error)}. What was recorded is in {path}", err=True)
        if not (files or left):
            echo_while_read("Nothing was recorded.")
        for path in files:
            echo_while_read(f"Written: {path}")
        if files:
            echo_while_read(f"  It holds what people and models wrote. To give it away: {program()} share FILE OUT")
            echo_while_read(f"  To look at it: {program()} inspect FILE")


class RecordJsonScreen:
    """One JSON object a line."""

    def started(self, base_url: str, server: str, part: Path) -> None:
        """Writes the addresses."""
        _write(type="listening", base_url=base_url, server=server, part=str(part))

    def answered(self, facts: AnswerFacts) -> None:
        """Writes the facts."""
        _write(
            type="exchange",
            number=facts.number,
            method=facts.method,
            path=facts.path,
            status=facts.status,
            ending=facts.ending.value,
            outcome=facts.outcome,
            protocol=facts.protocol,
            milliseconds=round(facts.seconds * 1000),
            bytes=facts.bytes,
            events=facts.events,
            broken=facts.broken,
            error=facts.error,
        )

    def failed(self, error: Exception) -> None:
        """Writes why."""
        _write(type="failure", error=_reason(error))

    def stopping(self) -> None:
        """Writes that it takes a moment."""
        _write(type="stopping")

    def ended(self, files: Sequence[Path], left: Mapping[Path, Exception]) -> None:
        """Writes the files."""
        _write(
            type="written",
            files=[str(path) for path in files],
            left={str(path): _reason(error) for path, error in left.items()},
        )


def line_of(facts: AnswerFacts) -> str:
    """An exchange in one line, such as `#3 POST /v1/responses 200 completed 1.2 s, 345 events, contract kept`."""
    words = [f"#{facts.number}", facts.method, facts.path, str(facts.status or "-")]
    if facts.outcome is not None:
        words.append(facts.outcome)
    said = [_seconds(facts.seconds)]
    if facts.ending in _ENDINGS:
        said.append(_ENDINGS[facts.ending])
    if facts.outcome is None:
        said += [_size(facts.bytes)] if facts.bytes else []
    else:
        said.append(_counted(facts.events, "event"))
    if facts.broken is not None:
        said.append("contract kept" if not facts.broken else f"{_counted(facts.broken, 'rule')} broken")
    if facts.error:
        said.append(facts.error)
    return f"{' '.join(words)} {', '.join(said)}"


def _reason(error: Exception) -> str:
    return getattr(error, "strerror", None) or str(error)


def _seconds(seconds: float) -> str:
    return f"{seconds:.1f} s" if seconds >= 1 else f"{seconds * 1000:.0f} ms"


def _size(count: int) -> str:
    return f"{count} bytes" if count < _KILO else f"{count / _KILO:.1f} kB"


def _counted(count: int, noun: str) -> str:
    return f"{count} {noun}{'' if count == 1 else 's'}"


def _write(**fields: Any) -> None:
    echo_while_read(json.dumps(fields, ensure_ascii=False))
