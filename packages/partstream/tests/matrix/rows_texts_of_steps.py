"""Texts of several steps or messages in one answer: each is a paragraph, and none is mixed into another."""

from matrix.rows import Event, Expected, Row

KIND = "The texts of several steps or messages come one after the other, or at the same time."


def _text(block: str, *pieces: str, name: str = "delta") -> list[Event]:
    deltas = [{"type": "text-delta", "id": block, name: piece} for piece in pieces]
    return [{"type": "text-start", "id": block}, *deltas, {"type": "text-end", "id": block}]


def _message(message_id: str, *pieces: str) -> list[Event]:
    of = {"messageId": message_id}
    contents = [{"type": "TEXT_MESSAGE_CONTENT", **of, "delta": piece} for piece in pieces]
    return [{"type": "TEXT_MESSAGE_START", **of, "role": "assistant"}, *contents, {"type": "TEXT_MESSAGE_END", **of}]


def _run(*events: Event) -> list[Event]:
    run = {"threadId": "t", "runId": "r"}
    return [{"type": "RUN_STARTED", **run}, *events, {"type": "RUN_FINISHED", **run}]


def _snapshot(*messages: tuple[str, str, object]) -> Event:
    listed = [{"id": name, "role": role, "content": content} for name, role, content in messages]
    return {"type": "MESSAGES_SNAPSHOT", "messages": listed}


_START, _STEP, _STEP_END = {"type": "start"}, {"type": "start-step"}, {"type": "finish-step"}
_CALL = {"type": "tool-input-available", "toolCallId": "c", "toolName": "f", "input": {}}
_RESULT = {"type": "tool-output-available", "toolCallId": "c", "output": 1}
_FINISH = {"type": "finish", "finishReason": "stop"}


def _two_steps(outcome: str) -> Expected:
    """Without the setting that waits for outcomes, a call that the server runs is a part as well."""
    return Expected(text="Let me look.\n\nIt is 1.", calls=(("f", {}),), unmapped=(outcome,))


_USER = ("u", "user", "hello")


def _piece(message_id: str, delta: str, kind: str = "CONTENT") -> Event:
    return {"type": f"TEXT_MESSAGE_{kind}", "messageId": message_id, "delta": delta}


_DRAFT = _message("a1", "Draft text.")
_MIXED: list[Event] = [
    {"type": "TEXT_MESSAGE_START", "messageId": "1", "role": "assistant"},
    {"type": "TEXT_MESSAGE_START", "messageId": "2", "role": "assistant"},
    _piece("1", "Hello "),
    _piece("2", "Bon"),
    _piece("1", "world"),
    _piece("2", "jour"),
    {"type": "TEXT_MESSAGE_END", "messageId": "1"},
    {"type": "TEXT_MESSAGE_END", "messageId": "2"},
]

ROWS = (
    Row(
        "text, a tool of the server, text",
        "ai-sdk-ui",
        [_START, _STEP, *_text("0", "Let me look."), _CALL, _RESULT, _STEP_END,
         _STEP, *_text("0", "It is 1."), _STEP_END, _FINISH],
        _two_steps("tool-output-available"),
        "adcp#561, dust#22255",
    ),
    Row(
        "text, a tool of the server, text",
        "ai-sdk",
        [_START, _STEP, *_text("0", "Let me look.", name="text"),
         {"type": "tool-call", "toolCallId": "c", "toolName": "f", "input": {}},
         {"type": "tool-result", "toolCallId": "c", "toolName": "f", "output": 1}, _STEP_END,
         _STEP, *_text("0", "It is 1.", name="text"), _STEP_END, _FINISH],
        _two_steps("tool-result f"),
    ),
    Row(
        "text, a tool of the server, text",
        "ai-sdk-data",
        b'0:"Let me look."\n9:{"toolCallId":"c","toolName":"f","args":{}}\na:{"toolCallId":"c","result":1}\n'
        b'e:{"finishReason":"tool-calls","isContinued":false}\n0:"It is 1."\nd:{"finishReason":"stop"}\n',
        _two_steps("tool-result"),
        "adcp#561",
    ),
    Row(
        "a step that goes on in the next one",
        "ai-sdk-data",
        b'0:"Hello wor"\ne:{"finishReason":"length","isContinued":true}\n0:"ld"\nd:{"finishReason":"stop"}\n',
        Expected(text="Hello world"),
    ),
    Row(
        "two answers in one stream",
        "ai-sdk-ui",
        [_START, *_text("1", "One."), _FINISH, _START, *_text("1", "Two."), _FINISH],
        Expected(text="One.\n\nTwo."),
        "vercel/ai#7261",
    ),
    Row("two blocks of one step", "ai-sdk-ui", [_START, *_text("1", "A "), *_text("2", "B"), _FINISH],
        Expected(text="A B")),
    *(
        Row(
            "two texts at the same time",
            wire,
            [
                {"type": "text-start", "id": "1"},
                {"type": "text-start", "id": "2"},
                {"type": "text-delta", "id": "1", name: "AA"},
                {"type": "text-delta", "id": "2", name: "BB"},
                {"type": "text-delta", "id": "1", name: "aa"},
                {"type": "text-end", "id": "2"},
                {"type": "text-end", "id": "1"},
                _FINISH,
            ],
            Expected(text="AAaaBB"),
            "dify#22340",
        )
        for wire, name in (("ai-sdk", "text"), ("ai-sdk-ui", "delta"), ("ai-gateway", "delta"))
    ),
    Row("two texts at the same time", "ag-ui", _run(*_MIXED), Expected(text="Hello world\n\nBonjour"), "dify#22340"),
    Row(
        "two texts at the same time, as chunks",
        "ag-ui",
        _run(*(_piece(one, delta, "CHUNK")
               for one, delta in (("1", "Hello "), ("2", "Bon"), ("1", "world"), ("2", "jour")))),
        Expected(text="Hello world\n\nBonjour"),
        "dify#22340",
    ),
    Row("three texts at the same time, the first ends last", "ag-ui",
        _run(_piece("1", "a", "CHUNK"), *_message("2", "b"), *_message("3", "c"), _piece("1", "A", "CHUNK")),
        Expected(text="aA\n\nb\n\nc")),
    Row("two messages in a row", "ag-ui", _run(*_message("1", "One."), *_message("2", "Two.")),
        Expected(text="One.\n\nTwo.")),
    Row(
        "the last message comes only in the snapshot",
        "ag-ui",
        _run(*_DRAFT, _snapshot(_USER, ("a1", "assistant", "Draft text."), ("a2", "assistant", "Final: all."))),
        Expected(text="Draft text.\n\nFinal: all."),
        "assistant-ui#2166, #1955, langchain-azure#855",
    ),
    Row(
        "the snapshot repeats the message under another id",
        "ag-ui",
        _run(*_DRAFT, _snapshot(_USER, ("real", "assistant", "Draft text."))),
        Expected(text="Draft text."),
        "ag-ui#1149",
    ),
    Row(
        "the snapshot repeats an answer of another turn",
        "ag-ui",
        _run(*_DRAFT, _snapshot(("old", "assistant", "Older."), _USER, ("a1", "assistant", "Draft text."))),
        Expected(text="Draft text."),
    ),
    Row(
        "the snapshot has the text as a list of parts",
        "ag-ui",
        _run(_snapshot(_USER, ("a", "assistant", [{"type": "text", "text": "Answer."}]))),
        Expected(text="Answer."),
    ),
    Row(
        "the conversation ends with the result of a tool",
        "ag-ui",
        _run(
            *_message("a1", "Let me ask."),
            {"type": "TOOL_CALL_START", "toolCallId": "c", "toolCallName": "f", "parentMessageId": "a1"},
            {"type": "TOOL_CALL_END", "toolCallId": "c"},
            {"type": "TOOL_CALL_RESULT", "messageId": "t", "toolCallId": "c", "content": "All of it."},
            _snapshot(_USER, ("a1", "assistant", "Let me ask."), ("t", "tool", "All of it.")),
        ),
        Expected(
            text="Let me ask.\n\nAll of it.",
            thinking="Called f()\n-> 10 bytes\n",
            media=("application/vnd.partstream.activity+json",) * 2,
        ),
        "deepagentsjs#662",
    ),
    Row(
        "text follows the snapshot",
        "ag-ui",
        _run(*_DRAFT, _snapshot(_USER, ("b", "assistant", "Older.")), *_message("a2", "End.")),
        Expected(text="Draft text.\n\nEnd."),
    ),
    Row(
        "names of fields with underscores",
        "ag-ui",
        [
            {"type": "RUN_STARTED", "thread_id": "t", "run_id": "r"},
            {"type": "TEXT_MESSAGE_CONTENT", "message_id": "m", "delta": "Hi"},
            {"type": "TOOL_CALL_START", "tool_call_id": "c", "tool_call_name": "f"},
            {"type": "TOOL_CALL_ARGS", "tool_call_id": "c", "delta": '{"a":1}'},
            {"type": "TOOL_CALL_END", "tool_call_id": "c"},
            {"type": "RUN_FINISHED", "thread_id": "t", "run_id": "r"},
        ],
        Expected(text="Hi", calls=(("f", {"a": 1}),), finish="tool-calls"),
    ),
)  # fmt: skip
