"""The templates of a new provider: for `partstream new`, and for a new file in an editor.

Each is a row, and a folder of that name below `templates` holds its provider; what all have in common is beside them.
"""

from __future__ import annotations
import string
from importlib.resources import files
from typing import Final

from partstream.codec.checks import dataclass


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


def find_template(name: str) -> Template | None:
    """The template of a name; None if there is none."""
    return next((one for one in _ALL if name == one.name or name in one.also_called), None)


def requirements_of(module: str) -> tuple[str, ...]:
    """What installs a top-level module that a template needs, as pip takes it; empty for every other module."""
    found = next((one for one in _ALL if module in one.modules and module not in _COME_ALONE), None)
    return () if found is None else found.requirements


_COME_ALONE: Final = frozenset({"openai"})
"""Modules of templates that many programs use without the framework."""


def kept(file: str) -> string.Template:
    """A file of the templates, whose gaps `substitute` fills."""
    folder = files("partstream.runtime").joinpath("templates")
    return string.Template(folder.joinpath(*file.split("/")).read_text(encoding="utf-8"))
