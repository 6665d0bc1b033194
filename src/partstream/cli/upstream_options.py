"""The options that name a command's upstream, and the configuration made from them and all other places."""

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
    """A setting is invalid; the exit code is 2, as for wrong options."""

    exit_code = 2


_OPTIONS: Final = (
    click.option("--base-url", metavar="URL", help="Base URL of the API, such as https://host/v1."),
    click.option("--protocol", metavar="NAME", help="Protocol that the server speaks."),
    click.option("--api-key-env", metavar="VARIABLE", help="Environment variable that holds the key."),
    click.option(
        "--header-env",
        "header_variables",
        multiple=True,
        metavar="HEADER=VARIABLE",
        help="Header to send, with its value from an environment variable; repeat for more.",
    ),
    click.option("--allow-insecure-http", is_flag=True, help="Allow plain http to another machine."),
)


def upstream_options(function: Callable[_Parameters, _Result]) -> Callable[_Parameters, _Result]:
    """Adds the options of an upstream to a command."""
    for option in reversed(_OPTIONS):
        function = option(function)
    return function


def gateway_of(more: Mapping[str, Given] | None = None, **options: Any) -> GatewayConfiguration:
    """The upstream that the options and all other places name; takes the arguments of :func:`configuration_of`.

    Raises:
        UsageError: An option is invalid, or there is no base URL.
        UnusableConfigurationError: A setting is invalid, in whichever place.
    """
    configuration = configuration_of(more, **options)
    if "baseUrl" not in configuration.resolved.values:
        raise click.UsageError(
            f"no base URL: give --base-url, or set PARTSTREAM_BASE_URL, or set baseUrl in {configuration.file}"
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
        more: Settings from further options of the command.
        base_url: The option `--base-url`.
        protocol: The option `--protocol`.
        api_key_env: The option `--api-key-env`.
        header_variables: The options `--header-env`.
        allow_insecure_http: The option `--allow-insecure-http`.

    Raises:
        UsageError: An option is invalid.
        UnusableConfigurationError: A setting is invalid, in whichever place.
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
    """A header's name and value from `HEADER=VARIABLE`. The value is not an argument, because other users of the
    machine can see arguments.

    Raises:
        UsageError: `pair` has no equals sign, or the variable has no value.
    """
    name, equals, variable = pair.partition("=")
    if not equals:
        raise click.UsageError(f"--header-env: got {pair!r}, expected HEADER=VARIABLE")
    value = os.environ.get(variable, "").strip()
    if not value:
        raise click.UsageError(
            f"--header-env: got no value in the environment variable {variable}, expected the value of {name}"
        )
    return name, value
