"""Gemini: chunks of `streamGenerateContent` in, VS Code's parts out.

:class:`GeminiResponseReader` takes a chunk. The lifecycle is one table (:mod:`partstream.protocols.read_response`); a
handler never looks at the state. A chunk holds parts in the model's order (docs/wires/gemini.md#parts), and
:data:`PARTS` names the handler of each; beside them a chunk says who answers, why the model stopped
(:class:`FinishWords`) and the tokens (:class:`ReportedUsage`).

The end is only ever inferred: some chunk said why the model stopped, or that the prompt was refused, and the bytes
ended. Content after a finish reason still counts (docs/wires/gemini.md#observed-streams). Sources come late, growing,
and more than once (docs/wires/gemini.md#grounding), so :class:`Sources` shows them at the end, and :class:`ShownText`
finds their places.

Nothing is checked against a schema. What is missing, null or of another type says nothing; what is unknown is counted
as :class:`Unmapped`.
"""

from __future__ import annotations
import re
from bisect import bisect_right
from collections.abc import Callable, Iterator, Mapping
from functools import partial
from typing import Any, Final, TypeAlias

from partstream.codec.checks import as_count, places, replace
from partstream.conversation.citations import Citation, Citations, linked_file
from partstream.conversation.provider_state import CarriedItems
from partstream.errors import LanguageModelError
from partstream.lm.outputs import (
    CitationMode,
    EmitText,
    ExecutedCode,
    FileMode,
    Finish,
    Outcome,
    StreamOptions,
    StreamOutput,
    ThinkingMode,
)
from partstream.lm.parts import (
    FinishReason,
    ResponsePart,
    TextPart,
    UnifiedFinishReason,
    Usage,
    text_part,
    thinking_part,
)
from partstream.protocols import read_response as base
from partstream.protocols.calls import CompleteCall
from partstream.protocols.errors import NO_REASON, failure_in_finish_word
from partstream.protocols.files import inline_file
from partstream.protocols.gemini import provider_state as state
from partstream.protocols.gemini.errors import ERRORS
from partstream.protocols.gemini.provider_state import PART, SIGNATURE, usable_signature
from partstream.protocols.gemini.tool_calls import ToolCalls
from partstream.protocols.read_response import JSONObject, RecentText, identifier, index, mapping, objects, text

_Outputs: TypeAlias = list[StreamOutput]

# ---- Shown text ----

_BLOCK: Final = 4096
"""Bytes between two places of which the number of characters before them is kept."""
_CONTINUES: Final = bytes(range(0x80, 0xC0))
"""The bytes of UTF-8 that begin no character."""


class ShownText(RecentText):
    """The visible text of a response: the model's own, and blocks between it.

    Args:
        mode: How sources are rendered: as data, places in the text are looked for, so that all of it is kept.
    """

    def __init__(self, mode: CitationMode) -> None:
        super().__init__()
        self._keeps_all = mode is CitationMode.DATA
        self._new: list[tuple[bool, str]] = []
        self._map = _Map()

    def show(self, piece: str, *, is_said: bool) -> None:
        """Takes the next piece, which the model said or a block shows."""
        self.add(piece)
        if self._keeps_all:
            self._new.append((is_said, piece))

    def place(self, start: int, end: int, words: str) -> tuple[int, int] | None:
        """The place of words of the model in all that is shown, in characters from 0; None where they are not found.

        Args:
            start: Their first byte of UTF-8 in all that the model said.
            end: The byte after them.
            words: The words themselves, or an empty text: servers count differently (docs/wires/gemini.md#grounding).
        """
        for is_said, piece in self._new:
            self._map.add(piece, is_said=is_said)
        self._new.clear()
        begin, after = self._map.character_at(start), self._map.character_at(end)
        if words and self._map.said[begin:after] != words:
            begin = self._map.said.find(words)
            after = begin + len(words)
        if begin < 0 or after <= begin:
            return None
        return self._map.shown_at(begin), self._map.shown_at(after - 1) + 1


class _Map:
    """The places of the model's own text: `said`, and its characters. It grows: sources may come between its words."""

    def __init__(self) -> None:
        self.said_starts, self.shown_starts = [0], [0]  # of each run, in `said`, and in all that is shown
        self._said_length = self._shown_length = 0
        self._goes_on = False  # whether the last piece was the model's own
        self._said: str | None = None
        self.raw = bytearray()
        self.characters = [0]  # their number before each block of bytes

    def add(self, piece: str, *, is_said: bool) -> None:
        """Takes the next piece."""
        if is_said:
            if not self._goes_on:
                self.said_starts.append(self._said_length)
                self.shown_starts.append(self._shown_length)
            self._said_length += len(piece)
            self._said = None
            self.raw += piece.encode("utf-8", "surrogatepass")
            for start in range(len(self.characters) * _BLOCK - _BLOCK, len(self.raw) - _BLOCK + 1, _BLOCK):
                self.characters.append(self.characters[-1] + _count(self.raw[start : start + _BLOCK]))
        self._goes_on = is_said
        self._shown_length += len(piece)

    @property
    def said(self) -> str:
        """All that the model said."""
        if self._said is None:
            self._said = self.raw.decode("utf-8", "surrogatepass")
        return self._said

    def character_at(self, place: int) -> int:
        """The number of characters before a byte."""
        place = min(max(place, 0), len(self.raw))
        block = place // _BLOCK
        return self.characters[block] + _count(self.raw[block * _BLOCK : place])

    def shown_at(self, place: int) -> int:
        """The place of a character in all that is shown."""
        run = bisect_right(self.said_starts, place) - 1
        return self.shown_starts[run] + place - self.said_starts[run]


def _count(raw: bytes | bytearray) -> int:
    """The number of characters that begin in bytes of UTF-8."""
    return len(raw.translate(None, _CONTINUES))


# ---- Code and files ----

_TICKS: Final = re.compile(r"`{3,}")
_WORD: Final = re.compile(r"[A-Za-z0-9+#-]{1,30}")
_OUTCOMES: Final = {"OUTCOME_FAILED": "failed", "OUTCOME_DEADLINE_EXCEEDED": "took too long"}
_UNSPECIFIED: Final = "LANGUAGE_UNSPECIFIED"


def _block(lines: str, language: str) -> str:
    if not lines:
        return ""
    fence = "`" * max([3, *(len(found) + 1 for found in _TICKS.findall(lines))])
    name = language if _WORD.fullmatch(language) else ""
    return f"\n\n{fence}{name}\n{lines.rstrip()}\n{fence}\n\n"


def named_file(file: JSONObject, mode: FileMode) -> ResponsePart | None:
    """The part of a `fileData`; None where no link can hold its address, such as that of a bucket."""
    address = text(file, "fileUri")
    is_web = address.lower().startswith(("http://", "https://"))
    return linked_file(address, mode) if is_web else None


# ---- Sources ----

SOURCE_FIELDS: Final = frozenset({"groundingMetadata", "urlContextMetadata", "citationMetadata"})
"""The fields of a candidate that :meth:`Sources.read` reads."""

_MOST: Final = 1000  # sources of one answer
_KINDS: Final = ("web", "retrievedContext", "maps", "image")
_ADDRESSES: Final = ("uri", "sourceUri", "imageUri")
_STORES: Final = ("documentName", "fileSearchStore")
"""What identifies a source without an address."""


class Sources:
    """The sources of one answer."""

    def __init__(self, mode: CitationMode) -> None:
        self._citations = Citations(mode)
        self._grounding: JSONObject = {}
        self._cited: list[JSONObject] = []
        self._pages: JSONObject = {}

    def read(self, candidate: JSONObject) -> None:
        """Takes the sources of a candidate: of each field of the grounding, the last value counts."""
        self._grounding |= {name: value for name, value in mapping(candidate, "groundingMetadata").items() if value}
        self._pages = mapping(candidate, "urlContextMetadata") or self._pages
        cited = mapping(candidate, "citationMetadata")
        # `citationSources` on the Gemini API, `citations` on Vertex
        self._cited += [*objects(cited, "citationSources"), *objects(cited, "citations")][: _MOST - len(self._cited)]

    def emit(self, said: ShownText, outputs: list[StreamOutput]) -> None:
        """Shows all sources, each once."""
        for citation in self._named(said):
            key = citation.url or citation.source_id or citation.title
            outputs += self._citations.render(citation, said, key)
        outputs += self._citations.at_end()

    @property
    def metadata(self) -> Mapping[str, Any]:
        """Further facts about the server's search, by its own names: Google's terms ask to show `searchEntryPoint`."""
        names = ("webSearchQueries", "imageSearchQueries", "searchEntryPoint")
        found = {name: self._grounding[name] for name in names if name in self._grounding}
        if found:
            found = {"groundingMetadata": found}
        return found | ({"urlContextMetadata": self._pages} if self._pages else {})

    def _named(self, said: ShownText) -> Iterator[Citation]:
        supports: dict[int, JSONObject] = {}  # the first segment of the answer that each chunk supports
        for support in objects(self._grounding, "groundingSupports"):
            numbers = support.get("groundingChunkIndices")
            for number in numbers if isinstance(numbers, list) else ():
                if type(number) is int:
                    supports.setdefault(number, mapping(support, "segment"))
        for place, chunk in enumerate(objects(self._grounding, "groundingChunks")[:_MOST]):
            kind = next((name for name in _KINDS if isinstance(chunk.get(name), dict)), None)
            source = chunk if kind is None else chunk[kind]
            segment = supports.get(place, {})
            words = text(segment, "text")
            where = said.place(index(segment, "startIndex") or 0, index(segment, "endIndex") or 0, words)
            yield Citation(
                url=_first(source, _ADDRESSES),
                title=identifier(source, "title"),
                name=f"groundingChunk:{kind or 'unknown'}",
                data=chunk,
                source_id=_first(source, _STORES),
                start=where and where[0],
                end=where and where[1],
                cited_text=identifier(source, "text"),
            )
        for cited in self._cited:
            where = said.place(index(cited, "startIndex") or 0, index(cited, "endIndex") or 0, "")
            url, title = identifier(cited, "uri"), identifier(cited, "title")
            start, end = where or (None, None)
            yield Citation(url, title, "citationSource", cited, start=start, end=end)


def _first(source: JSONObject, names: tuple[str, ...]) -> str | None:
    return next((value for name in names if (value := identifier(source, name)) is not None), None)


# ---- Finish ----

FILTERS: Final = (
    "SAFETY", "RECITATION", "BLOCKLIST", "PROHIBITED_CONTENT", "SPII", "LANGUAGE", "IMAGE_SAFETY",
    "IMAGE_PROHIBITED_CONTENT", "IMAGE_RECITATION", "MODEL_ARMOR", "JAILBREAK", "ESCALATION",
)  # fmt: skip
"""The words of filters, for answers and for prompts."""

WORDS: Final[Mapping[str, UnifiedFinishReason]] = {
    "STOP": UnifiedFinishReason.STOP,
    "MAX_TOKENS": UnifiedFinishReason.LENGTH,
    # The limit of one request: the rest comes for a `continuationToken`.
    "CONTINUATION": UnifiedFinishReason.LENGTH,
    **dict.fromkeys(FILTERS, UnifiedFinishReason.CONTENT_FILTER),
}
UNSPECIFIED: Final = ("FINISH_REASON_UNSPECIFIED", "BLOCK_REASON_UNSPECIFIED", "BLOCKED_REASON_UNSPECIFIED")


class FinishWords:
    """Why the model stopped, as the candidates and the feedback on the prompt say it.

    Attributes:
        word: The last finish reason, the reason for which the prompt was refused, or None.
        message: The server's sentence about it, or None.
        is_blocked: Whether the prompt was refused.
    """

    def __init__(self) -> None:
        self.word: str | None = None
        self.message: str | None = None
        self.is_blocked = False

    def prompt(self, chunk: JSONObject) -> None:
        """Takes the feedback on the prompt: a refused one has no candidates."""
        feedback = mapping(chunk, "promptFeedback")
        if (word := identifier(feedback, "blockReason")) is not None:
            self.is_blocked = True
            self.say(word, identifier(feedback, "blockReasonMessage"))

    def say(self, word: str | None, message: str | None) -> None:
        """Takes what a candidate says. Proxies say `STOP` on early chunks: the last word counts, and one that says
        something wins over one that says nothing."""
        if word is not None and (self.word is None or word not in UNSPECIFIED):
            self.word = word
        self.message = message or self.message

    @property
    def failure(self) -> str | None:
        """The sentence for a person about an answer that failed, or None."""
        said = None if self.is_blocked or self.word in WORDS else failure_in_finish_word(self.word)
        if said is None or self.message is None:
            return said
        return self.message if said is NO_REASON else f"{said}: {self.message}"

    @property
    def unified(self) -> UnifiedFinishReason:
        """The reason in the terms of all providers; no word announces calls (docs/wires/gemini.md#tool-calls)."""
        if self.is_blocked:
            return UnifiedFinishReason.CONTENT_FILTER
        return WORDS.get(self.word or "", UnifiedFinishReason.OTHER)

    @property
    def is_cut(self) -> bool:
        """Whether a limit or a filter ended the answer."""
        return self.unified in {UnifiedFinishReason.LENGTH, UnifiedFinishReason.CONTENT_FILTER}


# ---- Usage ----


class ReportedUsage:
    """The usage of one answer: of each field, the last value that is not null. Reports are never added up."""

    def __init__(self) -> None:
        self.raw: JSONObject = {}

    def say(self, report: Any) -> None:
        """Takes a report."""
        if isinstance(report, dict):
            has_gaps = None in report.values()
            self.raw |= {name: one for name, one in report.items() if one is not None} if has_gaps else report


def read_usage(raw: JSONObject) -> Usage | None:
    """The usage that merged fields `usageMetadata` mean; None without a count.

    The input holds what server-side tools added. The output holds the thoughts, which `candidatesTokenCount` leaves
    out; where the total is reached without them, a proxy has counted them in already.
    """
    if not any(name.endswith("TokenCount") and as_count(said) is not None for name, said in raw.items()):
        return None
    prompt, used, made, thoughts, total = (as_count(raw.get(f"{name}TokenCount")) for name in _COUNTS)
    given = None if prompt is None else prompt + (used or 0)
    if made is None and thoughts is not None:
        made = 0 if total is None or given is None or total == given + thoughts else None
    elif made is None and given is not None and total == given:
        made = 0  # nothing was said: a refused prompt, or a beginning
    if made is not None and thoughts and not (given is not None and total == given + made):
        made += thoughts
    total, cached = base.total_of(total, given, made), as_count(raw.get("cachedContentTokenCount"))
    return Usage(given, made, total, cached, thoughts, raw)


_COUNTS: Final = ("prompt", "toolUsePrompt", "candidates", "thoughts", "total")


# ---- Stream ----


class GeminiResponseReader(base.ChoicesReader):
    """Reads one response of a Gemini server. The document of `generateContent` is one chunk."""

    nameless = "a chunk without candidates"
    field = "candidates"
    has_documents = True
    deltas = base.Deltas(
        {"": (("candidates", 0, "content", "parts", 0, "text"),)},
        varying=("responseId",),
        counts=(*(f"{name}TokenCount" for name in (*_COUNTS, "cachedContent")), "tokenCount"),
    )

    @classmethod
    def claim(cls, _kind: str | None, event: JSONObject) -> base.MatchConfidence:  # noqa: D102
        if isinstance(event.get("candidates"), list) or "usageMetadata" in event or "promptFeedback" in event:
            return base.MatchConfidence.SURE
        return base.MatchConfidence.POSSIBLE if event.get("error") and "type" not in event else base.MatchConfidence.NO

    @classmethod
    def item_of_tags(cls, raw: str) -> JSONObject:
        """A text that goes back as it came."""
        return {"type": state.ITEM_TYPE, PART: {"text": raw}}

    def __init__(self, options: StreamOptions = StreamOptions()) -> None:  # noqa: B008 - immutable
        super().__init__(options, _said)
        self._options = options
        self._calls = ToolCalls()
        self._carried = CarriedItems(options.thinking, state.ITEM_TYPE, "signature")
        self._said = ShownText(options.citations)
        self._sources = Sources(options.citations)
        self._files = 0
        self._usage = ReportedUsage()
        self._finish = FinishWords()
        self._created_at: str | None = None  # on Vertex

    @property
    def usage(self) -> Usage | None:
        """The tokens that the server has reported so far."""
        return read_usage(self._usage.raw)

    def _error_in(self, chunk: JSONObject) -> LanguageModelError | None:
        return ERRORS.failure_in(chunk) if chunk.get("error") or not objects(chunk, "candidates") else None

    def _kind(self, chunk: JSONObject) -> base.LifecycleEvent | None:
        if isinstance(chunk.get("promptFeedback"), dict) or objects(chunk, "candidates"):
            return base.LifecycleEvent.CONTENT
        return base.LifecycleEvent.REPORT if chunk.keys() & _REPORTS else None

    def _read_chunk(self, chunk: JSONObject, outputs: _Outputs) -> None:
        candidates = objects(chunk, "candidates")
        self._response_id = self._response_id or identifier(chunk, "responseId")
        self._model = self._model or identifier(chunk, "modelVersion")
        self._created_at = self._created_at or identifier(chunk, "createTime")
        self._usage.say(chunk.get("usageMetadata"))
        if self._error is None:
            self._finish.prompt(chunk)
            self._read_choices(self._choices.take(candidates, whole=False), outputs)
            if candidates and (failure := ERRORS.failure_beside(candidates[0])) is not None:
                self._error, self._state = failure, base.LifecycleState.FAILING
            elif len(candidates) == 1 and "promptFeedback" not in chunk and self._choices.is_alone:
                self.emit_more = self._more(candidates[0])

    @property
    def _word(self) -> str | None:
        return self._finish.word

    def _complete(self, outputs: _Outputs) -> None:
        if (said := self._finish.failure) is not None:
            outputs += self.fail(ERRORS.failure(said, self._finish.word))
            return
        is_cut, unified = self._finish.is_cut, self._finish.unified
        self._sources.emit(self._said, outputs)
        self._emit_calls(self._calls.release(self._response_id, outputs, is_end=True, is_cut=is_cut), outputs)
        if (broken := self._calls.ended.end(outputs, is_cut=is_cut)) is not None:
            outputs += self.fail(broken)
            return
        if self._calls.count and unified in {UnifiedFinishReason.STOP, UnifiedFinishReason.OTHER}:
            unified = UnifiedFinishReason.TOOL_CALLS
        reason = FinishReason(unified, self._finish.word)
        self._emit_finish(Outcome.INCOMPLETE if is_cut else Outcome.COMPLETED, reason, outputs)

    def _make_finish(self, outcome: Outcome, reason: FinishReason | None, error: LanguageModelError | None) -> Finish:
        said = {"createTime": self._created_at, "finishMessage": self._finish.message}
        served = {name: self._usage.raw[name] for name in _SERVED if isinstance(self._usage.raw.get(name), str)}
        facts = {name: value for name, value in said.items() if value is not None}
        facts = {**facts, **served, **self._sources.metadata}
        finish = Finish(outcome, reason, self.usage, self._response_id, self._model, error)
        explanation = self._finish.message if self._finish.is_cut else None
        return replace(finish, provider_metadata={"gemini": facts} if facts else {}, explanation=explanation)

    # The content

    def _read_choice(self, _place: int, candidate: JSONObject, outputs: _Outputs) -> None:
        for part in objects(mapping(candidate, "content"), "parts"):
            names = [name for name in part if name in PARTS]
            if len(names) > 1:
                self._read_several(names, part, outputs)
            elif names:
                PARTS[names[0]](self, part, outputs)
            elif usable_signature(part.get(SIGNATURE)) is not None:  # Go proxies leave an empty text out
                self._text({"text": "", **part}, outputs)
            elif unknown := sorted(part.keys() - MODIFIERS):
                self._count_once(f"part:{unknown[0]}", part, outputs)
        if "logprobsResult" in candidate:
            self._read_logprobs(mapping(candidate, "logprobsResult"))
        if not SOURCE_FIELDS.isdisjoint(candidate):
            self._sources.read(candidate)
        if "finishReason" in candidate or "finishMessage" in candidate:
            self._finish.say(identifier(candidate, "finishReason"), identifier(candidate, "finishMessage"))

    def _read_logprobs(self, said: JSONObject) -> None:
        """Takes the chosen tokens, and the most probable ones at each place."""
        top = objects(said, "topCandidates")
        for place, chosen in enumerate(objects(said, "chosenCandidates")):
            best = {"top_logprobs": [_logprob(one) for one in objects(top[place], "candidates")]} if top[place:] else {}
            self._take_logprobs([_logprob(chosen) | best])

    def _more(self, candidate: JSONObject) -> EmitText | None:
        """The fast path for more candidates like the last one, with another text; None where there is none."""
        parts = mapping(candidate, "content").get("parts")
        part = parts[0] if isinstance(parts, list) and len(parts) == 1 and isinstance(parts[0], dict) else {}
        if part.keys() not in ({"text"}, {"text", "thought"}) or not candidate.keys().isdisjoint(_SLOW_FIELDS):
            return None
        if part.get("thought") is not True:
            return partial(self._show, is_said=True)
        if self._options.thinking is ThinkingMode.OFF:
            return lambda _text, _outputs: None
        return lambda text, outputs: outputs.append(thinking_part(text))

    def _read_several(self, names: list[str], part: JSONObject, outputs: _Outputs) -> None:
        """Reads a part with several data fields, in their order; proxies add an empty text to other parts.

        The signature belongs to the call in it, else to the last field.
        """
        names = [name for name in names if name != "text" or part[name]]
        modifiers = {name: value for name, value in part.items() if name not in PARTS and name != SIGNATURE}
        signed = "functionCall" if "functionCall" in names else names[-1]
        for name in names:
            signature = {SIGNATURE: part[SIGNATURE]} if name == signed and SIGNATURE in part else {}
            PARTS[name](self, {name: part[name], **modifiers, **signature}, outputs)

    # The parts; see PARTS

    def _text(self, part: JSONObject, outputs: _Outputs) -> None:
        """A text, or a thought. An empty one may bear a signature."""
        value = part["text"] if isinstance(part["text"], str) else ""
        signature = usable_signature(part.get(SIGNATURE))
        if part.get("thought") is True:
            if value and self._options.thinking is not ThinkingMode.OFF:
                outputs.append(thinking_part(value))
            if signature is not None:
                self._carry({PART: part}, outputs)
            return
        self._show(value, outputs, is_said=True)
        if signature is not None:
            self._carry({**_shown_text(value), SIGNATURE: signature}, outputs)

    def _function_response(self, part: JSONObject, outputs: _Outputs) -> None:
        """The response to a call that the server made itself, such as one of an MCP server."""
        self._calls.answer(mapping(part, "functionResponse"))
        self._count_once("functionResponse", part, outputs)

    def _inline_data(self, part: JSONObject, outputs: _Outputs) -> None:
        """A file. Images of thoughts are drafts."""
        if part.get("thought") is True:
            self._count_once("inlineData (of a thought)", part, outputs)
            return
        blob = mapping(part, "inlineData")
        file = inline_file(blob.get("data"), identifier(blob, "mimeType"))
        if file is None:
            self._count_once("inlineData (not readable)", part, outputs)
            return
        self._release(outputs)
        outputs.append(file)
        if (signature := usable_signature(part.get(SIGNATURE))) is not None:
            self._carry({state.FILE: self._files, SIGNATURE: signature}, outputs)
        self._files += 1

    def _file_data(self, part: JSONObject, outputs: _Outputs) -> None:
        file = named_file(mapping(part, "fileData"), self._options.files)
        if isinstance(file, TextPart):
            self._show(file.value, outputs, is_said=False)
            self._carry({PART: part, **_shown_text(file.value)}, outputs)
        elif file is not None:
            self._release(outputs)
            outputs.append(file)
        else:
            self._count_once("fileData (no address for a link)", part, outputs)

    def _executable_code(self, part: JSONObject, outputs: _Outputs) -> None:
        """Code that the server runs; never a call of the client."""
        code = mapping(part, "executableCode")
        language = text(code, "language")
        self._show_and_carry(
            _block(text(code, "code"), "" if language == _UNSPECIFIED else language.lower()), part, outputs
        )

    def _code_execution_result(self, part: JSONObject, outputs: _Outputs) -> None:
        """What came out of it."""
        result = mapping(part, "codeExecutionResult")
        ended = _OUTCOMES.get(text(result, "outcome"))
        said = "" if ended is None else f"\n\nThe code {ended}.\n\n"
        self._show_and_carry((said + _block(text(result, "output"), "text")), part, outputs)

    def _server_tool(self, part: JSONObject, outputs: _Outputs) -> None:
        """A call of a tool of the server, or its response."""
        self._carry({PART: part}, outputs)
        self._count_once(next(name for name in PARTS if name in part), part, outputs)

    def _carry(self, item: JSONObject, outputs: _Outputs) -> None:
        """Carries an item. It comes out at its place, so it waits for the calls before it."""
        self._carried.add(item)
        if not self._calls.any_held:
            self._carried.emit(outputs)

    def _show_and_carry(self, block: str, part: JSONObject, outputs: _Outputs) -> None:
        """Emits a block that shows a part, if it is wanted, and carries the part."""
        if self._options.executed_code is ExecutedCode.OFF:
            block = ""
            self._count_once(next(name for name in PARTS if name in part), part, outputs)
        self._show(block, outputs, is_said=False)
        self._carry({PART: part, **_shown_text(block)}, outputs)

    def _show(self, value: str, outputs: _Outputs, *, is_said: bool) -> None:
        """Emits visible text, of the model or of a block; an empty one shows nothing."""
        if value:
            self._release(outputs)
            self._said.show(value, is_said=is_said)
            outputs.append(text_part(value))

    def _release(self, outputs: _Outputs) -> None:
        """Emits the calls that were held back: what follows them is no response of the server."""
        if self._calls.any_held:
            self._emit_calls(self._calls.release(self._response_id, outputs), outputs)

    def _emit_calls(self, calls: list[tuple[CompleteCall, str | None]], outputs: _Outputs) -> None:
        following = self._carried.take()
        for call, signature in calls:
            if call.is_given or signature is not None:
                signed = {} if signature is None else {SIGNATURE: signature}
                self._carried.add({state.TOOL_CALL_ID: call.call_id, state.GIVEN: call.is_given, **signed})
        self._carried.emit(outputs)
        prefix = self._options.call_id_prefix
        outputs += (one.part(prefix) for one, _ in calls)
        self._carried.add(*following)
        self._carried.emit(outputs)


def _logprob(candidate: JSONObject) -> JSONObject:
    return {"token": text(candidate, "token"), "logprob": candidate.get("logProbability")}


_SLOW_FIELDS: Final = SOURCE_FIELDS | {"finishReason", "finishMessage", "logprobsResult"}
_SERVED: Final = ("trafficType", "serviceTier")
"""The fields of a report that say how the request was served."""
_REPORTS: Final = frozenset({"usageMetadata", "modelVersion", "responseId", "createTime", "candidates"})
"""The fields of chunks without a candidate (docs/wires/gemini.md#chunks)."""


def _said(candidate: JSONObject) -> base.Said:
    """What a candidate brings. Its calls have no indexes: the place among the calls of a chunk counts."""
    content = candidate.get("content")
    listed = content.get("parts") if content.__class__ is dict and "finishReason" not in candidate else None
    if listed.__class__ is list and len(listed) == 1:  # nearly all are one text, and are reported at once
        part = listed[0]
        if part.__class__ is dict and len(part) == 1 and part.get("text"):
            return base.SPEAKS
    parts = objects(mapping(candidate, "content"), "parts")
    ends = identifier(candidate, "finishReason") is not None
    calls = sum("functionCall" in part for part in parts)
    speaks = any(value for part in parts for name, value in part.items() if name in PARTS and name != "functionCall")
    return base.Said(speaks, frozenset(range(calls)), ends)


def _shown_text(value: str) -> JSONObject:
    """The fields of an item that identify the text right before it."""
    return {state.TEXT_LENGTH: len(value)} | ({state.CHECKSUM: base.checksum(value)} if value else {})


PARTS: Final[Mapping[str, Callable[[GeminiResponseReader, JSONObject, _Outputs], None]]] = {
    "functionCall": lambda reader, part, outputs: reader._calls.take(
        mapping(part, "functionCall"), usable_signature(part.get(SIGNATURE)), outputs
    ),
    "functionResponse": GeminiResponseReader._function_response,
    "inlineData": GeminiResponseReader._inline_data,
    "fileData": GeminiResponseReader._file_data,
    "executableCode": GeminiResponseReader._executable_code,
    "codeExecutionResult": GeminiResponseReader._code_execution_result,
    "toolCall": GeminiResponseReader._server_tool,
    "toolResponse": GeminiResponseReader._server_tool,
    "text": GeminiResponseReader._text,
}

MODIFIERS: Final = frozenset(
    {"audioMetadata", "audioTranscription", "documentMetadata", "mediaProcessing", "mediaResolution", "partMetadata"}
    | {"speechMetadata", "spreadsheetMetadata", "thought", SIGNATURE, "videoMetadata"}
)
"""The modifiers of docs/wires/gemini.md#parts."""

# ---- What is read ----

_GROUNDING: Final = "candidates.groundingMetadata"

GeminiResponseReader.reads = places(
    {
        "": "candidates promptFeedback usageMetadata modelVersion responseId createTime error",
        "promptFeedback": "blockReason blockReasonMessage",
        "usageMetadata": " ".join((*_SERVED, *(f"{name}TokenCount" for name in (*_COUNTS, "cachedContent")))),
        "candidates": f"index content finishReason finishMessage error logprobsResult {' '.join(SOURCE_FIELDS)}",
        "candidates.logprobsResult": "chosenCandidates topCandidates",
        "candidates.logprobsResult.topCandidates": "candidates",
        "candidates.logprobsResult.chosenCandidates candidates.logprobsResult.topCandidates.candidates": "token"
        " logProbability",
        "candidates.content": "role parts",
        "candidates.content.parts": " ".join((*PARTS, "thought", SIGNATURE)),
        "candidates.content.parts.functionCall": "id name args partialArgs willContinue",
        "candidates.content.parts.functionCall.partialArgs": "jsonPath stringValue numberValue boolValue nullValue"
        " willContinue",
        "candidates.content.parts.inlineData": "mimeType data",
        "candidates.content.parts.fileData": "fileUri mimeType",
        _GROUNDING: "groundingChunks groundingSupports webSearchQueries imageSearchQueries searchEntryPoint",
        f"{_GROUNDING}.groundingChunks": " ".join(_KINDS),
        " ".join(
            f"{_GROUNDING}.groundingChunks.{kind}" for kind in _KINDS
        ): f"uri sourceUri title text {' '.join(_STORES)}",
        f"{_GROUNDING}.groundingSupports": "groundingChunkIndices segment",
        f"{_GROUNDING}.groundingSupports.segment": "startIndex endIndex text",
        "candidates.citationMetadata": "citationSources citations",
        "candidates.citationMetadata.citationSources candidates.citationMetadata.citations": "uri title startIndex"
        " endIndex",
    }
)
