"""What a conversation says beside its texts: each goes out where the wire has a place for it."""

from matrix.requests import ABSENT, RequestRow
from partstream import ChatMessage

KIND = "A message says more than its text."

LM_STUDIO = "http://127.0.0.1:1234/v1"
NAMED = (ChatMessage.user("Hi", "Ann Lee"), ChatMessage.assistant("Hello", "Bot"), ChatMessage.user("Bye", "Bob"))
TWO = (ChatMessage.user("Hi", "Ann"), ChatMessage.user("Bye", "Bob"))
ONE = (ChatMessage.user("Hi", "Ann"), ChatMessage.user("Bye", "Ann"))
UNNAMED = (ChatMessage.user("Hi", ""),)

ROWS = (
    *(
        RequestRow(
            "names of users",
            wire,
            {"messages.0.name": "Ann_Lee", "messages.1.name": ABSENT, "messages.2.name": "Bob"},
            messages=NAMED,
        )
        for wire in ("chat-completions", "ag-ui")
    ),
    *(
        RequestRow("no name", wire, {"messages.0.name": ABSENT}, messages=UNNAMED)
        for wire in ("chat-completions", "ag-ui")
    ),
    RequestRow(
        "names of users whose messages become one",
        "chat-completions",
        {"messages.0.name": ABSENT, "messages.0.content": "Hi\n\nBye"},
        url=LM_STUDIO,
        messages=TWO,
    ),
    RequestRow(
        "the name of a user whose messages become one",
        "chat-completions",
        {"messages.0.name": "Ann", "messages.0.content": "Hi\n\nBye"},
        url=LM_STUDIO,
        messages=ONE,
    ),
    *(
        RequestRow("names of users", wire, {f"{place}.0.name": ABSENT}, messages=NAMED)
        for wire, place in (
            ("openresponses", "input"),
            ("anthropic-messages", "messages"),
            ("gemini", "contents"),
            ("ollama", "messages"),
            ("ai-gateway", "prompt"),
        )
    ),
)
