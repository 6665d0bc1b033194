"""What the two sides say, in each other's values: blocks of a prompt as parts, parts of an answer as updates. No I/O.

- A prompt's images and embedded files become data parts; a link becomes its name and address, which the model may read
  by a tool of the editor.
- Text and thinking leave as they come. The lines of thinking about an agent's own work are dropped where the data part
  beside them says the same: the editor shows the call itself (:class:`AnswerUpdates`).
- What a tool does is read off its name, and where it works off its arguments, because no framework says either
  (:func:`kind_of`).
- A list of steps that an agent writes down with a tool, such as `write_todos`, is its plan.
"""

from __future__ import annotations
import binascii
import os
import re
from base64 import b64decode, b64encode
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, Final, TypeAlias

from acp import RequestError, helpers, schema

from partstream.codec.json_codec import JSONDecodeError, loads
from partstream.codec.text import visible
from partstream.conversation.media import MediaKind, read_media, type_of_file
from partstream.lm.inner_activity import (
    ACTIVITY_MIME_TYPE,
    InnerCall,
    InnerResult,
    call_line,
    plain_value,
    result_line,
    shown_call,
)
from partstream.lm.messages import ChatMessage, Role
from partstream.lm.parts import (
    USAGE_MIME_TYPE,
    DataPart,
    MessagePart,
    ResponsePart,
    TextPart,
    ThinkingPart,
    ToolCallPart,
    ToolResultPart,
    usage_in,
)
from partstream.runtime.answer_files import AnswerFiles, FileNotKeptError, described, is_file

Block: TypeAlias = helpers.ContentBlock
Update: TypeAlias = Any
"""An update of a session, one of the classes of `acp.schema`."""

_MOST_SHOWN: Final = 50_000
"""The most characters of a tool's result that the editor is given; the model gets all of it."""


# ---- Prompts ----


def read_prompt(blocks: Iterable[Block]) -> tuple[MessagePart, ...]:
    """The parts of a prompt, in its order.

    Raises:
        RequestError: A block holds no base64.
    """
    return tuple(_part_of(block) for block in blocks)


def _part_of(block: Block) -> MessagePart:
    match block:
        case schema.TextContentBlock():
            return TextPart(block.text)
        case schema.ImageContentBlock() | schema.AudioContentBlock():
            data = _bytes(block.data)
            return DataPart(data, type_of_file(data, block.mime_type))
        case schema.ResourceContentBlock():
            return TextPart(f"[{block.name}]({block.uri})")
    resource = block.resource
    if isinstance(resource, schema.TextResourceContents):
        return TextPart(f'<context uri="{resource.uri}">\n{resource.text}\n</context>\n')
    data = _bytes(resource.blob)
    return DataPart(data, type_of_file(data, resource.mime_type))


def _bytes(data: str) -> bytes:
    try:
        return b64decode(data, validate=True)
    except (binascii.Error, ValueError):
        raise RequestError.invalid_params({"details": "a block of the prompt holds no base64"}) from None


# ---- What tools do ----

_KINDS: Final[tuple[tuple[str, schema.ToolKind], ...]] = (
    (r"think|reason|reflect", "think"),
    (r"delete|remove|unlink", "delete"),
    (r"move|rename", "move"),
    (r"search|find|grep|glob|lookup|query", "search"),
    (r"fetch|http|url|browse|download|web", "fetch"),
    (r"write|edit|create|insert|replace|patch|update|save", "edit"),
    (r"run|exec|bash|shell|terminal|command|python", "execute"),
    (r"read|open|list|view|show|cat|get|load", "read"),
)
"""The kind of a tool by the words of its name; the first row that fits counts."""
_WORDS: Final = re.compile(r"[A-Z]?[a-z]+|[A-Z]+(?![a-z])")
_PATHS: Final = ("path", "file_path", "filePath", "filepath", "file", "filename", "abs_path", "notebook_path")
_OLD_AND_NEW: Final = (("old_string", "new_string"), ("old_text", "new_text"), ("old_str", "new_str"))
_WHOLE: Final = ("content", "contents", "text", "file_text", "new_content")
_STEPS: Final = ("todos", "plan", "steps", "entries")
_STATES: Final = ("pending", "in_progress", "completed")


def kind_of(name: str) -> schema.ToolKind:
    """What a tool of this name does, as far as the name says it."""
    words = {word.lower() for word in _WORDS.findall(name)}
    fitting = (kind for pattern, kind in _KINDS if any(re.fullmatch(pattern, word) for word in words))
    return next(fitting, "other")


def path_in(arguments: object, folder: str) -> str | None:
    """The absolute path of the file that a call is about; None where it names none."""
    given = arguments if isinstance(arguments, Mapping) else {}
    path = next((given[name] for name in _PATHS if isinstance(given.get(name), str) and given[name]), None)
    return None if path is None else os.path.normpath(os.path.join(folder, path))


def diff_in(name: str, arguments: object, path: str | None) -> list[Any]:
    """The change of a file that a call makes, if its arguments say it; else nothing."""
    given = arguments if isinstance(arguments, Mapping) else {}
    if path is None:
        return []
    for old, new in _OLD_AND_NEW:
        if isinstance(given.get(old), str) and isinstance(given.get(new), str):
            return [helpers.tool_diff_content(path, given[new], given[old])]
    whole = next((given[one] for one in _WHOLE if isinstance(given.get(one), str)), None)
    return [helpers.tool_diff_content(path, whole)] if whole is not None and kind_of(name) == "edit" else []


def plan_in(arguments: object) -> list[schema.PlanEntry]:
    """The steps that a call writes down; empty where it writes none."""
    given = arguments if isinstance(arguments, Mapping) else {}
    steps: list[Any] = next((given[name] for name in _STEPS if isinstance(given.get(name), list)), [])
    entries = []
    for step in steps:
        text = step.get("content") or step.get("step") if isinstance(step, dict) else None
        status = step.get("status") if isinstance(step, dict) else None
        if not isinstance(text, str) or status not in _STATES:
            return []
        entries.append(helpers.plan_entry(text, status=status))
    return entries


def shown_result(text: str) -> list[Any]:
    """The result of a call as content that the editor shows."""
    shown = text if len(text) <= _MOST_SHOWN else f"{text[:_MOST_SHOWN]}\n… ({len(text):,} characters)"
    return [helpers.tool_content(helpers.text_block(shown))] if shown else []


# ---- Answers ----


class AnswerUpdates:
    """The updates of one answer.

    Args:
        folder: The folder of the session, to which paths are relative.
        window: The tokens of the model's context window.
        files: Keeps the files of answers that no block can hold.
    """

    def __init__(self, folder: str, window: int, files: AnswerFiles) -> None:
        self._folder = folder
        self._window = window
        self._files = files
        self._held: ThinkingPart | None = None

    def of(self, part: ResponsePart) -> Iterator[Update]:
        """The updates of the next part, in order."""
        held, self._held = self._held, None
        if held is not None and not (isinstance(part, DataPart) and _says_the_same(held, part)):
            yield helpers.update_agent_thought_text(held.value)
        match part:
            case TextPart():
                yield from _said(part.value, helpers.update_agent_message_text)
            case ThinkingPart() if part.value.lstrip().startswith(_LINES):
                self._held = part
            case ThinkingPart():
                yield from _said(part.value, helpers.update_agent_thought_text)
            case DataPart():
                yield from self._of_data(part)

    def end(self) -> Iterator[Update]:
        """What is left."""
        held, self._held = self._held, None
        if held is not None:
            yield helpers.update_agent_thought_text(held.value)

    def _of_data(self, part: DataPart) -> Iterator[Update]:
        if (inner := inner_of(part)) is not None:
            yield from self._of_inner(inner)
        elif part.mime_type == USAGE_MIME_TYPE:
            if (usage := usage_in(part)[0]) is None:
                return
            used = usage.total_tokens or 0
            yield schema.UsageUpdate(session_update="usage_update", used=used, size=max(self._window, used))
        elif is_file(part):
            yield helpers.update_agent_message(self._block_of(part))

    def _of_inner(self, inner: InnerCall | InnerResult) -> Iterator[Update]:
        if isinstance(inner, InnerResult):
            text = inner.content if isinstance(inner.content, str) else "" if inner.content is None else None
            yield helpers.update_tool_call(
                inner.call_id,
                status="failed" if inner.is_error else "completed",
                content=shown_result(text) if text is not None else None,
                raw_output=plain_value(inner.content),
            )
            return
        path = path_in(inner.arguments, self._folder)
        yield helpers.start_tool_call(
            inner.call_id,
            visible(shown_call(inner)),
            kind=kind_of(inner.name),
            status="in_progress",
            content=diff_in(inner.name, inner.arguments, path) or None,
            locations=None if path is None else [schema.ToolCallLocation(path=path)],
            raw_input=plain_value(inner.arguments),
        )
        if entries := plan_in(inner.arguments):
            yield helpers.update_plan(entries)

    def _block_of(self, part: DataPart) -> Block:
        media = read_media(part)
        if media.kind is MediaKind.IMAGE:
            return helpers.image_block(b64encode(part.data).decode(), media.media_type)
        try:
            kept = self._files.keep(part)
        except FileNotKeptError as error:
            return helpers.text_block(f"A file ({described(part)}) could not be saved: {error}.")
        return helpers.resource_link_block(kept.description, kept.path.as_uri(), mime_type=media.media_type)


_LINES: Final = ("Called ", "-> ")
"""The beginnings of the lines about an agent's own work."""


def _said(text: str, update: Any) -> Iterator[Update]:
    if text:
        yield update(text)


def inner_of(part: DataPart) -> InnerCall | InnerResult | None:
    """The inner call or result that a data part holds; None for any other part."""
    if part.mime_type != ACTIVITY_MIME_TYPE:
        return None
    try:
        said = loads(part.data)
        if said["type"] == "call":
            return InnerCall(said["callId"], said["name"], said["arguments"], said["step"])
        return InnerResult(said["callId"], said["name"], said["content"], said["isError"], said["step"])
    except (JSONDecodeError, KeyError, TypeError):  # a provider of a person's own may have made it
        return None


def _says_the_same(line: ThinkingPart, part: DataPart) -> bool:
    inner = inner_of(part)
    if inner is None:
        return False
    return line.value.strip() == (call_line(inner) if isinstance(inner, InnerCall) else result_line(inner)).strip()


# ---- A conversation again, when its session is loaded ----


def replayed(messages: Sequence[ChatMessage], answers: AnswerUpdates) -> Iterator[Update]:
    """The updates that show a conversation as it was."""
    for message in messages:
        for part in message.content:
            match part:
                case ToolCallPart():
                    path = path_in(part.input, "/")
                    yield helpers.start_tool_call(
                        part.call_id,
                        visible(shown_call(InnerCall(part.call_id, part.name, part.input))),
                        kind=kind_of(part.name),
                        status="completed",
                        locations=None if path is None else [schema.ToolCallLocation(path=path)],
                    )
                case ToolResultPart():
                    text = "".join(one.value for one in part.content if isinstance(one, TextPart))
                    status: schema.ToolCallStatus = "failed" if part.is_error else "completed"
                    yield helpers.update_tool_call(part.call_id, status=status, content=shown_result(text))
                case DataPart() if message.role is Role.USER and part.mime_type.startswith("image/"):
                    image = helpers.image_block(b64encode(part.data).decode(), part.mime_type)
                    yield helpers.update_user_message(image)
                case TextPart() if message.role is Role.USER:
                    yield helpers.update_user_message_text(part.value)
                case _:
                    yield from answers.of(part)
    yield from answers.end()
