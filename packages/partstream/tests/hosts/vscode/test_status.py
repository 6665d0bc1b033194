"""The status bar's text about the last answer, and the answers that it describes."""

from typing import Any

import pytest

from partstream.vscode.status import plain, usage_item

from .in_process import run, serving

ANSWER: Any = {
    "model": "Claude Sonnet 4.5",
    "endedAt": 1_790_000_000,
    "inputTokens": 42_100,
    "outputTokens": 1200,
    "cachedTokens": 36_627,
    "cost": 0.0132,
    "source": "reported",
    "maxInputTokens": 200_000,
    "edits": [],
}
SUMS: Any = {
    "answers": 3,
    "inputTokens": 120_000,
    "outputTokens": 3456,
    "cachedTokens": 60_000,
    "cost": 0.5,
    "withoutCost": 0,
    "withoutTokens": 0,
    "estimated": 0,
}


def item(conversation: Any = SUMS, budget: str = "", **changes: Any) -> Any:
    """The item of an answer with other facts."""
    answer = {**ANSWER, **changes}
    told: Any = {"answer": answer, "conversation": conversation, "day": {**SUMS, "answers": 1, "withoutCost": 1}}
    return usage_item(answer, {**told, "budget": budget} if budget else told)


LINES = {
    "all": ({}, "$(symbol-number) 42.1K in · 1.2K out · 87% cached · $0.01"),
    "nothing but tokens": ({"cachedTokens": None, "cost": None}, "$(symbol-number) 42.1K in · 1.2K out"),
    "estimated": ({"cachedTokens": None, "cost": None, "source": "estimated"}, "$(symbol-number) ~42.1K in · 1.2K out"),
    "no input": (
        {"inputTokens": 0, "cachedTokens": 0, "cost": 0},
        "$(symbol-number) 0 in · 1.2K out · 0% cached · $0.00",
    ),
    "what a server took out": ({"edits": ["2 calls"]}, "$(fold) 42.1K in · 1.2K out · 87% cached · $0.01"),
}


@pytest.mark.parametrize(("changes", "text"), LINES.values(), ids=LINES)
def test_the_line_says_what_is_known(changes: Any, text: str):
    assert item(**changes)["text"] == text


SAID = {
    "the limit": ({}, "Input: 21% of the 200K that a prompt may take (the context window less"),
    "the conversation": ({}, "This conversation: 3 answers, 120K in (50% cached), 3.5K out, $0.50"),
    "the day": ({}, "Today: 1 answer, 120K in (50% cached), 3.5K out, ≥ $0.50"),
    "an estimate": ({"source": "estimated"}, "~: estimated, because the server reported no numbers"),
    "no price": ({"cost": None}, "No price of this model is known: the setting prices of the group sets one"),
    "an edit": ({"edits": ["2 calls"]}, "Removed by the server: 2 calls"),
    "a budget": ({"budget": "$3 of $5"}, "\\$3 of \\$5"),
    "a name with markup": ({"model": "a|b `x`\n[l](command:x)"}, "**a\\|b \\`x\\` \\[l\\]\\(command:x\\)**"),
    "what to click": ({}, "[Show Token Usage](command:partstream.showUsage) · [Inspect Last Answer](command:"),
}


@pytest.mark.parametrize(("changes", "says"), SAID.values(), ids=SAID)
def test_the_tooltip_has_a_line_for(changes: Any, says: str):
    assert any(line.startswith(says) for line in item(**changes)["tooltip"].split("\n\n"))


def test_outside_a_conversation_there_is_no_line_for_one():
    assert "This conversation" not in item(conversation=None)["tooltip"]


FILLED = {149_999: "normal", 150_000: "warning", 179_999: "warning", 180_000: "error", 210_000: "error"}


@pytest.mark.parametrize(("tokens", "fullness"), FILLED.items())
def test_three_quarters_of_the_limit_are_a_warning_and_nine_tenths_an_error(tokens: int, fullness: str):
    assert item(inputTokens=tokens)["fullness"] == fullness


def test_all_marks_of_markdown_are_escaped():
    assert plain("a  $(bug)\n*b*") == "a \\$\\(bug\\) \\*b\\*"


def test_an_answer_outside_a_conversation_counts_for_the_day_and_the_item_stays_with_the_conversation(write: Any):
    async def test() -> None:
        async with serving(
            write("""
            @chat_model(name="Own")
            async def own(messages, options):
                yield "Hello"
        """)
        ) as peer:
            (model,) = (await peer.information())["models"]

            def told() -> list[Any]:
                return [one.params for one in peer.messages if getattr(one, "method", "") == DID_ANSWER]

            await peer.reply(peer.respond(model["id"], requestInitiator="my.program"))
            await peer.until(lambda _: len(told()) == 1)
            await peer.reply(peer.respond(model["id"]))
            await peer.until(lambda _: len(told()) == 2)
            first, title = told()
            assert title["conversation"] is None
            assert "This conversation: 1 answer" in first["item"]["tooltip"]
            assert "Today: 2 answers" in title["item"]["tooltip"]
            assert title["item"]["text"] == first["item"]["text"]

    run(test())


DID_ANSWER = "languageModels/didAnswer"
