"""Text comes whole and once, whatever closing events say and whatever ids and indices they carry."""

from partstream.lm.outputs import Outcome
from protocols.openresponses.wire import (
    OMIT,
    Event,
    added,
    arguments_delta,
    arguments_done,
    call,
    created,
    delta,
    done,
    event,
    message,
    opened_call,
    part_added,
    part_done,
    read,
    spread,
    terminal,
    text_done,
)
from rows import one_test_for

HELLO = [delta("Hel"), delta("lo")]
TEXTS: dict[str, tuple[list[Event], str]] = {
    "canonical": (
        spread(
            added(message(content=[])),
            part_added(),
            HELLO,
            text_done("Hello"),
            part_done("Hello"),
            done(message("Hello")),
            terminal(output=(message("Hello"),)),
        ),
        "Hello",
    ),
    "GitHub Copilot: every event has another item id": (
        spread(
            added(message(item_id="r1", content=[])),
            part_added(item_id="r2"),
            delta("Hel", item_id="r3"),
            delta("lo", item_id="r4"),
            text_done("Hello", item_id="r5"),
            part_done("Hello", item_id="r6"),
            done(message("Hello", item_id="r7")),
            terminal(output=(message("Hello", item_id="r8"),)),
        ),
        "Hello",
    ),
    "Ollama: the message is never closed, and the call takes its output_index": (
        [
            created(),
            added(message(content=[])),
            part_added(),
            *HELLO,
            opened_call(0),
            arguments_delta("{}"),
            arguments_done("{}"),
            done(call("{}")),
            terminal(output=(call("{}"),)),
        ],
        "Hello",
    ),
    "Ollama: the output is null": ([created(), added(message(content=[])), *HELLO, terminal(output=None)], "Hello"),
    "vLLM: content_index grows with every delta": (
        spread(
            added(message(content=[])),
            part_added(),
            [delta(letter, content_index=place) for place, letter in enumerate("Hello")],
            text_done("Hello", content_index=5),
            part_done("Hello", content_index=6),
            done(message("Hello")),
            terminal(output=(message("Hello"),)),
        ),
        "Hello",
    ),
    "vLLM: no output_item.added, closing events only": (
        [created(), text_done("Hello"), done(message("Hello")), terminal(output=(message("Hello"),))],
        "Hello",
    ),
    "SGLang: a bare message whose content has the type text": (
        [
            created(),
            *HELLO,
            terminal(
                output=({"role": "assistant", "type": "message", "content": [{"type": "text", "text": "Hello"}]},)
            ),
        ],
        "Hello",
    ),
    "SGLang: the same, and no deltas": (
        [created(), terminal(output=({"type": "message", "content": [{"type": "text", "text": "Hello"}]},))],
        "Hello",
    ),
    "the content of a message is a text": ([terminal(output=(message(content="Hello"),))], "Hello"),
    "llama.cpp: no indices": (
        spread(
            added(message(content=[]), OMIT),
            part_added(content_index=OMIT, output_index=OMIT),
            [delta(text, OMIT, OMIT) for text in ("Hel", "lo")],
            text_done("Hello", OMIT, OMIT),
            part_done("Hello", content_index=OMIT, output_index=OMIT),
            done(message("Hello"), OMIT),
        ),
        "Hello",
    ),
    "llama.cpp: no indices and no ids": (
        spread(
            added(message(item_id=OMIT, content=[]), OMIT),
            [delta(text, OMIT, OMIT, OMIT) for text in ("Hel", "lo")],
            text_done("Hello", OMIT, OMIT, OMIT),
            done(message("Hello", item_id=OMIT), OMIT),
        ),
        "Hello",
    ),
    "LiteLLM: closed under an id that was never opened": (
        [
            created(),
            added(message(content=[])),
            part_added(),
            *HELLO,
            text_done("Hello", 1, 0, "chatcmpl-1"),
            part_done("Hello", output_index=1, item_id="chatcmpl-1"),
            done(message("Hello", item_id="chatcmpl-1"), 1),
            terminal(output=(message("Hello", item_id="chatcmpl-1"),)),
        ],
        "Hello",
    ),
    "LiteLLM: the same without indices": (
        spread(HELLO, text_done("Hello", OMIT, OMIT, "chatcmpl-1"), done(message("Hello", item_id="chatcmpl-1"), OMIT)),
        "Hello",
    ),
    "gemini-web2api: created, output_text.done, completed": ([created(), text_done("Hello"), terminal()], "Hello"),
    "LlamaStack: no output_text.done": (
        spread(added(message(content=[])), part_added(), HELLO, part_done("Hello"), done(message("Hello"))),
        "Hello",
    ),
    "deltas alone": (spread(HELLO), "Hello"),
    "content_part.done alone": (spread(part_done("Hello")), "Hello"),
    "output_item.done alone": (spread(done(message("Hello"))), "Hello"),
    "the final snapshot alone": ([terminal(output=(message("Hello"),))], "Hello"),
    "each closing event says more than the one before": (
        [delta("H"), text_done("He"), part_done("Hel"), done(message("Hell")), terminal(output=(message("Hello"),))],
        "Hello",
    ),
    "OmniRoute: a bare in_progress before created, again and again": (
        [event("in_progress"), event("in_progress"), created(), *HELLO, event("in_progress"), terminal()],
        "Hello",
    ),
    "OpenAI: obfuscation and logprobs beside the delta": (
        spread([{**one, "obfuscation": "xY3", "logprobs": []} for one in HELLO]),
        "Hello",
    ),
    "OpenAI: keepalive events": (spread(HELLO[0], event("keepalive", sequence_number=4), HELLO[1]), "Hello"),
    "OpenAI: the sentence goes on in the closing event": (
        spread(added(message(content=[])), delta("It ran."), text_done("It ran in the box.")),
        "It ran in the box.",
    ),
    "two messages": (
        spread(
            added(message(content=[]), 0),
            delta("One"),
            done(message("One"), 0),
            added(message(item_id="msg_1", content=[]), 1),
            delta("Two", 1, 0, "msg_1"),
            done(message("Two", item_id="msg_1"), 1),
            terminal(output=(message("One"), message("Two", item_id="msg_1"))),
        ),
        "One\n\nTwo",
    ),
    "two messages that say the same, closing events only": (
        spread(
            added(message(content=[]), 0),
            text_done("Done.", 0),
            done(message("Done."), 0),
            added(message(item_id="msg_1", content=[]), 1),
            text_done("Done.", 1, 0, "msg_1"),
            done(message("Done.", item_id="msg_1"), 1),
            terminal(output=(message("Done."), message("Done.", item_id="msg_1"))),
        ),
        "Done.\n\nDone.",
    ),
    "two messages in the final snapshot alone": (
        [terminal(output=(message("One"), message("Two", item_id="msg_1")))],
        "OneTwo",
    ),
    "two parts of one message": (
        spread(
            added(message(content=[])),
            part_added(content_index=0),
            delta("One"),
            text_done("One"),
            part_added(content_index=1),
            delta("Two", 0, 1),
            text_done("Two", 0, 1),
            done(message("One", "Two")),
        ),
        "OneTwo",
    ),
    "two parts that say the same, closing events only": (
        spread(added(message(content=[])), done(message("No.", "No."))),
        "No.No.",
    ),
    "two announced parts that say the same, closing events only": (
        spread(
            added(message(content=[])),
            [part_added(content_index=0), text_done("No.", 0, 0)],
            [part_added(content_index=1), text_done("No.", 0, 1)],
            done(message("No.", "No.")),
        ),
        "No.No.",
    ),
    "two parts, and deltas that do not tell them apart": (
        spread(added(message(content=[])), delta("One", 0, OMIT), delta("Two", 0, OMIT), done(message("One", "Two"))),
        "OneTwo",
    ),
    "a refusal": (
        spread(
            added(message(content=[])),
            part_added("refusal"),
            [
                event("refusal.delta", item_id="msg_0", output_index=0, content_index=0, delta=text)
                for text in ("I ", "won't")
            ],
            event("refusal.done", item_id="msg_0", output_index=0, content_index=0, refusal="I won't"),
            part_done("I won't", "refusal"),
            done(message(content=[{"type": "refusal", "refusal": "I won't"}])),
        ),
        "I won't",
    ),
    "a refusal in the closing event alone": (
        spread(done(message(content=[{"type": "refusal", "refusal": "I won't"}]))),
        "I won't",
    ),
    "a refusal after text in one message": (
        spread(
            delta("Well."),
            event("refusal.delta", item_id="msg_0", output_index=0, content_index=1, delta="No"),
            done(message(content=[{"type": "output_text", "text": "Well."}, {"type": "refusal", "refusal": "No"}])),
        ),
        "Well.No",
    ),
    "an explicit null for what is empty": (
        spread(added(message(content=None)), delta(None), HELLO, text_done(None), done(message(content=None))),
        "Hello",
    ),
    "an empty delta": (spread(delta(""), HELLO, delta("")), "Hello"),
    "every event comes twice but the deltas": (
        [
            created(),
            created(),
            *HELLO,
            *[text_done("Hello")] * 2,
            *[part_done("Hello")] * 2,
            *[done(message("Hello"))] * 2,
            *[terminal(output=(message("Hello"),))] * 2,
        ],
        "Hello",
    ),
}


@one_test_for(("events", "expected"), TEXTS.values(), ids=TEXTS)
def test_text_comes_whole_and_nothing_of_it_twice(events: list[Event], expected: str) -> None:
    result = read(events)
    assert result.text == expected
    assert result.thinking == ""
    assert result.finish.outcome is Outcome.COMPLETED
    assert result.unmapped == {}
