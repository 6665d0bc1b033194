"""What a conversation says beside its texts: each goes out where the wire has a place for it."""

from matrix.requests import ABSENT, RequestRow
from partstream import ChatMessage, SystemAs

KIND = "A message says more than its text."

LM_STUDIO = "http://127.0.0.1:1234/v1"
NAMED = (
    ChatMessage.user("Hi", "Ann Lee"),
    ChatMessage.assistant("Hello", "Bot"),
    ChatMessage.assistant("Welcome", "Guide"),
    ChatMessage.user("Bye", "Bob"),
)
RULED = (ChatMessage.system("Be brief.", "house"), ChatMessage.system("Be kind.", "house"), ChatMessage.user("Hi"))
EXAMPLES = (ChatMessage.system("1+1", "example_user"), ChatMessage.system("2", "example_assistant"))
TWO = (ChatMessage.user("Hi", "Ann"), ChatMessage.user("Bye", "Bob"))
ONE = (ChatMessage.user("Hi", "Ann"), ChatMessage.user("Bye", "Ann"))
UNNAMED = (ChatMessage.user("Hi", ""),)

ROWS = (
    *(
        RequestRow(
            "names of speakers",
            wire,
            {f"messages.{place}.name": name for place, name in enumerate(("Ann_Lee", "Bot", "Guide", "Bob"))},
            messages=NAMED,
        )
        for wire in ("chat-completions", "ag-ui")
    ),
    *(
        RequestRow(
            "the name of system messages",
            wire,
            {"messages.0.name": "house", "messages.0.content": "Be brief.\n\nBe kind."},
            messages=RULED,
        )
        for wire in ("chat-completions", "ag-ui")
    ),
    RequestRow(
        "system messages of different names, in their places",
        "chat-completions",
        {
            "messages.0": {"role": "system", "name": "example_user", "content": "1+1"},
            "messages.1": {"role": "system", "name": "example_assistant", "content": "2"},
        },
        messages=EXAMPLES,
        own={"system_as": SystemAs.SYSTEM},
    ),
    RequestRow(
        "system messages of different names, as one",
        "chat-completions",
        {"messages.0.name": ABSENT, "messages.0.content": "1+1\n\n2"},
        messages=(*EXAMPLES, *UNNAMED),
    ),
    RequestRow(
        "two users with different names",
        "chat-completions",
        {"messages.0.name": "Ann", "messages.1.name": "Bob"},
        messages=TWO,
    ),
    *(
        RequestRow(
            "names at a server that refuses them",
            "chat-completions",
            {f"messages.{place}.name": ABSENT for place in range(3)},
            url=url,
            messages=NAMED,
        )
        for url in ("https://api.mistral.ai/v1", "https://api.groq.com/openai/v1")
    ),
    RequestRow(
        "names at a server that takes those of users",
        "chat-completions",
        {"messages.0.name": "Ann_Lee", "messages.1.name": ABSENT, "messages.2.name": "Bob"},
        url="https://api.x.ai/v1",
        messages=NAMED,
    ),
    *(
        RequestRow("no name", wire, {"messages.0.name": ABSENT}, messages=UNNAMED)
        for wire in ("chat-completions", "ag-ui")
    ),
    RequestRow(
        "names of users whose messages become one",
        "chat-completions",
        {"messages.0.name": ABSENT, "messages.0.content": "Ann: Hi\n\nBob: Bye"},
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
        RequestRow("names of speakers", wire, {f"{place}.0.name": ABSENT}, messages=NAMED)
        for wire, place in (
            ("openresponses", "input"),
            ("anthropic-messages", "messages"),
            ("gemini", "contents"),
            ("gemini-interactions", "input"),
            ("ollama", "messages"),
            ("ai-gateway", "prompt"),
        )
    ),
)
