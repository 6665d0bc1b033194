"""The options that name a command's upstream, and the configuration made from them and all other places."""

from __future__ import annotations
import logging
import os
import sys
from collections.abc import Callable, Container, Mapping
from typing import Any, Final

import click

from partstream.cli.terminal import AnyCommand, ExitCode, all_options
from partstream.codec.text import visible, visible_record
from partstream.config.loading import Configuration, load_configuration
from partstream.config.table import SETTINGS, RawValue
from partstream.errors import CallerError
from partstream.settings.kinds import ValueForm, shown_name
from partstream.settings.row import Setting, shown_variable
from partstream.upstream.configuration import GatewayConfiguration
from partstream.upstream.context import TRACE, LogLevel


def log_to_standard_error(level: LogLevel) -> None:
    """Writes what Partstream logs from a level on, until the command ends."""
    logger = logging.getLogger("partstream")
    before, propagated = logger.level, logger.propagate
    handler = logging.StreamHandler(sys.stderr)
    handler.setFormatter(_Records("%(levelname)s %(name)s: %(message)s"))

    def undo() -> None:
        logger.removeHandler(handler)
        logger.setLevel(before)
        logger.propagate = propagated

    logger.addHandler(handler)
    logger.setLevel(level.number)
    logger.propagate = False
    click.get_current_context().call_on_close(undo)


class _Records(logging.Formatter):
    """Formats a record so that no text in it looks like another record."""

    def format(self, record: logging.LogRecord) -> str:
        if record.levelno == TRACE:  # `logging` has no name for it
            record.levelname = LogLevel.TRACE.name
        return visible_record(super().format(record))


class UnusableConfigurationError(click.ClickException):
    """A setting is invalid; the exit code is 2, as for wrong options."""

    exit_code = ExitCode.UNUSABLE


_OF_ANSWERS: Final = frozenset(
    {"thinking", "citations", "files", "maxOutputTokens", "callIdPrefix", "errors", "capture"}
)
"""The settings of which only answers show something."""


def _option(row: Setting, *, is_hidden: bool = False) -> Callable[[Any], Any]:
    """The option that sets a setting; what its value can be, its row checks."""
    said = f" Default: {row.shown_default}." if row.shown_default else ""
    help_text = f"{row.says}.{said}".replace("`", "")
    if row.kind.form is ValueForm.BOOLEAN:
        return click.option(row.option, row.name, is_flag=True, default=None, help=help_text, hidden=is_hidden)
    # A row with titles of its own lists what comes with Partstream: installed packages add more.
    if "enumDescriptions" in row.kind.schema and "enumItemLabels" not in row.kind.schema:
        words = click.Choice(row.kind.schema["enum"])
        return click.option(row.option, row.name, type=words, help=help_text, hidden=is_hidden)
    kind = click.INT if row.kind.form is ValueForm.NUMBER else click.STRING
    return click.option(row.option, row.name, type=kind, metavar=row.metavar, help=help_text, hidden=is_hidden)


_HEADER_OPTION: Final = click.option(
    "--header-env",
    "header_variables",
    multiple=True,
    metavar="HEADER=VARIABLE",
    help="Header to send, with its value from an environment variable; repeat for more.",
)


def _options(hidden: Container[str]) -> Callable[[AnyCommand], AnyCommand]:
    rows = (_option(row, is_hidden=row.name in hidden) for row in SETTINGS.values() if row.option)
    return all_options(*rows, _HEADER_OPTION)


upstream_options: Final = _options(frozenset())
"""Adds to a command the options of an upstream: one for each setting that has any."""
server_options: Final = _options(_OF_ANSWERS)
"""Adds the same options to a command that shows no answer: its help leaves out those about answers."""


def gateway_of(configuration: Configuration) -> GatewayConfiguration:
    """The upstream of a configuration.

    Raises:
        UsageError: There is no base URL.
        UnusableConfigurationError: A setting is invalid.
    """
    if "baseUrl" not in configuration.resolved.values:
        odd = "".join(f"; {note}" for note in configuration.resolved.notes)
        names = ", ".join(map(shown_name, configuration.profiles))
        context = click.get_current_context(silent=True)
        has_option = context is None or any("--base-url" in option.opts for option in context.command.params)
        ways = [
            *([f"name a profile by --profile ({names})"] if names else []),
            *(["give --base-url"] if has_option else []),
            "set PARTSTREAM_BASE_URL",
            f"set baseUrl in {configuration.file}",
            *([] if names else ["add a server by `partstream add`"]),
        ]
        raise click.UsageError(f"no base URL: {', or '.join(ways)}{odd}")
    for note in configuration.resolved.notes:
        click.echo(f"Note: {visible(note)}", err=True)
    try:
        return configuration.gateway()
    except CallerError as error:
        raise UnusableConfigurationError(str(error)) from error


def configuration_of(
    more: Mapping[str, RawValue] | None = None,
    *,
    header_variables: tuple[str, ...],
    defaults: Mapping[str, Any] | None = None,
    **options: Any,
) -> Configuration:
    """The configuration that the options and all other places make; it says what the command logs.

    Args:
        options: The values of the other options, by the names of the settings that they set; None where not given.

    Raises:
        UsageError: An option is invalid.
        UnusableConfigurationError: A setting is invalid, in whichever place.
    """
    if (variable := options.get("apiKeyEnv")) is not None:
        check_variable("--api-key-env", variable, "a key")
    given = {name: RawValue(value, SETTINGS[name].option) for name, value in options.items() if value is not None}
    if header_variables:
        given["headers"] = RawValue(dict(header_of(pair) for pair in header_variables), "--header-env")
    try:
        configuration = load_configuration(command_line={**given, **(more or {})}, defaults=defaults)
    except CallerError as error:
        raise UnusableConfigurationError(str(error)) from error
    if (level := configuration.resolved.values.get("logLevel")) is not None:
        log_to_standard_error(level.value)
    return configuration


def header_of(pair: str) -> tuple[str, str]:
    """A header's name and value from `HEADER=VARIABLE`. The value is not an argument, because other users of the
    machine can see arguments.

    Raises:
        UsageError: `pair` has no equals sign, or the variable has no value.
    """
    name, equals, variable = pair.partition("=")
    if not equals:
        raise click.UsageError("--header-env: got no equals sign, expected HEADER=VARIABLE")
    return name, check_variable("--header-env", variable, f"the value of {name}")


def check_variable(option: str, variable: str, expected: str) -> str:
    """The value of an environment variable that an option names; a key instead of the name is not repeated.

    Raises:
        UsageError: It has no value.
    """
    if value := os.environ.get(variable, "").strip():
        return value
    shown = shown_variable(variable)
    if shown != variable:
        expected = "the name of a variable that has one; do not write a key itself into a command"
    raise click.UsageError(f"{option}: got no value in the environment variable {shown}, expected {expected}")
