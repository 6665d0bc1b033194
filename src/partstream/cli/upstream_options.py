"""The options that say which upstream a command speaks to; with all other places they make its configuration."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any, Final, ParamSpec, TypeVar

import click

from partstream.configuration import Given, load_configuration
from partstream.errors import CallerError

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from partstream.configuration import Configuration
    from partstream.upstreams import GatewayConfiguration

__all__ = ["UnusableConfigurationError", "configuration_of", "gateway_of", "header_of", "upstream_options"]

_Parameters = ParamSpec("_Parameters")
_Result = TypeVar("_Result")


class UnusableConfigurationError(click.ClickException):
    """A setting is of no use; the exit code is 2, as for wrong options."""

    exit_code = 2


_OPTIONS: Final = (
    click.option("--base-url", metavar="URL", help="Where the API begins, as https://host/v1."),
    click.option("--protocol", metavar="NAME", help="What the server speaks."),
    click.option("--api-key-env", metavar="VARIABLE", help="The environment variable that holds the key."),
    click.option(
        "--header-env",
        "header_variables",
        multiple=True,
        metavar="HEADER=VARIABLE",
        help="A header to send, its value from an environment variable; repeat for several.",
    ),
    click.option("--allow-insecure-http", is_flag=True, help="Speak plain http to another machine."),
)


def upstream_options(function: Callable[_Parameters, _Result]) -> Callable[_Parameters, _Result]:
    """Adds the options to a command."""
    for option in reversed(_OPTIONS):
        function = option(function)
    return function


def gateway_of(more: Mapping[str, Given] | None = None, **options: Any) -> GatewayConfiguration:
    """The upstream that the options and all other places name; the arguments are those of :func:`configuration_of`.

    Raises:
        UsageError: An option is of no use, or nobody names an upstream.
        UnusableConfigurationError: A setting is of no use, wherever it stands.
    """
    configuration = configuration_of(more, **options)
    if "baseUrl" not in configuration.resolved.values:
        raise click.UsageError(
            f"no base URL: give --base-url or PARTSTREAM_BASE_URL, or set baseUrl in {configuration.file}"
        )
    try:
        return configuration.gateway()
    except CallerError as error:
        raise UnusableConfigurationError(str(error)) from error


def configuration_of(
    more: Mapping[str, Given] | None = None,
    *,
    base_url: str | None,
    protocol: str | None,
    api_key_env: str | None,
    header_variables: tuple[str, ...],
    allow_insecure_http: bool,
) -> Configuration:
    """The configuration that the options and all other places make.

    Args:
        more: Settings that further options of the command give.
        base_url: As in the options, like all that follow.
        protocol: See above.
        api_key_env: See above.
        header_variables: See above.
        allow_insecure_http: See above.

    Raises:
        UsageError: An option is of no use.
        UnusableConfigurationError: A setting is, wherever it stands.
    """
    if api_key_env is not None and not os.environ.get(api_key_env, "").strip():
        raise click.UsageError(f"--api-key-env: got no value in the environment variable {api_key_env}, expected a key")
    given: dict[str, Any] = {
        "baseUrl": (base_url, "--base-url"),
        "protocol": (protocol, "--protocol"),
        "apiKeyEnv": (api_key_env, "--api-key-env"),
        "headers": (dict(header_of(pair) for pair in header_variables) or None, "--header-env"),
        "allowInsecureHttp": (allow_insecure_http or None, "--allow-insecure-http"),
    }
    try:
        return load_configuration(
            command_line={
                **{name: Given(*value) for name, value in given.items() if value[0] is not None},
                **(more or {}),
            }
        )
    except CallerError as error:
        raise UnusableConfigurationError(str(error)) from error


def header_of(pair: str) -> tuple[str, str]:
    """A header from `HEADER=VARIABLE`: what stands in arguments, other users of the machine can see.

    Raises:
        UsageError: It is no such pair, or the variable holds nothing.
    """
    name, equals, variable = pair.partition("=")
    if not equals:
        raise click.UsageError(f"--header-env: got {pair!r}, expected HEADER=VARIABLE")
    value = os.environ.get(variable, "").strip()
    if not value:
        raise click.UsageError(f"--header-env: got no value in the environment variable {variable}, expected one")
    return name, value
