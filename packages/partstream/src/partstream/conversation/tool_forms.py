"""Tools of clients that are no plain functions: their names, schemas and forms, on all wires.

A provider knows functions alone: a name, a description, a schema. So each tool that the client runs becomes one,
whatever its wire calls it (:class:`partstream.protocols.read_request.AskedTools`):

- A tool in a namespace, as Codex has for MCP servers, gets a joined name (:func:`joined_name`).
- A tool for text, such as one with a grammar, gets the one argument `input`; its description holds the grammar.
- A tool without a schema, which models of its vendor were taught, gets one of :data:`KNOWN_TOOLS`.

:attr:`partstream.lm.outputs.InboundRequest.tool_forms` keeps what the client calls such a tool, so that the writer of
the response gives a call back in that form (:func:`call_of`). Upstreams know nothing of it.

A tool that the *server* runs, such as a search of the web, is no function. Its kind (:func:`hosted_kind`) goes on as a
:class:`partstream.lm.outputs.HostedTool`, and the wire of the upstream has a :class:`HostedForm` for each kind that
its servers run. :func:`hosted_on` brings them together: what has no form is named, and refused where it is demanded.

Sources: `openai` 3.57.0, `types/responses/`; `anthropic` 2.14.0, `types/` and `types/beta/`, and Anthropic's pages on
these tools.
"""

from __future__ import annotations
from collections.abc import Iterable, Mapping
from types import MappingProxyType
from typing import Any, Final, NamedTuple

from partstream.codec.json_codec import dumps
from partstream.conversation.turns import Note, short_digest
from partstream.errors import RequestNotExpressibleError
from partstream.lm.outputs import HostedTool, InboundRequest, ToolForm
from partstream.lm.parts import RawCallPart, ToolCallPart

# ---- Tools that clients run ----

FUNCTION: Final = "function"
TEXT: Final = "custom"
"""The kinds of a plain function, and of a tool whose input is text."""

_LONGEST_NAME: Final = 64
"""The longest name of a function that every server takes."""
_DIGEST: Final = 4


def joined_name(namespace: str, own: str, *, is_taken: bool = False) -> str:
    """The name of the function that a tool in a namespace becomes; another one if that of another tool is the same."""
    name = f"{namespace}__{own}" if namespace else own
    if not is_taken and (not namespace or len(name) <= _LONGEST_NAME):
        return name
    return f"{name[: _LONGEST_NAME - 1 - 2 * _DIGEST]}_{short_digest(f'{namespace}/{own}', _DIGEST)}"


def call_of(asked: InboundRequest, part: ToolCallPart) -> tuple[ToolForm, str]:
    """The form in which a call goes back to its client, and what it says: the text for a tool for text, else JSON; what
    is no JSON object as it came."""
    form = asked.tool_forms.get(part.name) or ToolForm(FUNCTION, part.name)
    if isinstance(part, RawCallPart):
        return form, part.arguments
    text = part.input.get("input") if form.kind == TEXT else None
    return form, text if isinstance(text, str) else dumps(dict(part.input)).decode()


TEXT_INPUT: Final = {
    "type": "object",
    "properties": {"input": {"type": "string", "description": "The whole input of the tool."}},
    "required": ["input"],
    "additionalProperties": False,
}


def _schema(required: str, **properties: Any) -> dict[str, Any]:
    """The schema of an object; a property is a type, the words that it may be, or a schema."""
    kinds: dict[str, Any] = {}
    for name, said in properties.items():
        if isinstance(said, tuple):
            kinds[name] = {"type": "string", "enum": list(said)}
        else:
            kinds[name] = said if isinstance(said, dict) else {"type": said}
    return {"type": "object", "properties": kinds, "required": required.split()}


_TEXTS: Final = {"type": "array", "items": {"type": "string"}}
_PAIR: Final = {"type": "array", "items": {"type": "integer"}, "minItems": 2, "maxItems": 2}
_EDITS: Final = {
    "path": "string",
    "view_range": _PAIR,
    "file_text": "string",
    "old_str": "string",
    "new_str": "string",
    "insert_line": "integer",
    "insert_text": "string",
}
_EDITING: Final = (
    "`view` shows a file or a folder, `create` writes `file_text`, `str_replace` replaces the one `old_str` by "
    "`new_str`, `insert` puts `insert_text` after `insert_line`"
)
KNOWN_TOOLS: Final[Mapping[str, tuple[str, Mapping[str, Any]]]] = {
    "bash": (
        "Runs a command in a shell that keeps its state; `restart` begins a new one.",
        _schema("", command="string", restart="boolean"),
    ),
    "text_editor": (
        f"Views and edits text files: {_EDITING}.",
        _schema("command path", command=("view", "create", "str_replace", "insert"), **_EDITS),
    ),
    "memory": (
        f"Keeps notes in files below /memories: {_EDITING}, `delete` removes `path`, `rename` moves it to `new_path`.",
        _schema(
            "command",
            command=("view", "create", "str_replace", "insert", "delete", "rename"),
            **_EDITS,
            old_path="string",
            new_path="string",
        ),
    ),
    "computer": (
        "Uses the screen, the mouse and the keyboard of a computer.",
        _schema(
            "action",
            action=(
                *("screenshot", "left_click", "right_click", "middle_click", "double_click", "triple_click"),
                *("left_click_drag", "left_mouse_down", "left_mouse_up", "mouse_move", "cursor_position"),
                *("type", "key", "hold_key", "scroll", "wait", "zoom"),
            ),
            coordinate=_PAIR,
            start_coordinate=_PAIR,
            region={**_PAIR, "minItems": 4, "maxItems": 4},
            text="string",
            duration="number",
            scroll_direction=("up", "down", "left", "right"),
            scroll_amount="integer",
        ),
    ),
    "local_shell": (
        "Runs a command on the computer of the user.",
        _schema(
            "command", command=_TEXTS, working_directory="string", timeout_ms="integer", env="object", user="string"
        ),
    ),
    "shell": (
        "Runs commands in a shell.",
        _schema("commands", commands=_TEXTS, timeout_ms="integer", max_output_length="integer"),
    ),
    "apply_patch": (
        "Changes one file; `diff` is what changes it, or the whole of a new file.",
        _schema("type path", type=("create_file", "update_file", "delete_file"), path="string", diff="string"),
    ),
}
"""The description and the schema of each tool of which a request tells the type alone."""

# ---- Tools that servers run ----

WEB_SEARCH, CODE, FETCH = "web search", "code execution", "web fetch"
_WORDS: Final = {
    WEB_SEARCH: ("web_search", "googleSearch", "google_search"),
    CODE: ("code_interpreter", "code_execution", "codeExecution"),
    FETCH: ("web_fetch", "urlContext", "url_context"),
}
"""How the names of these tools begin on the wires; a date may follow."""


def hosted_kind(word: str) -> str:
    """The kind of the tool of a name that a server runs; empty for any other."""
    return next((kind for kind, words in _WORDS.items() if word.startswith(words)), "")


class HostedForm(NamedTuple):
    """A tool that the servers of a wire run.

    Attributes:
        tool: The tool in a request.
        takes: The details of it that it takes, each with the object in it that holds the detail, or nothing.
        is_offered: Whether a request can offer it alone, and not demand it.
    """

    tool: Mapping[str, Any]
    takes: Mapping[str, str] = MappingProxyType({})
    is_offered: bool = False


def hosted_on(
    forms: Mapping[str, HostedForm], asked: Iterable[HostedTool]
) -> tuple[tuple[Mapping[str, Any], ...], Mapping[str, Any] | None, list[Note]]:
    """The tools of a request that an upstream runs, in its words, the demanded one of them, and notes on what it has
    not.

    Raises:
        RequestNotExpressibleError: The request demands a tool that it has not.
    """
    tools: dict[str, Mapping[str, Any]] = {}
    demanded = None
    lost: list[str] = []
    for one in asked:
        form = forms.get(one.kind)
        if form is None:
            if one.is_demanded:
                expected = "a function, or a tool that the server of this model runs"
                raise RequestNotExpressibleError(f"a demand for {one.name}", "tool_choice", expected)
            lost.append(one.where)
            continue
        tool = dict(form.tool)
        for name, value in one.details.items():
            if (place := form.takes.get(name)) is None:
                lost.append(f"{one.where}.{name}")
            else:
                tool |= {place: {**tool.get(place, {}), name: value}} if place else {name: value}
        tools[one.kind] = tool
        demanded = tool if one.is_demanded else demanded
        lost += ["tool_choice"] if one.is_demanded and form.is_offered else []
    said = f"tools that the server does not run, or runs only at its own choice: {', '.join(lost)}"[:500]
    return tuple(tools.values()), demanded, [Note(said, "tools", tuple(lost))] if lost else []
