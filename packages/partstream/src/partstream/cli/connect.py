"""`partstream connect`: tells a client how to ask a server; prints the settings, or writes and takes them back.

A server that runs is asked for its models, over an ordinary upstream; with `--model`, none has to run. The token is in
no setting: they say where the client finds it. :mod:`partstream.cli.client_settings` knows the clients and changes
their files.
"""

from __future__ import annotations
import asyncio
import os
import re
import shlex
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import asdict
from pathlib import Path
from typing import Any, Final
from urllib.parse import urlsplit

import click

from partstream.cli.client_settings import CLIENTS, EDITORS, Client, Editor, FileSettings, Server, Settings, TokenPlace
from partstream.cli.console import Questions, make_console
from partstream.cli.options import UnusableConfigurationError
from partstream.cli.terminal import ExitCode
from partstream.codec.json_codec import dumps
from partstream.codec.system import DATA
from partstream.codec.text import visible
from partstream.errors import CallerError, LanguageModelError, LanguageModelErrorCode
from partstream.runtime.provider_files import default_name
from partstream.server.clients import TOKEN_VARIABLE, given_token, machine_token_file
from partstream.server.listening import DEFAULT_HOST, DEFAULT_PORT
from partstream.settings.kinds import ConfigurationError, closest_name, shown_name
from partstream.upstream.endpoint import Secret, with_scheme
from partstream.upstream.model_information import ModelRecord

_URL: Final = f"http://{DEFAULT_HOST}:{DEFAULT_PORT}"
_RECORDS: Final = "client-settings"


@click.command(short_help="Set up a client, such as Codex or Claude Code, for a running server.")
@click.argument("name", metavar="CLIENT", required=False)
@click.option("--url", default=_URL, metavar="URL", help="Address of the server, without a path.", show_default=True)
@click.option(
    "--model", "model_id", metavar="ID", help="The model to ask. Default: the server's only one, or the first."
)
@click.option("--wire", metavar="NAME", help="What to speak, for a client that speaks several; `--list` names them.")
@click.option(
    "--token-file",
    type=click.Path(path_type=Path),
    metavar="FILE",
    help=f"File that holds the server's token. Default: {TOKEN_VARIABLE} if it is set, else the file that the server "
    "keeps its token in.",
)
@click.option("--provider", "source", metavar="FILE", help="For an editor: the provider or agent that answers.")
@click.option("--profile", metavar="NAME", help="For an editor: the profile whose models answer.")
@click.option("--write", "writes", is_flag=True, help="Write the settings into the client's own file.")
@click.option("--undo", "takes_back", is_flag=True, help="Undo what --write wrote.")
@click.option("--list", "lists", is_flag=True, help="List the clients.")
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object.")
def command(
    *,
    name: str | None,
    url: str,
    model_id: str | None,
    wire: str | None,
    token_file: Path | None,
    source: str | None,
    profile: str | None,
    writes: bool,
    takes_back: bool,
    lists: bool,
    as_json: bool,
) -> None:
    """Set up a client for a server that `partstream serve` runs, or an editor that starts `partstream acp`.

    Prints the settings of CLIENT and changes nothing. With --write, they go into the client's own file, where
    everything else stays as it is; --undo removes them. They do not hold the token: they name where it is kept. A
    running server is asked for its models; with --model, no server needs to run. The exit code is 0, 1 if a file cannot
    be changed, 2 for a wrong option, and 3 if no server answers.
    """
    known = [*CLIENTS, *EDITORS]
    if lists or name is None:
        width = max(map(len, known))
        for client in CLIENTS.values():
            click.echo(f"{client.name:<{width}}  {client.title}, over {', '.join(client.wires)}")
        for editor in EDITORS.values():
            click.echo(f"{editor.name:<{width}}  {editor.title}, with --provider or --profile")
        return
    if name in EDITORS:
        with _explained():
            _connect_editor(EDITORS[name], source, profile, model_id, writes, takes_back, as_json)
        return
    if name not in CLIENTS:
        close = closest_name(name, known)
        hint = f"; perhaps {close}" if close else ""
        raise click.UsageError(f"CLIENT: got {shown_name(name)}, expected one of {', '.join(known)}{hint}")
    if source is not None or profile is not None:
        raise click.UsageError(f"--provider, --profile: got one for {name}, expected one of {', '.join(EDITORS)}")
    client = CLIENTS[name]
    chosen = _wire(client, wire)
    with _explained():
        if takes_back:
            _take_back(client, client.settings(Server(_URL, "", _token(None)), client.wires[0]))
            return
        token = _token(token_file)
        server = _server(_root(url), model_id, token, token_file, may_ask_person=not as_json)
        settings = client.settings(server, chosen)
        if writes:
            _write(client, server, settings)
        elif as_json:
            click.echo(dumps(_as_json(client, server, settings)))
        else:
            _print(client, server, settings, chosen)


@contextmanager
def _explained() -> Iterator[None]:
    """Ends the command with what a file or a setting has wrong."""
    try:
        yield
    except ConfigurationError as error:
        click.echo(f"{error.where}: got {error.got}, expected {error.expected}", err=True)
        sys.exit(ExitCode.FOUND)
    except CallerError as error:
        raise UnusableConfigurationError(str(error)) from None
    except OSError as error:
        click.echo(f"{error.filename}: {error.strerror}", err=True)
        sys.exit(ExitCode.FOUND)


def _wire(client: Client, wire: str | None) -> str:
    if wire is not None and wire not in client.wires:
        spoken = ", ".join(client.wires)
        raise click.UsageError(f"--wire: got {shown_name(wire)}, expected one that {client.title} speaks: {spoken}")
    return wire or client.wires[0]


def _root(url: str) -> str:
    """The address of the server, with the scheme that it may lack and without a `/v1` at its end."""
    url = with_scheme(url)
    try:
        parts = urlsplit(url)
        is_usable = parts.scheme in {"http", "https"} and bool(parts.hostname) and not (parts.query or parts.fragment)
        is_usable = is_usable and parts.username is None and parts.port != 0
    except ValueError:
        is_usable = False
    if not is_usable:
        # With an @ in it, it may hold a password.
        got = f"{shown_name(url)} without http://" if "://" not in url and "@" not in url else "something else"
        raise click.UsageError(f"--url: got {got}, expected an address such as {_URL}, without a name in it")
    return url.rstrip("/").removesuffix("/v1").rstrip("/")


def _token(token_file: Path | None) -> TokenPlace:
    """Where clients find the token: the file that is named, the variable if it is set, the file of the server."""
    if token_file is not None:
        return TokenPlace(TOKEN_VARIABLE, token_file.absolute())
    return TokenPlace(TOKEN_VARIABLE, None if TOKEN_VARIABLE in os.environ else machine_token_file())


def _server(
    root: str, model_id: str | None, place: TokenPlace, token_file: Path | None, *, may_ask_person: bool
) -> Server:
    kept = machine_token_file()
    file = token_file or (kept if place.file is not None and kept.is_file() else None)
    token = given_token({} if file is not None else os.environ, file)
    try:
        records = asyncio.run(_listed(root, None if token is None else token.secret))
    except LanguageModelError as error:
        if model_id is not None:
            _check_model(model_id)
            _note(f"Note: {root} did not list its models, so {model_id} was not looked for: {error.message}")
            return Server(root, model_id, place)
        way_out = "Start a server by `partstream serve FILE`, name another by --url, or a model by --model."
        if error.code == LanguageModelErrorCode.NO_PERMISSIONS:
            got = "No token was found" if token is None else f"The token is the one in {token.where}"
            way_out = f"{got}; --token-file names the file of another, --url another server."
        _note(f"{error.message}\n{way_out}")
        sys.exit(ExitCode.FAILED)
    if token is None:  # it has answered nevertheless
        place = TokenPlace(TOKEN_VARIABLE, is_needed=False)
    record = _chosen(records, model_id, may_ask_person=may_ask_person)
    _check_model(record.id)
    # Only limits that the server declares; those that would be assumed are left to the client.
    window, output = record.context_window or record.max_input_tokens, record.max_output_tokens
    limits = (None if one is None else one.value for one in (window, output))
    return Server(root, record.id, place, *limits)


async def _listed(root: str, token: Secret | None) -> list[ModelRecord]:
    from partstream.protocols.protocol import DEFAULT_PROTOCOL  # noqa: PLC0415 - with httpx2, which takes 0.1 s
    from partstream.upstream.configuration import GatewayConfiguration  # noqa: PLC0415
    from partstream.upstream.detection import open_upstream  # noqa: PLC0415

    configuration = GatewayConfiguration(
        f"{root}/v1", protocol=DEFAULT_PROTOCOL, api_key=token, allow_insecure_http=True, ledger=False
    )
    async with open_upstream(configuration) as upstream:
        return [model.record for model in await upstream.models.offered()]


def _chosen(records: Sequence[ModelRecord], model_id: str | None, *, may_ask_person: bool) -> ModelRecord:
    ids = [record.id for record in records]
    if model_id is not None:
        if model_id not in ids:
            listed = _few(ids)
            raise click.UsageError(f"--model: got {shown_name(model_id)}, expected one that the server lists: {listed}")
        return records[ids.index(model_id)]
    if not records:
        _note("The server lists no models; name one by --model.")
        sys.exit(ExitCode.FAILED)
    if len(records) > 1:
        if may_ask_person and sys.stdin.isatty() and sys.stdout.isatty():
            questions = Questions(make_console(), has_person=True)
            find = {one: ids.index(one) for one in ids}.get
            return records[questions.choice("Which model", "--model", ids, find=find)]
        _note(f"Note: the model is {ids[0]}, the first of {len(ids)}; --model names another: {_few(ids[1:])}")
    return records[0]


def _check_model(model_id: str) -> None:
    """Refuses an id that is not on one line: what is printed may be pasted into a shell. In their settings, clients put
    a file for `{file:…}` and a variable for `$NAME`, and would send it to the server as the name of the model."""
    if not model_id.isprintable() or re.search(r"[{}]|\$\w", model_id):
        expected = "printable characters without {, } and $NAME"
        raise click.UsageError(f"the id of the model: got {model_id!r:.80}, expected {expected}")


def _few(ids: Sequence[str]) -> str:
    most = 12
    return ", ".join(ids[:most]) + (f" and {len(ids) - most} more" if len(ids) > most else "")


def _print(client: Client, server: Server, settings: Settings, wire: str) -> None:
    lines = [f"# {client.title}: {server.root}, {server.model}, {wire}"]
    shell = settings.exports()
    for one in settings.files:
        heading = f"# {_shown(_path(one))} (--write puts it there)"
        lines += ["", heading, *one.shown().rstrip("\n").splitlines()]
    if shell:
        instead = " instead, for one shell" if settings.files and settings.is_environment_enough else ""
        lines += ["", f"# in the shell{instead}", *shell]
    if settings.program is not None:
        lines += ["", f"# in {settings.program.language}", *settings.program.text.rstrip("\n").splitlines()]
    if client.run:
        lines += ["", "# then", _run(client, server)]
    click.echo("\n".join(lines))
    _show_notes(client, server.token)


def _show_notes(client: Client, token: TokenPlace) -> None:
    notes = [*client.notes]
    if not token.is_needed:
        notes.append("The server needs no token: every program on its machine may send requests.")
    elif token.file is None:
        notes.append(f"{token.variable} has to be set where the client runs too.")
    elif not token.file.is_file():
        notes.append(f"{token.file} is made when `partstream serve` runs for the first time.")
    for note in notes:
        _note(f"Note: {note}")


def _as_json(client: Client, server: Server, settings: Settings) -> dict[str, Any]:
    return {
        "client": client.name,
        "url": server.root,
        "model": server.model,
        "files": [{"path": str(_path(one)), "text": one.shown()} for one in settings.files],
        "environment": {
            name: {"command": list(value.command)} if isinstance(value, TokenPlace) else value
            for name, value in settings.environment.items()
        },
        "isEnvironmentEnough": settings.is_environment_enough,
        "program": None if settings.program is None else asdict(settings.program),
        "run": _run(client, server),
    }


def _write(client: Client, server: Server, settings: Settings) -> None:
    _write_files(client, settings)
    if settings.environment and not settings.is_environment_enough:
        click.echo("\n".join(["", "# in the shell", *settings.exports()]))
    if client.run:
        click.echo(f"\n# then\n{_run(client, server)}")
    _show_notes(client, server.token)


def _connect_editor(
    editor: Editor,
    source: str | None,
    profile: str | None,
    model_id: str | None,
    writes: bool,
    takes_back: bool,
    as_json: bool,
) -> None:
    """Prints, writes or takes back the settings with which an editor starts `partstream acp`."""
    if takes_back:
        _take_back(editor, editor.settings("", [""]))
        return
    if (source is None) == (profile is None):
        raise click.UsageError("--provider FILE or --profile NAME: expected one of them, for what answers")
    what = ["--profile", profile or ""] if source is None else [_absolute(source)]
    chosen = [] if model_id is None else ["--model", model_id]
    # Editors that were not started in a shell know neither its PATH nor the active environment.
    words = [sys.executable, "-P", "-m", "partstream", "acp", *what, *chosen]
    settings = editor.settings(default_name(source) if source else profile or "", words)
    if writes:
        _write_files(editor, settings)
    elif as_json:
        files = [{"path": str(_path(one)), "text": one.shown()} for one in settings.files]
        program = None if settings.program is None else asdict(settings.program)
        click.echo(dumps({"client": editor.name, "command": words, "files": files, "program": program}))
    else:
        for one in settings.files:
            click.echo(f"# {_shown(_path(one))} (--write puts it there)\n{one.shown()}", nl=False)
        if settings.program is not None:
            click.echo(f"# in {settings.program.language}\n{settings.program.text}", nl=False)
    for note in editor.notes:
        _note(f"Note: {note}")


def _absolute(source: str) -> str:
    """A source whose file is named from the root: an editor starts programs in any folder."""
    file, colon, attribute = source.rpartition(":")
    place, rest = (file, colon + attribute) if file.endswith(".py") else (source, "")
    return f"{Path(place).expanduser().absolute()}{rest}" if place.endswith(".py") else source


def _write_files(client: Client | Editor, settings: Settings) -> None:
    from partstream.cli.client_settings import write  # noqa: PLC0415 - printing does without it

    if not settings.files:
        said = f"{client.title} has no file for these settings; without --write they are printed"
        raise click.UsageError(f"--write: {said}")
    for outcome in write([(_path(one), one) for one in settings.files], _record(client)):
        click.echo(f"{_shown(outcome.path)}: {outcome.done}")


def _take_back(client: Client | Editor, settings: Settings) -> None:
    from partstream.cli.client_settings import take_back  # noqa: PLC0415

    outcomes = take_back([(_path(one), one) for one in settings.files], _record(client))
    for outcome in outcomes:
        click.echo(f"{_shown(outcome.path)}: {outcome.done}")
        if outcome.left:
            _note(f"Note: {', '.join(outcome.left)} has changed since, and is left as it is.")
    if not outcomes:
        click.echo(f"Nothing was written for {client.title}.")


def _run(client: Client, server: Server) -> str:
    """The command that starts the client, for a shell."""
    return shlex.join(word.format(model=server.model) for word in client.run)


def _record(client: Client | Editor) -> Path:
    return DATA.path() / _RECORDS / f"{client.name}.json"


def _path(settings: FileSettings) -> Path:
    return settings.file.path(os.environ)


def _shown(path: Path) -> str:
    home = Path.home()
    return f"~/{path.relative_to(home).as_posix()}" if path.is_relative_to(home) else str(path)


def _note(text: str) -> None:
    click.echo(visible(text), err=True)
