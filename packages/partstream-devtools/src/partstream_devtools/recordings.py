"""Opens recordings for the commands that read them: their argument, their options, their words for a bad file.

A file in a known form is a bundle: its answers are the exchanges of a model, or, where it has none, the parts that a
host got. Any other file is one stream. `FILE#2` chooses an exchange by its number, and `-` is standard input. What a
file holds beside the answers is left out with a notice.
"""

from __future__ import annotations
import re
import sys
from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import chain, islice
from pathlib import Path
from typing import Any, Final

import click

from partstream.cli.terminal import ExitCode
from partstream.codec.checks import dataclass, replace
from partstream.codec.system import read_given
from partstream.codec.text import on_one_line, visible
from partstream.lm.outputs import Finish, Outcome, StreamOptions, StreamOutput
from partstream.protocols.protocol import PROTOCOLS
from partstream_devtools.bundles.documents import BundleError
from partstream_devtools.bundles.exchange import Bundle, RecordedAnswer, RecordedExchange
from partstream_devtools.bundles.forms import FORMS, form_of, read_any
from partstream_devtools.bundles.recorded import (
    answers_in,
    content_of,
    recorded_outputs,
    reported_outputs,
    timed_outputs,
    tools_asked,
)
from partstream_devtools.recorded_stream import MOST_FILE_BYTES, RecordingError, read_recording

_PIECE: Final = 65536  # bytes


class UnreadableRecordingError(click.ClickException):
    """A recording cannot be read."""

    exit_code = ExitCode.UNUSABLE


def protocol_option(function: Callable[..., Any]) -> Callable[..., Any]:
    """Adds the option that names the protocol of a recording."""
    return click.option(
        "--protocol",
        type=click.Choice(sorted(PROTOCOLS)),
        help="Protocol of the recording. Default: detected from its events.",
    )(function)


def exit_code_of(finish: Finish) -> ExitCode:
    """What the end of a recorded stream is for a script: a failure that was recorded is no end that is missing."""
    if finish.error is None:
        return ExitCode.FINE
    return ExitCode.TRUNCATED if finish.outcome is Outcome.TRUNCATED else ExitCode.FAILED


def read_file(file: str) -> bytes:
    """The bytes of a file, or of standard input for `-`.

    Raises:
        RecordingError: It cannot be read, or is too long.
    """
    try:
        if file == "-":  # piece by piece: in one call that reads to the end, Ctrl-C would wait for the end
            pieces = iter(lambda: sys.stdin.buffer.read(_PIECE), b"")
            data = b"".join(islice(pieces, MOST_FILE_BYTES // _PIECE + 1))
        else:
            data = read_given(Path(file), MOST_FILE_BYTES + 1)
    except OSError as error:
        raise RecordingError(file, error.strerror or str(error)) from error
    if len(data) > MOST_FILE_BYTES:
        raise RecordingError(file, f"it has more than {MOST_FILE_BYTES:,} bytes")
    return data


# ---- Opened recordings ----

_CHOSEN: Final = re.compile(r"(.+)#([0-9]{1,9})", re.DOTALL)


@dataclass(frozen=True, slots=True)
class Recording:
    """One answer that was recorded: a stream alone, an exchange, or an answer of a host.

    Attributes:
        label: What it is called in messages: the file, with its number where the file holds several.
        data: The bytes of a stream alone; else empty.
        exchange: The exchange, or None.
        answer: An answer of which no bytes are known, such as that of an agent; or None.
    """

    label: str
    data: bytes
    exchange: RecordedExchange | None = None
    answer: RecordedAnswer | None = None

    def outputs(
        self, protocol: str | None, options: StreamOptions, chunk_size: int | None = None
    ) -> Iterator[StreamOutput]:
        """Its outputs, a Finish the last of them.

        Args:
            protocol: The protocol's name, or None to tell it from the recording.
            options: How the adapter renders what it reads.
            chunk_size: How many bytes to feed at a time; None for the reads as they came.

        Raises:
            RecordingError: Nothing in it can be read as an event of the protocol.
        """
        if self.answer is not None:
            return chain.from_iterable(outputs for _, outputs in reported_outputs(self.answer))
        if self.exchange is None:
            return read_recording(self.data, self.label, protocol, options, chunk_size)
        return recorded_outputs(self.exchange, self.label, protocol, options, chunk_size)

    def timed(
        self, protocol: str | None, options: StreamOptions, chunk_size: int | None
    ) -> Iterator[tuple[int | None, list[StreamOutput]]]:
        """The same, each with the nanoseconds from the beginning of its exchange.

        Raises:
            RecordingError: The recording has no clock, or nothing in it can be read as an event of the protocol.
        """
        if self.answer is not None and self.has_clock:
            return reported_outputs(self.answer)
        if self.exchange is None or not self.has_clock:
            raise RecordingError(
                self.label, "it says no times, so that it has no pace; expected a recording with times"
            )
        return timed_outputs(self.exchange, self.label, protocol, options, chunk_size)

    @property
    def has_clock(self) -> bool:
        """Whether it says when everything came."""
        if self.answer is not None:
            return all(one.at is not None for one in self.answer.reported)
        return self.exchange is not None and self.exchange.has_clock

    def namespace(self, options: StreamOptions) -> str | None:
        """The prefix of the ids of its calls; None where it is not known."""
        return options.call_id_prefix if self.answer is None else None

    @property
    def protocol(self) -> str | None:
        """The name of its protocol; None where only its events tell, or nothing does."""
        if self.exchange is None:
            return None
        try:
            row = content_of(self.exchange, self.label).protocol
        except RecordingError:
            return None
        return None if row is None else row.name

    def tools(self, protocol: str | None) -> tuple[str, ...] | None:
        """The names of the tools that its request offers; None where they are not known."""
        if self.exchange is None or self.exchange.request is None:
            return None
        row = content_of(self.exchange, self.label, protocol).protocol
        return None if row is None else tools_asked(self.exchange.request, row)


@dataclass(frozen=True, slots=True)
class OpenedRecordings:
    """The answers that a file holds.

    Attributes:
        file: The file.
        recordings: Its answers, in order, at least one.
        left_out: What the file holds beside them, a phrase each, such as `#1 GET /v1/models`.
    """

    file: str
    recordings: tuple[Recording, ...]
    left_out: tuple[str, ...] = ()

    @property
    def last(self) -> Recording:
        """The last answer: attempts that failed come before it."""
        return self.recordings[-1]


def open_recordings(file: str) -> OpenedRecordings:
    """Opens a file, standard input for `-`, or with `FILE#2` one exchange of a file.

    Raises:
        RecordingError: It cannot be read, or has no exchange of that number.
    """
    path, number = chosen_exchange(file)
    data = read_file(path)
    if form_of(data) is None:
        if number is not None:
            raise RecordingError(path, f"it is one stream, and has no exchange {number}; expected its name without #")
        return OpenedRecordings(file, (Recording(path, data),))
    bundle = chosen_bundle(data, path, number)
    if number is None:
        return OpenedRecordings(path, *_recordings_of(path, bundle))
    exchange, answer = (bundle.exchanges[0], None) if bundle.exchanges else (None, bundle.answers[0])
    return OpenedRecordings(path, (Recording(f"{path}#{number}", b"", exchange, answer),))


def chosen_bundle(data: bytes, path: str, number: int | None) -> Bundle:
    """What a file holds; with a number, that exchange alone, or that answer where no exchange is known.

    Raises:
        RecordingError: It cannot be read, or has no exchange of that number.
    """
    try:
        bundle = read_any(data, path)
    except BundleError as error:
        raise RecordingError(path, str(error).removeprefix(f"{path}: ")) from error
    if number is None:
        return bundle
    exchanges = tuple(one for one in bundle.exchanges if one.number == number)
    of = exchanges[0].answer if exchanges else None if bundle.exchanges else number
    answers = tuple(one for one in bundle.answers if one.number == of)
    if not (exchanges or answers):
        known = ", ".join(str(one.number) for one in bundle.exchanges or bundle.answers) or "none"
        raise RecordingError(path, f"it has no exchange {number}; it has {known}")
    return replace(bundle, exchanges=exchanges, answers=answers)


def chosen_exchange(file: str) -> tuple[str, int | None]:
    """The file and the number after it, as in `FILE#2`; a file of that very name counts first."""
    match = _CHOSEN.fullmatch(file)
    if match is None or Path(file).exists():
        return file, None
    return match[1], int(match[2])


def spare_recordings(files: Iterable[str], out: str) -> None:
    """Refuses to write what is made of recordings over one of them: what it holds cannot be had again.

    Args:
        files: The recordings, each also as `FILE#2`; `-` is standard input.
        out: The file to write; `-` is standard output.

    Raises:
        UsageError: It is one of the recordings.
    """
    for file in files:
        try:
            is_same = Path(chosen_exchange(file)[0]).samefile(out)
        except OSError:
            continue
        if is_same:
            raise click.UsageError(f"{visible(out)} is the recording itself, which would be lost; name another file")


def check_new_file(option: str, file: Path, otherwise: str = "") -> None:
    """Refuses the name of a file for a new recording before anything is recorded.

    Raises:
        UsageError: The file is there already or its folder is not, or the name has the ending of no form.
    """
    endings = [ending for form in FORMS if form.write is not None for ending in form.endings]
    if not file.name.lower().endswith(tuple(endings)):
        expected = f"a name that ends with one of {', '.join(endings)}{otherwise}"
        raise click.UsageError(f"{option}: got {file.name!r}, expected {expected}")
    if file.exists():
        raise click.UsageError(f"{option}: {file} is there already; a recording replaces no file")
    if not file.absolute().parent.is_dir():
        raise click.UsageError(f"{option}: there is no folder {file.absolute().parent}")


def _recordings_of(path: str, bundle: Bundle) -> tuple[tuple[Recording, ...], tuple[str, ...]]:
    """The answers of a bundle; without any exchange, those of a host. And what is left out."""
    if not (bundle.exchanges or bundle.answers):
        raise RecordingError(path, "it holds no exchange with a server and no answer; expected one at least")
    is_alone = len(bundle.exchanges or bundle.answers) == 1
    if not bundle.exchanges:
        reported = (Recording(path if is_alone else f"{path}#{one.number}", b"", answer=one) for one in bundle.answers)
        return tuple(reported), ()
    answers = answers_in(bundle)
    recordings = tuple(Recording(path if is_alone else f"{path}#{one.number}", b"", one) for one in answers)
    numbers = {one.number for one in answers}
    beside = [one for one in bundle.exchanges if one.number not in numbers]
    return recordings, tuple(
        f"#{one.number}" if one.request is None else f"#{one.number} {one.request.method} {one.request.path}"
        for one in beside
    )


_FASTEST: Final = 1_000_000


def _pace(value: str) -> float:
    """How fast a recording is played: how many times as fast as it came, 1 for `real`, 0 for at once.

    Raises:
        BadParameter: The text says none of it.
    """
    try:
        factor = 1.0 if value == "real" else float(value)
    except ValueError:
        factor = -1.0
    if not 0 <= factor <= _FASTEST:
        expected = "real, 0 for at once, or how many times as fast, such as 10"
        raise click.BadParameter(f"got {value!r}, expected {expected}")
    return factor


PACE: Final = click.types.FuncParamType(_pace)


def notice(opened: OpenedRecordings, recordings: Sequence[Recording]) -> None:
    """Says on standard error what of a file is not used, if anything is."""
    if opened.left_out:
        left_out = ", ".join(opened.left_out)
        click.echo(on_one_line(f"{opened.file}: left out, no answers of a model: {left_out}"), err=True)
    rest = [one for one in opened.recordings if one not in recordings]
    if rest:
        used = ", ".join(one.label for one in recordings)
        others = ", ".join(one.label for one in rest)
        said = f"{opened.file} holds {len(opened.recordings)} answers: this is {used}; also {others}"
        click.echo(on_one_line(said), err=True)
