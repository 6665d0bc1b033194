"""The option that names a person's own provider, and the provider of it; for every command that asks one."""

from __future__ import annotations
import shlex
import sys
from collections.abc import Callable, Mapping
from contextlib import redirect_stdout
from typing import TYPE_CHECKING, Any, Final, TypeVar

import click

from partstream.cli.terminal import ExitCode
from partstream.plugins import PACKAGES, MissingPackageError
from partstream.runtime.progress import fault_of
from partstream.runtime.provider_files import ProviderLoader, ProviderNotFoundError, ReloadedProvider, SourceLoader

if TYPE_CHECKING:
    from partstream.lm.provider import LanguageModelChatProvider
    from partstream.tokens.ledger import Ledger


_Made = TypeVar("_Made")


class UnusableProviderError(click.ClickException):
    """A source cannot be loaded; the exit code is 2, as for wrong options."""

    exit_code = ExitCode.UNUSABLE


def provider_option(says: str) -> Callable[[Any], Any]:
    """The option `--provider`."""
    return click.option("--provider", "provider_source", metavar="FILE[:NAME]", help=f"{says} A module works too.")


_ALSO_OF_PROVIDERS: Final = frozenset({"logLevel"})


def check_beside_provider(options: Mapping[str, Any]) -> None:
    """Refuses the options of a server beside `--provider`.

    Args:
        options: The values of the options, by the names of settings or parameters; None, False and empty where not
            given.

    Raises:
        UsageError: One of them is given.
    """
    names = {parameter.name: parameter.opts[0] for parameter in click.get_current_context().command.params}
    given = [names.get(name, name) for name, value in options.items() if value and name not in _ALSO_OF_PROVIDERS]
    if given:
        raise click.UsageError(f"--provider: got {', '.join(given)} beside it, expected no option of a server")


def log_as_wanted(options: Mapping[str, Any]) -> None:
    """Logs as much as the settings say, of which a provider has no other."""
    from partstream.cli.options import configuration_of  # noqa: PLC0415 - takes 0.2 s to import

    configuration_of(header_variables=(), **{name: options[name] for name in _ALSO_OF_PROVIDERS & options.keys()})


def load(source: str, ledger: Callable[[], Ledger] | None = None) -> LanguageModelChatProvider:
    """The provider of a file or a module.

    Raises:
        UnusableProviderError: It cannot be loaded; the message names the file and the line.
    """
    loader = SourceLoader(source, ledger)
    return _named(source, loader, loader.load)


def reloaded(
    source: str, on_load: Callable[[BaseException | None], None], ledger: Callable[[], Ledger] | None = None
) -> tuple[ReloadedProvider, ProviderLoader]:
    """The provider of a file or a module, which follows the edits of the file.

    Args:
        on_load: Called after every load but the first: the error, or None for a new version.

    Raises:
        UnusableProviderError: It cannot be loaded; the message names the file and the line.
    """
    loader = SourceLoader(source, ledger)
    return _named(source, loader, lambda: ReloadedProvider(loader, on_load)), loader


def _named(source: str, loader: ProviderLoader, make: Callable[[], _Made]) -> _Made:
    try:
        with redirect_stdout(sys.stderr):  # what the file prints is no output of the command
            return make()
    except ProviderNotFoundError as error:
        raise UnusableProviderError(str(error)) from error
    except (Exception, SystemExit) as error:
        fault = fault_of(error, loader.file)
        said = f"{source}: {fault}" if fault.place is None else str(fault)
        module = (error.name or "").partition(".")[0] if isinstance(error, ModuleNotFoundError) else ""
        from partstream.runtime.project_templates import requirements_of  # noqa: PLC0415 - for an error alone

        if missing := requirements_of(module):
            said += f"; install it: python -m pip install {' '.join(map(shlex.quote, missing))}"
        elif (package := module.replace("_", "-")) in PACKAGES:
            said += f"; {MissingPackageError(module, package)}"
        raise UnusableProviderError(said) from error
