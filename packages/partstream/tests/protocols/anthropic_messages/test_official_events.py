"""What is written is valid by Anthropic's own types, strictly; `make interop TRY=clients` asks its helpers.

Source: docs/wires/anthropic-messages.md#events and docs/wires/anthropic-messages.md#order-of-blocks.
"""

from pydantic import TypeAdapter

from conversation.samples import WEATHER
from partstream.lm.messages import ChatMessage, RequestOptions
from partstream.lm.outputs import InboundRequest, Reply
from partstream.protocols.anthropic_messages.serve import MessagesResponseWriter
from partstream.protocols.protocol import PROTOCOLS
from partstream.runtime.translation import write_answer
from partstream_devtools.testing.directives import NamedValue
from partstream_devtools.testing.scripted_model import SCENARIOS, play

ASKED = InboundRequest("m", (ChatMessage.user("The weather in Lisbon?"),), RequestOptions(tools=(WEATHER,)))


def test_every_event_and_every_document_is_one_of_the_official_types() -> None:
    from anthropic.types import Message, RawMessageStreamEvent  # a second, which only this test pays

    of_events, of_message = TypeAdapter(RawMessageStreamEvent), TypeAdapter(Message)
    for scenario in SCENARIOS:
        outputs = play(NamedValue(scenario), ASKED, "identity")
        events = write_answer(PROTOCOLS["anthropic-messages"], ASKED, outputs, Reply("identity", 1, 7))
        for event in events:
            if event["type"] != "error":  # has no type among the events
                of_events.validate_python(event, strict=True)
        status, document = MessagesResponseWriter.document(events)
        assert (status == 200) == (scenario != "failed")
        if status == 200:
            of_message.validate_python(document, strict=True)
