"""The option that names a person's own provider, and the provider of it; for every command that asks one."""

from __future__ import annotations
import shlex
import sys
from collections.abc import Callable, Mapping
from contextlib import redirect_stdout
from typing import TYPE_CHECKING, Any, Final, TypeVar

import click

from partstream.cli.terminal import ExitCode
from partstream.codec.checks import dataclass
from partstream.plugins import PACKAGES, MissingPackageError
from partstream.runtime.progress import fault_of
from partstream.runtime.provider_files import ProviderLoader, ProviderNotFoundError, ReloadedProvider, SourceLoader

if TYPE_CHECKING:
    from partstream.lm.provider import LanguageModelChatProvider
    from partstream.tokens.ledger import Ledger


@dataclass(frozen=True, slots=True)
class Template:
    """One kind of project."""

    name: str  # the name, as `--from` takes it; also that of the folder with its provider
    title: str  # what a list of templates calls it
    file_stem: str  # the name that is suggested for a file with its provider, without `.py`
    says: str  # what the provider is, for people
    to_change: str  # what makes it a model of one's own, a sentence for the project's README
    requirements: tuple[str, ...] = ()  # what the provider needs beside Partstream, as pip takes it
    modules: tuple[str, ...] = ()  # the top-level modules of these; a project must not be called like one
    also_called: tuple[str, ...] = ()  # other names that `--from` takes
    test: str = "agent_test.py.txt"  # the file of its test, below the folder `templates`

    @property
    def packages(self) -> tuple[str, ...]:
        """The packages of ours that a project and its test import."""
        agents = ("partstream-agents",) if self.requirements else ()
        return ("partstream", *agents, "partstream-devtools")


_MODEL: Final = (
    "The model in `{module}.py` answers offline, so that everything works at once; a comment names the line to change."
)

_ALL: Final = (
    Template(
        "plain",
        "Echo",
        "echo",
        "A function that yields its answer.",
        "Change what the function in `{module}.py` yields.",
        test="plain/test.py.txt",
    ),
    Template(
        "callable",
        "Any callable",
        "my_function",
        "A function that returns its answer and may block.",
        "Change what `answer` in `{module}.py` returns, or call something else there.",
        test="plain/test.py.txt",
    ),
    Template(
        "tools",
        "With tools",
        "my_tools",
        "A function that has VS Code run tools.",
        "Change which tools `{module}.py` calls, and when.",
        test="tools/test.py.txt",
    ),
    Template(
        "sdk",
        "Around an SDK",
        "my_sdk",
        "A function that streams from an SDK client.",
        "Import the client of your SDK in place of `Client` in `{module}.py`.",
        test="plain/test.py.txt",
    ),
    Template(
        "server",
        "Model server",
        "my_server",
        "A function that asks a model server and can edit requests and answers.",
        "Set `MODEL_SERVER` to the base URL of your server, or change the default in `{module}.py`.",
        test="server/test.py.txt",
    ),
    Template(
        "pydantic-ai",
        "Agent of pydantic-ai",
        "my_agent",
        "An agent of pydantic-ai.",
        _MODEL,
        ("pydantic-ai-slim>=2.60",),
        ("pydantic_ai",),
    ),
    Template(
        "langgraph",
        "Graph of LangGraph",
        "my_agent",
        "A graph of LangGraph.",
        _MODEL,
        ("langgraph>=1.2",),
        ("langgraph", "langchain_core"),
    ),
    Template(
        "langchain",
        "Chat model of LangChain",
        "my_model",
        "A chat model of LangChain.",
        _MODEL,
        ("langchain-core>=1.7",),
        ("langchain", "langchain_core"),
    ),
    Template(
        "openai-agents",
        "Agent of the OpenAI Agents SDK",
        "my_agent",
        "An agent of the OpenAI Agents SDK.",
        _MODEL,
        ("openai-agents>=0.24",),
        ("agents", "openai"),
        ("agents",),
    ),
    Template(
        "agent-framework",
        "Agent of the Microsoft Agent Framework",
        "my_agent",
        "An agent of the Microsoft Agent Framework.",
        _MODEL,
        ("agent-framework-core>=1.23",),
        ("agent_framework",),
    ),
)

TEMPLATES: Final = {template.name: template for template in _ALL}
"""All templates by their names."""


def find_template(name: str) -> Template | None:
    """The template of a name; None if there is none."""
    return next((one for one in _ALL if name == one.name or name in one.also_called), None)


def requirements_of(module: str) -> tuple[str, ...]:
    """What installs a top-level module that a template needs, as pip takes it; empty for every other module."""
    found = next((one for one in _ALL if module in one.modules and module not in _COME_ALONE), None)
    return () if found is None else found.requirements


_COME_ALONE: Final = frozenset({"openai"})
"""Modules of templates that many programs use without the framework."""


_Made = TypeVar("_Made")


class UnusableProviderError(click.ClickException):
    """A source cannot be loaded; the exit code is 2, as for wrong options."""

    exit_code = ExitCode.UNUSABLE


def provider_option(says: str) -> Callable[[Any], Any]:
    """The option `--provider`.

    Args:
        says: What the command does with the provider.
    """
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

    Args:
        source: `path/to/file.py`, `module`, or one of them with `:attribute`.
        ledger: Opens the ledger for a provider that enters its usage itself; None for no ledger.

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
        source: As for :func:`load`.
        on_load: Called after every load but the first: the error, or None for a new version.
        ledger: As for :func:`load`.

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
        if missing := requirements_of(module):
            said += f"; install it: python -m pip install {' '.join(map(shlex.quote, missing))}"
        elif (package := module.replace("_", "-")) in PACKAGES:
            said += f"; {MissingPackageError(module, package)}"
        raise UnusableProviderError(said) from error
