"""A model as Codex reads it in the field `models` of a list, which it asks for where its key comes from a command.

Source: `ModelInfo` of Codex (`protocol/src/openai_models.rs`), tried with Codex CLI 0.169.0: one entry that lacks a
field that it requires, and it takes nothing of the list. What it reads of a model that it does not know otherwise is
the context window, the efforts and whether images may be sent. With them it takes the instructions of the entry in
place of its own, which are ten times as long and fit its tools: no form of an entry leaves it those. A list without
entries does, so a client may ask for one.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from partstream.protocols.serve import ServedModel

__all__ = ["codex_models"]

_FIELD: Final = "models"
"""The field of the list, and the parameter of the query that may ask for none of its entries."""
_NONE: Final = "none"

_EFFORTS: Final = {
    "low": "Thinks little and answers soon",
    "medium": "Thinks as much as most tasks need",
    "high": "Thinks long about hard tasks",
}
_USUAL_EFFORT: Final = "medium"
_LONGEST_OUTPUT: Final = {"mode": "tokens", "limit": 10_000}
"""What of the output of one tool a model gets to see."""

_INSTRUCTIONS: Final = """\
You are a coding agent in a terminal. You and the person who asks share one workspace: work in it until the task is
done, and only then hand back.

# Work
- Look before you change: read the files that matter, and search with `rg` where it is there.
- A file `AGENTS.md` holds instructions for the folder that it is in and all below; a deeper one wins, and what the
  person says wins over all of them.
- Keep to the task and to the style of the code around it. Mend the cause of a fault and not its symptom. Leave changes
  alone that you did not make. Commit or make branches only when you are asked to.
- Before you call tools, say in one sentence what you are about to do. For a task of several steps make a short plan
  first, with the tool for plans if there is one, and keep it up to date.
- Check what you did: run the tests or the program, the smallest part of them first. If something cannot be checked
  here, say so.

# Changing files
Your shell has the command `apply_patch`; paths are relative, and lines of context find the place:

    apply_patch <<'PATCH'
    *** Begin Patch
    *** Update File: src/app.py
    @@ def greet():
    -    print("Hi")
    +    print("Hello")
    *** End Patch
    PATCH

`*** Add File: PATH` is followed by lines that begin with `+`; `*** Delete File: PATH` by nothing. Write no comments
that only repeat the code.

# Limits
Run nothing that destroys data or leaves the workspace without being asked to. If the sandbox refuses a command that you
need, ask for permission by the means that your tools have.

# The end
Say briefly what you changed, in which files, how you checked it, and what is left to do. Name files by their paths.
"""
"""The instructions of the agent. The field is required, and Codex takes the text in place of its own: an empty one
leaves a model without any (tried)."""


def codex_models(models: Sequence[ServedModel], query: Mapping[str, str]) -> dict[str, list[dict[str, Any]]]:
    """The field of the list with its entries, and without any where the query says `models=none`.

    Args:
        models: The models, in the order in which Codex offers them.
        query: The parameters of the query.
    """
    is_left_out = query.get(_FIELD) == _NONE
    return {_FIELD: [] if is_left_out else [_entry(model, place) for place, model in enumerate(models)]}


def _entry(model: ServedModel, place: int) -> dict[str, Any]:
    """An entry of the list.

    Args:
        model: The model.
        place: Its place in the list: the lower, the sooner Codex offers it.
    """
    efforts = [{"effort": effort, "description": says} for effort, says in _EFFORTS.items()] if model.thinking else []
    return {
        "slug": model.id,
        "display_name": model.name,
        "description": None,
        "default_reasoning_level": _USUAL_EFFORT if efforts else None,
        "supported_reasoning_levels": efforts,
        "shell_type": "unified_exec",
        "visibility": "list",
        "minimal_client_version": [0, 0, 0],
        "supported_in_api": True,
        "priority": place,
        "upgrade": None,
        "base_instructions": _INSTRUCTIONS,
        "supports_reasoning_summaries": model.thinking,
        "support_verbosity": False,
        "default_verbosity": None,
        "apply_patch_tool_type": None,
        "truncation_policy": dict(_LONGEST_OUTPUT),
        "supports_parallel_tool_calls": model.tool_calling,
        "context_window": model.max_input_tokens + model.max_output_tokens,
        "experimental_supported_tools": [],
        "input_modalities": ["text", "image"] if model.image_input else ["text"],
    }
