"""Leading words of the assistant: instructions of callers without a system role, unless they greet."""

from conversation.samples import assistant, called, system, user
from partstream import ChatMessage, DataPart, TextPart, ThinkingPart
from partstream.conversation.turns import leading_instructions
from rows import one_test_for

INSTRUCTIONS = [
    "You are a helpful assistant.",
    "You are a pirate! Say hello to everyone.",
    "Answer in French.",
    "Hello! You are talking as a sailor; never leave the role.",
    "Du bist ein Pirat.",
    "Hi. " + "Long instructions. " * 30,
]
GREETINGS = [
    "Hello! How can I help you today?",
    "Hi there 👋",
    "  Welcome back!",
    "Good morning. Ready when you are.",
    "What can I do for you?",
    "**Hey!** Ask me anything.",
]


@one_test_for("text", INSTRUCTIONS)
def test_leading_instructions(text: str):
    assert leading_instructions([assistant(text), user("Hi")]) == 1
    assert leading_instructions([assistant(text), assistant("Be brief."), user("Hi"), assistant(text)]) == 2


@one_test_for("text", GREETINGS)
def test_greetings(text: str):
    assert leading_instructions([assistant(text), user("Hi")]) == 0


UNTOUCHED: dict[str, list[ChatMessage]] = {
    "a caller with a system role": [system("Be brief."), assistant("Be kind."), user("Hi")],
    "a system message later": [assistant("Be kind."), user("Hi"), system("Be brief.")],
    "no question": [assistant("Be kind.")],
    "the user is first": [user("Hi"), assistant("You are welcome.")],
    "an answer that calls": [assistant([TextPart("Be kind."), called()]), user("Hi")],
    "an answer with thinking": [assistant([ThinkingPart("hm"), TextPart("Be kind.")]), user("Hi")],
    "an answer with a marker": [assistant([DataPart(b"m", "stateful_marker"), TextPart("Be kind.")]), user("Hi")],
    "no message": [],
}


@one_test_for("messages", UNTOUCHED.values(), ids=UNTOUCHED)
def test_what_is_never_instructions(messages: list[ChatMessage]):
    assert leading_instructions(messages) == 0


def test_a_cache_mark_does_not_hide_instructions():
    assert leading_instructions([assistant([TextPart("Be kind."), DataPart(b"", "cache_control")]), user("Hi")]) == 1
