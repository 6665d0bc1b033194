"""What `partstream conformance` does beside the fixed scenarios: generated conversations, kept failures, and files.

The options stand here, so that the command itself is about its target.
"""

from __future__ import annotations

import asyncio
import json
import math
import os
import shlex
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from secrets import randbelow
from typing import TYPE_CHECKING, Any, Final

import click

from partstream.cli.opened_recordings import PACE, open_recordings
from partstream.codec.redaction import Redactor
from partstream.codec.system import CACHE
from partstream.devtools.conformance.fuzzing import (
    FOLDER,
    FuzzSettings,
    Opening,
    VirtualTimeLoop,
    replay,
    search,
    with_baseline,
    with_generated,
    with_minimal_failures,
    without_secrets,
)
from partstream.devtools.conformance.report import baseline_text, read_baseline, read_report, secrets_of
from partstream.devtools.conformance.report_formats import (
    badge_json,
    badge_svg,
    junit_xml,
    markdown_summary,
    matrix_html,
)
from partstream.devtools.conformance.running import replay_exchanges
from partstream.devtools.recorded_stream import RecordingError
from partstream.devtools.testing.admission import BASE_PATHS
from partstream.errors import CallerError

if TYPE_CHECKING:
    from collections.abc import Callable, Coroutine, Mapping, Sequence

    from partstream.devtools.conformance.report import Report

__all__ = ["finished", "generated", "matrix_of", "report_options", "secrets_of_command", "write_files"]

_SEEDS: Final = 2**31
_EXAMPLES, _EXAMPLE_SECONDS = 50, 30.0
"""How many conversations are tried in so many seconds."""

_PATH: Final = click.Path(path_type=Path)
_EXISTING: Final = click.Path(path_type=Path, exists=True, dir_okay=False)

_OPTIONS: Final = (
    click.option(
        "--fuzz",
        type=click.FloatRange(0, min_open=True),
        metavar="SECONDS",
        help="Generate conversations too, for so long at the most. Needs the extra `conformance`.",
    ),
    click.option(
        "--seed",
        type=click.IntRange(0),
        metavar="N",
        help="The seed of what is generated. Default: 0 where CI is set, else another one each time.",
    ),
    click.option(
        "--other-protocol", metavar="NAME", help="With --fuzz: the same has to come over this protocol of the upstream."
    ),
    click.option(
        "--failures",
        type=_PATH,
        default=Path(FOLDER),
        show_default=True,
        metavar="FOLDER",
        help="Where the smallest failures are kept.",
    ),
    click.option("--no-shrink", is_flag=True, help="Do not make failures smaller."),
    click.option(
        "--replay",
        metavar="FILE",
        help="Repeat a kept failure, or have the model server of the kit send recorded exchanges, and nothing else.",
    ),
    click.option(
        "--pace",
        type=PACE,
        default="0",
        metavar="real|0|N",
        show_default=True,
        help="With --replay: send recorded exchanges as fast as they came, at once, or N times as fast.",
    ),
    click.option(
        "--baseline", type=_EXISTING, metavar="FILE", help="Known failures, as TOML or JSON; stale ones fail."
    ),
    click.option("--write-baseline", type=_PATH, metavar="FILE", help="Write a baseline of all that fails now."),
    click.option("--junit", type=_PATH, metavar="FILE", help="Write the report as JUnit XML."),
    click.option("--markdown", type=_PATH, metavar="FILE", help="Write a summary as Markdown."),
    click.option(
        "--badge",
        "badges",
        type=_PATH,
        multiple=True,
        metavar="FILE",
        help="Write a badge: an SVG, or JSON for shields.io if the name ends with .json; repeat for both.",
    ),
    click.option(
        "--matrix", is_flag=True, help="Print a page of HTML that compares reports: the arguments are files of --json."
    ),
)


def report_options(function: Callable[..., Any]) -> Callable[..., Any]:
    """Adds the options."""
    for option in reversed(_OPTIONS):
        function = option(function)
    return function


def matrix_of(files: Sequence[str]) -> str:
    """The page that compares the reports in these files.

    Raises:
        CallerError: No file is given, or one is no report.
    """
    if not files:
        raise CallerError("--matrix: got no file, expected the files of `partstream conformance --json`")
    return matrix_html([read_report(Path(file)) for file in files])


def secrets_of_command(target: str, key_env: str | None) -> Redactor:
    """What removes the secrets of a run: of the target's command line or address, and of the environment."""
    try:
        words = shlex.split(target)
    except ValueError:  # a quotation that does not end
        words = target.split()
    key = [] if key_env is None else [os.environ.get(key_env, "")]
    return Redactor({*secrets_of(command=words, environment=os.environ), *key})


def generated(opening: Opening, options: Mapping[str, Any], redactor: Redactor) -> Report:
    """Repeats a kept failure, or generates conversations, as the options say.

    Raises:
        CallerError: The target cannot be tested, a file is no kept failure, or Hypothesis is not installed.
    """
    if options["replay"] is not None:
        return _run(_replaying(opening, options["replay"], options["pace"]), is_in_process=_is_in_process(options))
    # Hypothesis keeps what it read of the user's modules, by default in the folder where the command runs.
    os.environ.setdefault("HYPOTHESIS_STORAGE_DIRECTORY", str(CACHE.path() / "hypothesis"))
    seed = options["seed"]
    if seed is None:
        seed = 0 if os.environ.get("CI") else randbelow(_SEEDS)
    seconds = options["fuzz"]
    examples = max(_EXAMPLES, math.ceil(_EXAMPLES * seconds / _EXAMPLE_SECONDS))
    settings = FuzzSettings(seconds, examples, seed)
    searching = search(opening, settings, options["failures"], redactor)
    return _run(searching, is_in_process=_is_in_process(options))


def _replaying(opening: Opening, file: str, pace: float) -> Coroutine[Any, Any, Report]:
    """Repeats a kept failure, which is JSON, or replays recorded exchanges.

    Raises:
        CallerError: The file is neither.
    """
    try:
        recordings = open_recordings(file).recordings
    except RecordingError as error:
        raise CallerError(f"--replay: {error}") from error
    exchanges = tuple(one.exchange for one in recordings if one.exchange is not None)
    if not exchanges:
        return replay(opening, Path(file))
    spoken = next((one.protocol for one in recordings if one.protocol is not None), None)
    if opening.protocol is None and spoken in BASE_PATHS:
        opening = replace(opening, protocol=spoken)
    return replay_exchanges(opening, exchanges, file, pace)


def finished(
    report: Report, opening: Opening, options: Mapping[str, Any], redactor: Redactor, further: Report | None = None
) -> Report:
    """The report with its failures made smaller, with further results, the baseline, and without secrets.

    Raises:
        CallerError: The target cannot be opened again, or the baseline cannot be read.
    """
    whole = report
    if not options["no_shrink"] and "://" not in options["target"] and options["replay"] is None:
        shrinking = with_minimal_failures(report, opening, options["failures"], redactor)
        whole = _run(shrinking, is_in_process=_is_in_process(options))
    if further is not None:
        whole = with_generated(whole, further)
    if options["baseline"] is not None:
        whole = with_baseline(whole, read_baseline(options["baseline"]))
    return without_secrets(whole, redactor)


def write_files(report: Report, options: Mapping[str, Any]) -> None:
    """Writes the files that the options name.

    Raises:
        CallerError: A file cannot be written.
    """
    said, day = report.to_json(), (report.date or datetime.now(UTC).isoformat())[:10]
    files: list[tuple[Path | None, Callable[[], str]]] = [
        (options["junit"], lambda: junit_xml(said)),
        (options["markdown"], lambda: markdown_summary(said)),
        (options["write_baseline"], lambda: baseline_text(report.checks)),
        *((path, _badge(path, said, day)) for path in options["badges"]),
    ]
    for path, content in files:
        if path is not None:
            _write(path, content())


def _badge(path: Path, said: Mapping[str, Any], day: str) -> Callable[[], str]:
    if path.suffix == ".json":
        return lambda: json.dumps(badge_json(said, day)) + "\n"
    return lambda: badge_svg(said, day)


def _write(path: Path, content: str) -> None:
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(content, encoding="utf-8")
    except OSError as error:
        raise CallerError(f"cannot write {path}: {error.strerror or error}") from error


def _is_in_process(options: Mapping[str, Any]) -> bool:
    return not options["is_command"] and "://" not in options["target"]


def _run(work: Coroutine[Any, Any, Report], *, is_in_process: bool) -> Report:
    """Runs it on a clock that jumps over pauses where everybody who waits is in this process.

    Raises:
        CallerError: A file cannot be written, or what the work itself raises.
    """
    with asyncio.Runner(loop_factory=VirtualTimeLoop if is_in_process else None) as runner:
        try:
            return runner.run(work)
        except OSError as error:
            raise CallerError(f"cannot write {error.filename or 'a file'}: {error.strerror or error}") from error
