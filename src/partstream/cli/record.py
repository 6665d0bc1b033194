"""`partstream record`: stands between a client and a model server and keeps what goes by in a file."""

from __future__ import annotations

import asyncio
import subprocess
import sys
from contextlib import ExitStack, contextmanager
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Final

import click

from partstream.cli.options import UnusableConfigurationError
from partstream.cli.record_screen import RecordJsonScreen, RecordScreen, RecordTextScreen
from partstream.codec.system import DATA
from partstream.devtools.bundles.forms import FORMS
from partstream.errors import CallerError

if TYPE_CHECKING:
    from collections.abc import Iterator

    from partstream.upstream.configuration import GatewayConfiguration

__all__ = ["command"]

_PORT: Final = 8643
"""Beside that of `partstream serve`."""
_FOLDER: Final = "recordings"
_WRITTEN: Final = tuple(ending for form in FORMS if form.write is not None for ending in form.endings)
_SWITCH_SECONDS: Final = 0.0001
"""How long the thread that writes may hold up answers that go on; Python's own value is fifty times that."""


@click.command(short_help="Record what goes by between any client and any model server.")
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
    """Record what goes by between any client and any model server.

    Listens on 127.0.0.1 and forwards every request to the server at URL at once and unchanged; each read of an answer
    is kept with its time. Set the base URL of your client to the address that is printed. The client's key passes
    through to the server and into no file.

    Ctrl-C ends it and writes the file: without keys, cookies and ids of people, with what people and models wrote.
    `partstream share` makes a file to give away of it; `partstream inspect`, `replay`, `check` and `upstream --replay`
    read it. If the recorder is killed, what came until then is in a file that ends with .partstream.part, which they
    read too.
    """
    from partstream.upstream.configuration import GatewayConfiguration  # noqa: PLC0415 - 0.2 s, after the options

    screen: RecordScreen = RecordJsonScreen() if as_json else RecordTextScreen()
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
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        return folder / f"{datetime.now(UTC):%Y%m%d-%H%M%S}-record.partstream.zip"
    if not output.name.lower().endswith(_WRITTEN):
        known = ", ".join(form.endings[0] for form in FORMS if form.write is not None)
        raise click.UsageError(f"--output: got {output.name!r}, expected a name that ends with one of {known}")
    if output.exists():
        raise click.UsageError(f"--output: {output} is there already; a recording replaces no file")
    if not output.absolute().parent.is_dir():
        raise click.UsageError(f"--output: there is no folder {output.absolute().parent}")
    return output.absolute()


@contextmanager
def _page_beside(*, opens_browser: bool) -> Iterator[None]:
    """Shows the answers in a page until the end of the block, by a process of its own: a page must hold nothing up."""
    command = (sys.executable, "-m", "partstream", "inspect", "--live", *([] if opens_browser else ["--no-browser"]))
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
    from partstream.devtools.recorder.session import RecordingSession  # noqa: PLC0415 - the checks of the options come first
    from partstream.server.listening import stopped_by_signals  # noqa: PLC0415

    stopped = asyncio.Event()
    with ExitStack() as beside, stopped_by_signals(stopped.set):
        try:
            session = RecordingSession(configuration, file, port, screen.answered, screen.failed)
        except OSError as error:
            raise click.UsageError(f"--output: cannot write {file}: {error.strerror or error}") from error
        try:
            async with session:
                screen.started(session.base_url, configuration.shown_url, session.part)
                if shows_page:
                    beside.enter_context(_page_beside(opens_browser=opens_browser))
                await stopped.wait()
                screen.stopping()
        except OSError as error:
            way = "; --port names another, and 0 any free one"
            raise click.ClickException(f"cannot listen on 127.0.0.1:{port}: {error.strerror or error}{way}") from error
    screen.ended(session.files, session.left)
