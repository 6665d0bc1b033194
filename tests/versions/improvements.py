"""What is known to differ from the other version, a row each, and why it is better now.

A row covers a difference of a stream if the stream has one of `shows`; then it covers those of `brings` too. A
difference that no row covers is a new one: a person looks at it, and adds a row or mends the reader.
"""

import re
from collections.abc import Iterable, Sequence
from typing import NamedTuple

BEFORE = "0.14.0"
"""The version that the rows are about."""
COMMIT = "1e45e078"
"""Its commit."""


class Improvement(NamedTuple):
    """A kind of difference.

    Attributes:
        name: What differs, in words.
        why: Why it is better.
        shows: The phrases of :mod:`versions.comparing` by which it is known, as regular expressions.
        brings: Those that may come with it.
        protocols: Only streams of these; empty for all.
    """

    name: str
    why: str
    shows: tuple[str, ...]
    brings: tuple[str, ...] = ()
    protocols: tuple[str, ...] = ()

    def covered(self, protocol: str, phrases: Iterable[str]) -> set[str]:
        """Which differences of a stream it covers."""
        said = set(phrases)
        if (self.protocols and protocol not in self.protocols) or not any(_matches(self.shows, one) for one in said):
            return set()
        return {one for one in said if _matches((*self.shows, *self.brings), one)}


def _matches(patterns: Iterable[str], phrase: str) -> bool:
    return any(re.fullmatch(pattern, phrase) for pattern in patterns)


_END = (r"Finish\.(outcome|reason\.unified): .*", r"Finish\.reason\.raw: .*")
"""What changes with an error."""
_FACTS = r"Finish\.(usage\.\w+|response_id|model|provider_metadata|reason\.raw|edits)"
_GOES_ON = (
    rf"{_FACTS}: (new|other)",
    r"Unmapped .*: (more|fewer|other)",
    r"(Text|Thinking|Data)Part.*: (new|longer|more|other)",
)
"""What an answer has that does not end at a fault."""
_NO_MORE = (
    rf"{_FACTS}: (lost|other)",
    r"(Text|Thinking|Data)Part.*: (lost|shorter|fewer|other)",
    r"Unmapped .*",
)
"""What comes after an error, which ends the answer, is not part of it."""
_CALLS = r"ToolCallPart: (more|fewer).*"
_COUNTED_CALL = r"Unmapped (tool call|tool-call|tool-input) … \((?!run by).*\): more"
_OF_AN_ERROR = r"Finish\.error\.(got|arguments|call_id|name|event_type|field|expected): .*"
_AI_SDK = ("ai-sdk", "ai-sdk-ui", "ai-sdk-data", "ai-gateway")

IMPROVEMENTS: tuple[Improvement, ...] = (
    Improvement(
        "A delta that repeats a closed text is counted, and not shown again",
        "The event that closes a text has brought all of it. Before, a delta that came after it was shown a second"
        " time, and the closing events that followed differed from what was shown.",
        (r"Unmapped response\.\w+\.delta \(repeats the text before it\): more",),
        (r"(Text|Thinking)Part.*: (shorter|fewer|other)", r"Unmapped response\.[\w.]+ \(differs from .*\): fewer"),
        ("openresponses",),
    ),
    Improvement(
        "An error names what came in place of an answer: a page, text, another protocol",
        "The message says what the bytes are and what to do. Before, it named the first byte that is no JSON, or said"
        " that the stream had ended too early.",
        (r"Finish\.error: \w+ → UnreadableStreamError",),
        _END,
    ),
    Improvement(
        "An error says that nothing came",
        "Empty responses, blanks and comments alone have an error of their own, which clients and the log tell apart"
        " from an answer that was cut.",
        (r"Finish\.error: \w+ → EmptyStreamError",),
        _END,
    ),
    Improvement(
        "The server's own error is found, or kept",
        "Errors in events of other protocols, in a choice, a delta or a plain line end the answer with the server's"
        " words. Before, they were events without a meaning, and the answer ended as cut, or even as complete. Garbage"
        " after an error does not hide it.",
        (
            r"Finish\.error: \w+ → Upstream(Failure|HTTP)Error",
            r"Finish\.error\.statement: the server failed: .*",
        ),
        (*_END, *_NO_MORE, _CALLS, r"Finish\.error\.\w+: .*"),
    ),
    Improvement(
        "An error keeps more of what the server said",
        "The body, the type, the status, the parameter and the kind of an error reach the host and the log.",
        (
            r"Finish\.error\.(body|provider_type|provider_code|param|http_status): new",
            r"Finish\.error\.code: Unspecified → \w+",
        ),
    ),
    Improvement(
        "A limit that cuts a tool call is no error",
        "The answer keeps its text, its thinking and its whole calls, and ends with `length`. The cut call is counted.",
        (r"Finish\.outcome: failed → incomplete",),
        (*_END, _COUNTED_CALL, _CALLS, r"ThinkingPart\.metadata: more", r"Finish\.error: \w+ → none"),
    ),
    Improvement(
        "An answer that failed has `error` as its reason",
        "Before, an answer with a broken call kept `stop`, `tool-calls` or `other`, and a client could take it for a"
        " good one. The server's own word stays beside it.",
        (r"Finish\.reason\.unified: (other|stop|tool-calls) → error",),
        (_COUNTED_CALL, _OF_AN_ERROR, r"ToolCallPart: fewer"),
    ),
    Improvement(
        "Arguments that a server says twice, or begins anew, are read",
        "The call has the arguments that the server meant, and the mending is counted. Before, the answer failed, or"
        " the call had no arguments.",
        (r"Unmapped tool call … \((the|an|each) .*\): more", r"ToolCallPart\.input: other"),
        (*_END, _CALLS, _COUNTED_CALL, r"Finish\.error: ToolArgumentsError → none"),
    ),
    Improvement(
        "Whole calls survive a broken one, and the answer goes on after it",
        "A call whose arguments are no JSON ends the answer with an error that names it. Before, the whole calls beside"
        " it were lost too. A fault of the stream that follows is the error then.",
        (
            r"ToolCallPart: more beside a broken call.*",
            r"Finish\.error: ToolArgumentsError → (UpstreamProtocol|TruncatedStream)Error",
            r"Finish\.usage\.raw: new",
        ),
        (*_END, *_GOES_ON, _OF_AN_ERROR, r"Finish\.error\.statement: tool call.*", _CALLS),
    ),
    Improvement(
        "An error shows the arguments of a call as they came",
        "As JSON, and without an id that the server has not given. Before, objects were shown as Python writes them.",
        (r"Finish\.error\.statement: tool call … → tool call …", r"Finish\.error\.call_id: lost"),
        (_OF_AN_ERROR, *_GOES_ON),
    ),
    Improvement(
        "What belongs to an answer survives its error",
        "Thinking and calls that a server wants back, and the list of sources, are kept although the answer failed, or"
        " ended at a limit.",
        (r"ThinkingPart\.metadata: (more|other)", r"TextPart: longer"),
    ),
    Improvement(
        "An event without a type does not end an answer",
        "It is counted, and the answer goes on. Before, it was an error, and all that followed was lost.",
        (r"Unmapped a chunk without a type: more", r"Finish\.error\.statement: an event field type: .*"),
        (*_END, *_GOES_ON, _CALLS, _OF_AN_ERROR, r"Finish\.error: .*", r"order of outputs"),
        (*_AI_SDK, "ag-ui"),
    ),
    Improvement(
        "The status of an interaction on its way is no reason to stop",
        "Only the status at its end is. Before, the server's word for a state in between was the reason of an answer"
        " that was cut or failed.",
        (r"Finish\.reason\.raw: (lost|other)",),
        (),
        ("gemini-interactions",),
    ),
    Improvement(
        "Input that streams as numbers, lists or objects is read",
        "Before, it ended the answer with an error.",
        (
            r"Finish\.error\.statement: tool-(input|call)-delta field delta: .*",
            r"Finish\.error: UpstreamProtocolError → (none|TruncatedStreamError|ToolArgumentsError)",
        ),
        (*_END, *_GOES_ON, _CALLS, _OF_AN_ERROR),
        _AI_SDK,
    ),
    Improvement(
        "A call is read from its streamed input",
        "A stream that ends after the whole input of a call, without the call itself, gives the call. Before, it was"
        " counted as incomplete.",
        (r"Unmapped tool-input … \(incomplete\): (fewer|other)",),
        (_CALLS, _COUNTED_CALL),
        _AI_SDK,
    ),
    Improvement(
        "A whole call counts after the finish of its step",
        "The input that streamed before was cut; the whole call that follows was dropped.",
        (r"ToolCallPart: more(, without arguments)?",),
        (_COUNTED_CALL,),
        _AI_SDK,
    ),
    Improvement(
        "Two calls with one id are two calls",
        "The second gets an id of its own. Before, it was dropped, counted at best, or its arguments were lost.",
        (
            r"Unmapped tool-call … \(again, and different\): fewer",
            r"Unmapped function_call \(an id for the second time\): fewer",
            r"ToolCallPart: more, with an id of ours",
            r"Finish\.error: ToolArgumentsError → none",
        ),
        (*_END, _CALLS, _COUNTED_CALL),
    ),
    Improvement(
        "Repeated, mended, cut and invalid calls are counted",
        "Nothing is dropped in silence: a trace and the inspector show each.",
        (
            _COUNTED_CALL,
            r"Unmapped tool_calls \(arguments of no call\): .*",
            r"Unmapped tool-call … \(run by the provider\): more",
        ),
    ),
    Improvement(
        "A broken call of AG-UI is counted as on every wire",
        "The first broken call is in the error; each other one has the name that all wires use. Arguments that came as"
        " an object are shown.",
        (
            r"Unmapped TOOL_CALL_START … \(incomplete\): fewer",
            r"Unmapped TOOL_CALL_START … \((of a run that broke off|waits for an answer)\): (more|other)",
        ),
        (_COUNTED_CALL,),
        ("ag-ui",),
    ),
    Improvement(
        "A call that cannot be read whole is an error",
        "Pieces of a call that was never begun, and values that are no part of its arguments, are an error that names"
        " the call. Before, they were left out, and the answer looked complete.",
        (r"Finish\.error: none → ToolArgumentsError",),
        (*_END, _CALLS, _COUNTED_CALL),
    ),
    Improvement(
        "The text of one answer in several choices is one text",
        "Servers put text, calls and the end of one answer into choices of other numbers. Of choices that compete the"
        " first counts, and the others are named.",
        (r"Unmapped (choices|candidates)\[0\]: (fewer|more|other)", r"order of outputs"),
        (
            r"(Text|Thinking)Part: (longer|new|other)",
            r"ThinkingPart\.metadata: more",
            _CALLS,
            *_END,
            rf"{_FACTS}: .*",
            r"Finish\.error: TruncatedStreamError → none",
            r"Finish\.error: none → ToolArgumentsError",
        ),
        ("chat-completions", "gemini"),
    ),
    Improvement(
        "Thinking that comes as a list is read",
        "Before, it was an event without a part.",
        (r"Unmapped delta\.reasoning\w*: fewer",),
        (r"(Text|Thinking)Part: (longer|new|other)",),
        ("chat-completions",),
    ),
    Improvement(
        "The texts of two steps or messages are paragraphs",
        "Before, the last word of a step and the first of the next were one word. Texts that stream at the same time"
        " come one after the other.",
        (r"TextPart: (other blanks|other)", r"order of outputs"),
        (),
        (*_AI_SDK, "ag-ui"),
    ),
    Improvement(
        "Half a character is counted",
        "A half that no other follows is no text: encodings of JSON and of files refuse it. Before, it went out.",
        (r"Unmapped half of a character: more",),
        (r"(Text|Thinking)Part: (lost|other|shorter)", r"Finish\.usage\.raw: other", r"Unmapped .*: (fewer|other)"),
    ),
    Improvement(
        "Ids of calls without an id are made in one way",
        "One rule makes them on all wires, also where two calls have one id. They depend on the id of the response, the"
        " place, the name and the arguments alone, as before.",
        (r"ToolCallPart\.call_id: another id of ours",),
    ),
    Improvement(
        "`{}` as the end of the arguments does not end a call",
        "Some servers send it before the arguments. The call comes with the end of its item, or of the answer; a stream"
        " that is cut between the two has no call.",
        (r"ToolCallPart: fewer", r"order of outputs"),
        (),
        ("openresponses",),
    ),
    Improvement(
        "A file whose base64 is broken is counted",
        "Before, characters that are no base64 were left out, and the bytes that came of it went out as the file.",
        (r"Unmapped inlineData \(not readable\): more",),
        (r"DataPart .*: fewer",),
        ("gemini",),
    ),
)


def rows_of(protocol: str, phrases: Sequence[str]) -> tuple[list[Improvement], list[str]]:
    """The rows that explain the differences of a stream, and the differences that none explains."""
    rows, left = [], list(phrases)
    for row in IMPROVEMENTS:
        covered = row.covered(protocol, phrases)
        if not covered.isdisjoint(left):
            rows.append(row)
            left = [one for one in left if one not in covered]
    return rows, left
