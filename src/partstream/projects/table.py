"""The templates of `partstream new`, a row each; their files are in the folder `templates`."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

__all__ = ["TEMPLATES", "Template", "find_template"]


@dataclass(frozen=True, slots=True)
class Template:
    """One kind of project.

    Attributes:
        name: The name, as `--from` takes it; also that of the folder with its provider.
        says: What the provider is, for people.
        to_change: What makes it a model of one's own, a sentence for the project's README.
        requirements: What the provider needs beside Partstream, as pip takes it.
        modules: The top-level modules of these; a project must not be called like one.
        also_called: Other names that `--from` takes.
        test: The file of its test, below the folder `templates`.
    """

    name: str
    says: str
    to_change: str
    requirements: tuple[str, ...] = ()
    modules: tuple[str, ...] = ()
    also_called: tuple[str, ...] = ()
    test: str = "agent_test.py.txt"


_MODEL: Final = (
    "The model in `{module}.py` answers offline, so that everything works at once; a comment names the line to change."
)

_ALL: Final = (
    Template(
        "plain",
        "A function that yields its answer.",
        "Change what the function in `{module}.py` yields.",
        test="plain/test.py.txt",
    ),
    Template(
        "server",
        "A function that asks a model server, and may change what passes.",
        "Set `MODEL_SERVER` to the base URL of your server, or change the default in `{module}.py`.",
        test="server/test.py.txt",
    ),
    Template("pydantic-ai", "An agent of pydantic-ai.", _MODEL, ("pydantic-ai-slim>=2.60",), ("pydantic_ai",)),
    Template(
        "langgraph",
        "A graph of LangGraph.",
        _MODEL,
        ("langgraph>=1.2",),
        ("langgraph", "langchain_core"),
    ),
    Template(
        "langchain",
        "A chat model of LangChain.",
        _MODEL,
        ("langchain-core>=1.7",),
        ("langchain", "langchain_core"),
    ),
    Template(
        "openai-agents",
        "An agent of the OpenAI Agents SDK.",
        _MODEL,
        ("openai-agents>=0.24",),
        ("agents", "openai"),
        ("agents",),
    ),
    Template(
        "agent-framework",
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
