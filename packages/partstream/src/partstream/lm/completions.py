"""A completion: the text that belongs at a cursor, between a prefix and a suffix.

A request for a completion is a request for an answer like any other, so that limits, budgets, usage, cancellation and
recordings hold for it too. Its messages are :meth:`CompletionRequest.messages`, which ask a chat model for the text; an
option of the host, :data:`COMPLETION`, holds the request itself, for providers whose models complete text, such as
those of :func:`partstream.completion_model`. Models in chat often put the text into a Markdown fence, or repeat what is
before the cursor: :class:`BareText` takes both away while the answer streams.
"""

from __future__ import annotations
import re
from collections.abc import Iterable, Mapping
from typing import Any, Final

from partstream.codec.checks import BOOLEAN, TEXT, check_fields, dataclass, sequence_of
from partstream.lm.messages import ChatMessage

COMPLETION: Final = "_completion"
"""The option of a host with the request for a completion, as :attr:`CompletionRequest.fields`."""
COMPLETES_TEXT: Final = "completesText"
"""The field of a model's information that says that it completes text and has no conversation."""

_BUDGET: Final = 32_768
"""Characters of prefix, suffix and snippets together that :meth:`CompletionRequest.within` keeps by default."""


@dataclass(frozen=True, slots=True)
class CompletionSnippet:
    """A piece of another file that has to do with the place of the cursor.

    Attributes:
        path: Where it is from, as the editor shows it.
        text: The piece.

    Example:
        >>> from partstream import CompletionSnippet
        >>> CompletionSnippet("shapes.py", "class Circle: ...").path
        'shapes.py'
    """

    path: str
    text: str

    def __post_init__(self) -> None:
        check_fields(self, {"path": TEXT, "text": TEXT})


@dataclass(frozen=True, slots=True, init=False)
class CompletionRequest:
    """What is known of the cursor whose text is asked for.

    Attributes:
        prefix: The text before the cursor.
        suffix: The text after it.
        language: VS Code's id of the language, such as `python`; empty if unknown.
        path: The path of the file, as the editor shows it; empty if unknown.
        snippets: Pieces of open files and of recent edits, the most telling one first.
        is_one_line: Whether only the rest of the line is wanted, so that a model can stop at its end.

    Raises:
        InvalidArgumentError: An argument has another type.

    Example:
        >>> from partstream import CompletionRequest
        >>> CompletionRequest("def area(r):\\n    return ", "\\n", language="python").language
        'python'
    """

    prefix: str
    suffix: str = ""
    language: str = ""
    path: str = ""
    snippets: tuple[CompletionSnippet, ...] = ()
    is_one_line: bool = False

    def __init__(
        self,
        prefix: str,
        suffix: str = "",
        language: str = "",
        path: str = "",
        snippets: Iterable[CompletionSnippet] = (),
        is_one_line: bool = False,
    ) -> None:
        for name, value in zip(_NAMES, (prefix, suffix, language, path, is_one_line), strict=True):
            object.__setattr__(self, name, value)
        kept = sequence_of("CompletionRequest.snippets", snippets, CompletionSnippet, "a CompletionSnippet")
        object.__setattr__(self, "snippets", kept)
        check_fields(self, {**dict.fromkeys(_NAMES, TEXT), _NAMES[-1]: BOOLEAN})

    @classmethod
    def asked(cls, options: Mapping[str, Any]) -> CompletionRequest | None:
        """The request for a completion in the options of a request; None in those of a conversation."""
        said = options.get(COMPLETION)
        if not isinstance(said, Mapping):
            return None
        return cls(**{**said, "snippets": [CompletionSnippet(**one) for one in said.get("snippets", ())]})

    @property
    def fields(self) -> dict[str, Any]:
        """The request as JSON values."""
        snippets = [{"path": one.path, "text": one.text} for one in self.snippets]
        return {**{name: getattr(self, name) for name in _NAMES}, "snippets": snippets}

    def within(self, characters: int = _BUDGET) -> CompletionRequest:
        """The request with at most so many characters: the suffix gets a quarter of them and the prefix what it needs
        of the rest, each on the side of the cursor; snippets follow whole, as long as there is room."""
        suffix = self.suffix[: max(characters // 4, characters - len(self.prefix))]
        prefix = self.prefix[max(len(self.prefix) - (characters - len(suffix)), 0) :]
        room = characters - len(prefix) - len(suffix)
        kept = []
        for one in self.snippets:
            if len(one.path) + len(one.text) <= room:
                kept.append(one)
                room -= len(one.path) + len(one.text)
        return CompletionRequest(prefix, suffix, self.language, self.path, kept, self.is_one_line)

    @property
    def messages(self) -> tuple[ChatMessage, ...]:
        """The conversation that asks a chat model for the completion."""
        about = f" of the file {self.path}" if self.path else ""
        language = f" ({self.language})" if self.language else ""
        snippets = [f"<related path={one.path!r}>\n{one.text}\n</related>\n" for one in self.snippets]
        text = f"{self.prefix}{_CURSOR}{self.suffix}"
        asked = "".join((*snippets, f"The text{about}{language}:\n", text))
        rules = f"{_RULES} Answer with one line at most." if self.is_one_line else _RULES
        return ChatMessage.system(rules), ChatMessage.user(asked)


_NAMES: Final = ("prefix", "suffix", "language", "path", "is_one_line")
_CURSOR: Final = "<|cursor|>"
_RULES: Final = (
    f"You complete text at a cursor. The text has {_CURSOR} where the cursor is. Answer with the text that belongs "
    "there, and with nothing else: no explanation, no Markdown fence, and nothing of what is before or after the "
    "cursor. Keep its language, indentation and style. Where nothing belongs there, answer with nothing."
)

# ---- What chat models put around the text ----

_FENCE: Final = re.compile(r"\s*(`{3,}|~{3,})[^\n`]*\n")
_MAY_BEGIN: Final = re.compile(r"\s*(?:`{0,3}|~{0,3}|(?:`{3,}|~{3,})[^\n`]*)")
_LONGEST_HEAD: Final = 200


class BareText:
    """Takes a Markdown fence, and the repeated beginning of the line at the cursor, from a text that comes in pieces.

    Text is held back only while it may be one of them. What follows a closed fence explains it, and is left out.
    """

    def __init__(self, request: CompletionRequest) -> None:
        self._line = request.prefix.rpartition("\n")[2]
        self._head = ""
        self._is_open = False
        self._fence = ""
        self._held = "\n"  # the break before the text, so that a fence may close at once
        self._has_begun = self._is_closed = False

    def add(self, piece: str) -> str:
        """The text that is certain after the next piece."""
        if self._is_open:
            return self._unfenced(piece)
        self._head += piece
        return self._opened(is_whole=len(self._head) >= _LONGEST_HEAD)

    def end(self) -> str:
        """The rest of the text."""
        rest = "" if self._is_open else self._opened(is_whole=True)
        held, self._held = self._held, ""
        if not self._fence or self._is_closed:
            return rest
        return rest + (held if self._has_begun else held[1:])

    def _opened(self, *, is_whole: bool) -> str:
        """The text after its head; nothing while the head is not whole."""
        if not self._fence:
            if (fence := _FENCE.match(self._head)) is not None:
                self._fence, self._head = fence[1], self._head[fence.end() :]
            elif not is_whole and _MAY_BEGIN.fullmatch(self._head):
                return ""
        line, head = self._line, self._head
        if line.strip():
            if not is_whole and len(head) < len(line) and line.startswith(head):
                return ""
            head = head.removeprefix(line)
        self._is_open, self._head = True, ""
        return self._unfenced(head)

    def _unfenced(self, piece: str) -> str:
        if not self._fence or self._is_closed:
            return "" if self._is_closed else piece
        text, closing = self._held + piece, f"\n{self._fence}"
        last, end = text.rfind("\n"), text.find(closing)
        self._is_closed = end >= 0
        if not self._is_closed:
            end = last if last >= 0 and closing.startswith(text[last:]) else len(text)
        said, self._held = text[:end], text[end:]
        if said and not self._has_begun:
            self._has_begun, said = True, said[1:]
        return said
