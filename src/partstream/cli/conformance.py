"""`partstream conformance`: tests a provider or a model server against the contract, and says what it breaks.

The testing is in :mod:`partstream.devtools.conformance`; what is printed, in :mod:`partstream.cli.conformance_screen`.
"""

from __future__ import annotations

import asyncio
import json
import os
import shlex
import subprocess
import sys
import tempfile
from contextlib import nullcontext, redirect_stdout
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import click

from partstream.cli.conformance_parsers import names_parser, parser_of, parser_options
from partstream.cli.conformance_reports import (
    finished,
    generated,
    matrix_of,
    report_options,
    secrets_of_command,
    write_files,
)
from partstream.cli.conformance_screen import ReportScreen
from partstream.cli.console import make_console
from partstream.cli.options import check_variable
from partstream.cli.terminal import ExitCode
from partstream.codec.text import visible
from partstream.devtools.conformance.checks import LATEST, PROMISES
from partstream.devtools.conformance.driving import Capabilities, TimeLimits
from partstream.devtools.conformance.exercises import GENERATED
from partstream.devtools.conformance.fuzzing import Opening, check_can_generate
from partstream.devtools.conformance.report import ReportCode
from partstream.devtools.conformance.running import run
from partstream.devtools.conformance.scenarios import SCENARIOS, all_rows, selected
from partstream.devtools.conformance.stdio_target import StdioTarget
from partstream.devtools.conformance.targets import MOST_REQUESTS, BaseURLTarget
from partstream.errors import CallerError, LanguageModelError, LanguageModelErrorCode

if TYPE_CHECKING:
    from partstream.codec.redaction import Redactor
    from partstream.devtools.conformance.driving import Target
    from partstream.devtools.conformance.report import Report

__all__ = ["command"]

_SECONDS: Final = "PARTSTREAM_CONFORMANCE_SECONDS"
_ENDED: Final = "PARTSTREAM_CONFORMANCE_ENDED"
"""The variable with the file that a process of --isolated makes when it has ended by itself: a provider can end it too,
with any code."""

_HELP: Final = """Test a provider or a model server against the contract.

TARGET is a provider (file.py, file.py:attribute, module:attribute), a function that makes one of the parameter
`upstream` (a base URL: the kit is the model server then) or `script`, or the base URL of a model server. A command that
speaks the sidecar's protocol is given with --stdio. A parser makes parts of the bytes of a stream: a function whose
first parameter is named `data` or `chunks` or annotated with bytes, or any function with --parser. CHECK selects checks
by the beginning of their names, such as `tool-call` or `cancel-in-text`.

\b
partstream conformance my_provider.py
partstream conformance my_provider.py:make tool-call
partstream conformance http://localhost:8080/v1 --protocol NAME
partstream conformance my_parser.py:parse --parser --protocol NAME

The exit code is 0 if the contract is kept, 1 if it is broken, 2 if the target cannot be tested, and 3 if the kit itself
failed."""


@click.command("conformance", help=_HELP)
@click.argument("target", required=False)
@click.argument("checks", metavar="[CHECK]...", nargs=-1)
@click.option("--list", "lists", is_flag=True, help="List the checks, and test nothing.")
@click.option("--section", metavar="N", help="Judge the promises of a section of the contract only, such as 3 or 3.2.")
@click.option(
    "--protocol",
    metavar="NAME",
    help="The protocol of the base URL, that a target asks its upstream in, or that a parser reads.",
)
@click.option("--stdio", "is_command", is_flag=True, help="TARGET is a command that speaks the sidecar's protocol.")
@click.option("--no-upstream", is_flag=True, help="The command has a model of its own: the prompts say what to do.")
@click.option(
    "--provider", "providers", metavar="SOURCE", multiple=True, help="A provider that the command is to load."
)
@parser_options
@click.option("--isolated", is_flag=True, help="Run the provider in a process of its own.")
@click.option("--model", metavar="ID", help="The model to ask; the first that calls tools without it.")
@click.option(
    "--capability",
    "capabilities",
    metavar="NAME[=VALUE]",
    multiple=True,
    help="What the target can do; repeat for more.",
)
@click.option("--prompt", "prompts", metavar="SCENARIO=TEXT", multiple=True, help="What to say to provoke a scenario.")
@click.option("--key-env", metavar="VARIABLE", help="The environment variable that holds the key of a base URL.")
@click.option(
    "--allow-remote", is_flag=True, help="Allow a base URL on another machine: it gets prompts, and may cost."
)
@click.option(
    "--max-requests",
    type=click.IntRange(1),
    default=MOST_REQUESTS,
    show_default=True,
    metavar="N",
    help="The most answers that a base URL is asked for.",
)
@click.option(
    "--seconds",
    type=click.FloatRange(0.1),
    default=10.0,
    envvar=_SECONDS,
    show_default=True,
    metavar="N",
    show_envvar=True,
    help="The most seconds that one answer may take.",
)
@click.option("--requirements", default=LATEST, show_default=True, metavar="SET", help="The checks that count.")
@click.option(
    "--json",
    "json_file",
    type=click.File("w", encoding="utf-8"),
    metavar="FILE",
    help="Write the whole report as JSON; - for standard output.",
)
@report_options
@click.option("-v", "--verbose", is_flag=True, help="Print every check.")
@click.pass_context
def command(context: click.Context, /, **options: Any) -> None:
    """Runs the command."""
    try:
        code = _run(options)
    except CallerError as error:
        context.exit(_refused(f"{error}{_way_out(error, options)}", options))
    except click.FileError as error:  # its own exit code says that the contract is broken
        context.exit(_refused(error.format_message(), options))
    except SystemExit as error:  # of the provider: its code says nothing of the contract
        context.exit(_refused(f"the provider ended the process with {error!r}", options))
    _say_that_it_has_ended()
    context.exit(code)


def _refused(reason: str, options: dict[str, Any]) -> int:
    """Says why the target cannot be tested, without secrets."""
    _say_that_it_has_ended()
    told = secrets_of_command(options["target"] or "", options["key_env"]).redact(reason)
    make_console(stderr=True).print(f"error: {visible(told)}", style="bold red", markup=False)
    return ReportCode.NOT_USABLE


def _way_out(error: CallerError, options: dict[str, Any]) -> str:
    """The option that helps, where the server wants a key and got none."""
    cause = error.__cause__
    wants_key = isinstance(cause, LanguageModelError) and cause.code == LanguageModelErrorCode.NO_PERMISSIONS
    return "; --key-env VARIABLE sends it a key" if wants_key and options["key_env"] is None else ""


def _run(options: dict[str, Any]) -> int:
    """Does what the options say, and returns the exit code.

    Raises:
        CallerError: The target cannot be tested, or an option is of no use.
    """
    if options["lists"]:
        checks = [*([options["target"]] if options["target"] else []), *options["checks"]]
        _list(tuple(checks), options)
        return ReportCode.KEPT
    if options["matrix"]:
        click.echo(matrix_of([one for one in (options["target"], *options["checks"]) if one]), nl=False)
        return ReportCode.KEPT
    if not options["target"]:
        raise click.UsageError("Missing argument 'TARGET'.")
    # Before the target starts, which says whether it is a parser.
    selected(options["checks"], options["section"], all_rows() if options["checks"] else SCENARIOS)
    if options["fuzz"] is not None and options["replay"] is None:
        check_can_generate()
    if options["isolated"] and not options["is_command"]:
        return _in_a_process_of_its_own()
    json_file = options["json_file"]
    is_quiet = json_file is not None and json_file.name in {"-", "<stdout>"}
    redactor = secrets_of_command(options["target"], options["key_env"])
    screen = None if is_quiet else ReportScreen(is_verbose=options["verbose"], redactor=redactor)
    # What a provider prints is for people, and must not stand in the middle of the JSON.
    with redirect_stdout(sys.stderr) if is_quiet else nullcontext():
        report = _tested(options, redactor, screen)
    write_files(report, options)
    if json_file is not None:
        json.dump(report.to_json(), json_file, ensure_ascii=True, indent=1)
        json_file.write("\n")
    if screen is not None:
        screen.report(report)
    return report.exit_code


def _tested(options: dict[str, Any], redactor: Redactor, screen: ReportScreen | None) -> Report:
    """The whole report: of the fixed scenarios unless a kept failure is repeated, and of what is generated."""
    capabilities = _capabilities(options["capabilities"], options["prompts"], options["model"])
    limits = TimeLimits(options["seconds"])
    is_source = not options["is_command"] and "://" not in options["target"]
    is_parser = names_parser(options)
    target = parser_of(options) if is_parser else options["target"] if is_source else _target(options)
    opening = Opening(
        target, capabilities, limits, options["requirements"], options["protocol"], options["other_protocol"]
    )
    if options["replay"] is not None:
        return finished(generated(opening, options, redactor), opening, options, redactor)
    report = asyncio.run(
        run(
            target,
            select=options["checks"],
            section=options["section"],
            capabilities=capabilities,
            limits=limits,
            requirements=options["requirements"],
            protocol=options["protocol"],
            on_open=None if screen is None else screen.opened,
            on_scenario=None if screen is None else screen.scenario,
        )
    )
    report = _repeated_by_command(report, options)
    further = None if options["fuzz"] is None else generated(opening, options, redactor)
    if screen is not None and further is not None:
        screen.scenario(GENERATED, further.checks)
    return finished(report, opening, options, redactor, further)


_REPEATED: Final = {
    "is_command": "--stdio",
    "is_parser": "--parser",
    "takes": "--takes",
    "recordings": "--recordings",
    "no_upstream": "--no-upstream",
    "providers": "--provider",
    "protocol": "--protocol",
    "model": "--model",
    "capabilities": "--capability",
    "prompts": "--prompt",
    "key_env": "--key-env",
    "allow_remote": "--allow-remote",
}
"""The options without which a target is another one, by the name of their parameter."""


def _repeated_by_command(report: Report, options: dict[str, Any]) -> Report:
    """The report with the whole command that repeats each check."""
    words = ["partstream", "conformance", options["target"]]
    for name, option in _REPEATED.items():
        value = options[name]
        given = value if isinstance(value, tuple) else () if value in {None, False} else (value,)
        for one in given:
            words += [option] if one is True else [option, str(one)]
    command_line = shlex.join(words)
    checks = tuple(replace(check, repeat=f"{command_line} {check.id}") for check in report.checks)
    return replace(report, checks=checks)


def _target(options: dict[str, Any]) -> Target:
    """The target of a command or of a base URL."""
    name, protocol = options["target"], options["protocol"]
    if options["is_command"]:
        has_upstream = not options["no_upstream"]
        return StdioTarget(name, protocol, providers=options["providers"], has_upstream=has_upstream)
    key_env = options["key_env"]
    api_key = None if key_env is None else check_variable("--key-env", key_env, "the key of the server")
    return BaseURLTarget(
        name,
        protocol,
        api_key=api_key,
        allow_remote=options["allow_remote"],
        most_requests=options["max_requests"],
    )


_WORDS: Final = {"": True, "true": True, "yes": True, "false": False, "no": False}


def _capabilities(given: tuple[str, ...], prompts: tuple[str, ...], model: str | None) -> Capabilities:
    values: dict[str, Any] = {}
    for one in given:
        name, _, value = one.partition("=")
        values[name.replace("-", "_")] = _WORDS.get(value, value)
    if unsaid := [one for one in prompts if "=" not in one]:
        raise CallerError(f"--prompt: got {unsaid[0]}, expected SCENARIO=TEXT, such as one-call='run get_weather'")
    said = {slug: text for slug, _, text in (one.partition("=") for one in prompts)}
    unknown = sorted(set(said) - set(SCENARIOS))
    if unknown:
        raise CallerError(f"--prompt: got {', '.join(unknown)}, expected names of scenarios, as --list prints them")
    return Capabilities.of({**values, "prompts": said, **({"model": model} if model else {})})


def _list(checks: tuple[str, ...], options: dict[str, Any]) -> None:
    rows = all_rows(options["protocol"]) if names_parser(options) else SCENARIOS
    for slug, ids in selected(checks, options["section"], rows).items():
        click.echo(f"{slug}: {rows[slug].title}")
        for one in ids:
            promise = PROMISES[one.partition("/")[0]]
            click.echo(f"  {one}  {promise.level.value} {promise.section}")


def _in_a_process_of_its_own() -> int:
    """Runs this command in another process, without `--isolated`, and returns its exit code."""
    arguments = [one for one in sys.argv[1:] if one != "--isolated"]
    with tempfile.TemporaryDirectory() as folder:
        ended = Path(folder, "ended")
        environment = {**os.environ, _ENDED: str(ended)}
        command_line = [sys.executable, "-m", "partstream", *arguments]
        code = subprocess.run(command_line, env=environment, check=False).returncode  # noqa: S603
        has_ended = ended.exists()
    if code < 0:
        raise CallerError(f"the process of the provider was ended by signal {-code}")
    if not has_ended and code != ExitCode.INTERRUPTED:
        raise CallerError(f"the provider ended the process with the code {code}, before there was a report")
    return code


def _say_that_it_has_ended() -> None:
    """Tells the command that started this process that its exit code is that of a report."""
    if _ENDED in os.environ:
        Path(os.environ[_ENDED]).touch()
