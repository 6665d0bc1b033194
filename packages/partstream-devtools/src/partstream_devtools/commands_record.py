"""`partstream record`: forwards between a client and a model server, and keeps in a file what goes through.

The options are checked first, then the recorder listens until Ctrl-C, and then the file is written. A screen says, as
text or JSON, where it listens, each exchange that is over, and the file. The page of `--inspect` runs in a process of
its own, so that it holds nothing up.
"""

from __future__ import annotations
import asyncio
import json
import subprocess
import sys
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import asdict
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import click

from partstream.cli.options import UnusableConfigurationError
from partstream.cli.program import program
from partstream.cli.terminal import echo_while_read
from partstream.codec.system import DATA, make_private_folder
from partstream.codec.text import counted, on_one_line
from partstream.errors import CallerError
from partstream_devtools.bundles.exchange import HowEnded
from partstream_devtools.recordings import check_new_file

if TYPE_CHECKING:
    from partstream.upstream.configuration import GatewayConfiguration
    from partstream_devtools.recorder.session import AnswerFacts

# ---- Screens ----

_KILO: Final = 1000
_ENDINGS: Final = {
    HowEnded.CUT: "the connection broke",
    HowEnded.CANCELLED: "the client left",
    HowEnded.NO_RESPONSE: "no response",
}


class RecordScreen:
    """Says what goes on, in lines for people or as one JSON object a line."""

    def __init__(self, *, as_json: bool) -> None:
        self._as_json = as_json

    def started(self, base_url: str, server: str, part: Path) -> None:
        """Says what to do with a client; `server` is the base URL that it forwards to, without secrets."""
        self._say(
            {"type": "listening", "base_url": base_url, "server": server, "part": str(part)},
            f"Recording {server} (Ctrl-C stops it and writes the file)",
            f"  Set the base URL of your client to {base_url}; its key stays as it is.",
            f"  Responses are saved immediately in {part}",
        )

    def answered(self, facts: AnswerFacts) -> None:
        """Says how it went, in one line."""
        said = asdict(facts)
        self._say({"type": "exchange", "milliseconds": round(said.pop("seconds") * 1000), **said}, line_of(facts))

    def failed(self, error: Exception) -> None:
        """Says why no file can be written; the exchanges go on."""
        why = f"the recording cannot be written: {_reason(error)}; requests are still forwarded"
        self._say({"type": "failure", "error": _reason(error)}, errors=[why])

    def stopping(self) -> None:
        """Says that it takes a moment."""
        self._say({"type": "stopping"}, "Writing the file: keys, cookies and ids of people are taken out.")

    def ended(self, files: Sequence[Path], left: Mapping[Path, Exception]) -> None:
        """Says where the files are, what is in them, and what to do next; in `left`, recordings as they have grown."""
        why = {str(path): _reason(error) for path, error in left.items()}
        lines = [f"Written: {path}" for path in files] or ([] if left else ["Nothing was recorded."])
        if files:
            lines.append(f"  It holds the texts of people and models. To share it: {program()} share FILE OUT")
            lines.append(f"  To inspect it: {program()} inspect FILE")
        errors = [f"the file cannot be made: {said}. What was recorded is in {path}" for path, said in why.items()]
        self._say({"type": "written", "files": [*map(str, files)], "left": why}, *lines, errors=errors)

    def _say(self, said: Mapping[str, Any], *lines: str, errors: Iterable[str] = ()) -> None:
        if self._as_json:
            echo_while_read(json.dumps(said, ensure_ascii=False))
            return
        for error in errors:
            click.echo(f"Error: {on_one_line(error)}", err=True)
        for line in lines:
            echo_while_read(line)


def line_of(facts: AnswerFacts) -> str:
    """An exchange in one line, such as `#3 POST /v1/responses 200 completed 1.2 s, 345 events, contract kept`."""
    words = [f"#{facts.number}", facts.method, facts.path, str(facts.status or "-")]
    if facts.outcome is not None:
        words.append(facts.outcome)
    seconds, size = facts.seconds, facts.bytes
    said = [f"{seconds:.1f} s" if seconds >= 1 else f"{seconds * 1000:.0f} ms"]
    if facts.ending in _ENDINGS:
        said.append(_ENDINGS[facts.ending])
    if facts.outcome is not None:
        said.append(counted(facts.events, "event"))
    elif size:
        said.append(f"{size} bytes" if size < _KILO else f"{size / _KILO:.1f} kB")
    if facts.broken is not None:
        said.append("contract kept" if not facts.broken else f"{counted(facts.broken, 'rule')} broken")
    if facts.error:
        said.append(facts.error)
    return on_one_line(f"{' '.join(words)} {', '.join(said)}")


def _reason(error: Exception) -> str:
    return getattr(error, "strerror", None) or str(error)


# ---- The command ----

_PORT: Final = 8643
"""Next to that of `partstream serve`."""
_FOLDER: Final = "recordings"
_SWITCH_SECONDS: Final = 0.0001
"""How long the thread that writes may hold up answers that go on; Python's own value is fifty times that."""


@click.command(short_help="Record the traffic between any client and any model server.")
@click.option("--to", "server", required=True, metavar="URL", help="Base URL of the server, as your client has it.")
@click.option(
    "--port",
    type=click.IntRange(0, 65535),
    default=_PORT,
    show_default=True,
    help="Port to listen on; 0 takes any free port.",
)
@click.option(
    "-o",
    "--output",
    "output",
    type=click.Path(dir_okay=False, path_type=Path),
    metavar="FILE",
    help="File to write, such as answers.partstream.zip or answers.har. Default: one in the folder of recordings.",
)
@click.option("--inspect", "inspects", is_flag=True, help="Open a page that shows the answers while they come.")
@click.option("--no-browser", is_flag=True, help="With --inspect: print the address of the page, open no browser.")
@click.option("--allow-insecure-http", is_flag=True, help="Allow http:// to another machine.")
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object per line.")
def command(
    *,
    server: str,
    port: int,
    output: Path | None,
    inspects: bool,
    no_browser: bool,
    allow_insecure_http: bool,
    as_json: bool,
) -> None:
    """Record the traffic between any client and any model server.

    Listens on 127.0.0.1 and forwards every request to the server at URL at once and unchanged; each read of an answer
    is kept with its time. Set the base URL of your client to the address that is printed. The client's key passes
    through to the server and into no file.

    Ctrl-C stops it and writes the file: without keys, cookies and ids of people, with the texts of people and models.
    `partstream share` redacts it for sharing; `partstream inspect`, `replay`, `check` and `upstream --replay`
    read it. If the recorder is killed, what came until then is in a file that ends with .partstream.part, which they
    read too.
    """
    from partstream.upstream.configuration import GatewayConfiguration  # noqa: PLC0415 - 0.2 s, after the options

    screen = RecordScreen(as_json=as_json)
    try:
        configuration = GatewayConfiguration(base_url=server, allow_insecure_http=allow_insecure_http)
    except CallerError as error:
        raise UnusableConfigurationError(f"--to: {error}") from error
    file = _file_of(output)
    sys.setswitchinterval(_SWITCH_SECONDS)
    try:
        asyncio.run(_record(configuration, port, file, screen, shows_page=inspects, opens_browser=not no_browser))
    except CallerError as error:
        raise UnusableConfigurationError(str(error)) from error


def _file_of(output: Path | None) -> Path:
    """The file to write.

    Raises:
        UsageError: It is there already, or has an ending of no form.
    """
    if output is None:
        folder = DATA.path() / _FOLDER
        make_private_folder(folder)
        return folder / f"{datetime.now(UTC):%Y%m%d-%H%M%S}-record.partstream.zip"
    check_new_file("--output", output)
    return output.absolute()


@contextmanager
def _page_beside(*, opens_browser: bool) -> Iterator[None]:
    """Shows the answers in a page until the end of the block, by a process of its own: a page must hold nothing up."""
    browser = () if opens_browser else ("--no-browser",)
    command = (sys.executable, "-P", "-m", "partstream", "inspect", "--live", *browser)
    # A session of its own: Ctrl-C is for the recorder, which ends the page itself.
    with subprocess.Popen(command, stdin=subprocess.DEVNULL, start_new_session=True) as page:  # noqa: S603 - our own
        try:
            yield
        finally:
            page.terminate()


async def _record(
    configuration: GatewayConfiguration,
    port: int,
    file: Path,
    screen: RecordScreen,
    *,
    shows_page: bool,
    opens_browser: bool,
) -> None:
    from partstream.server.listening import stopped_by_signals  # noqa: PLC0415
    from partstream_devtools.recorder.session import RecordingSession  # noqa: PLC0415 - the checks of the options come first

    stopped = asyncio.Event()
    with ExitStack() as beside, stopped_by_signals(stopped.set):
        try:
            session = RecordingSession(configuration, file, port, screen.answered, screen.failed)
        except OSError as error:
            raise click.UsageError(f"--output: cannot write {file}: {error.strerror or error}") from error
        try:
            async with session:
                screen.started(session.base_url, configuration.shown_url, session.recordings.growing)
                if shows_page:
                    beside.enter_context(_page_beside(opens_browser=opens_browser))
                await stopped.wait()
                screen.stopping()
        except OSError as error:
            way = "; --port names another, and 0 any free one"
            raise click.ClickException(f"cannot listen on 127.0.0.1:{port}: {error.strerror or error}{way}") from error
    screen.ended(session.recordings.files, session.recordings.left)
