"""Answers and requests of every kind, as Hypothesis makes them up: nothing here knows a protocol."""

from hypothesis import strategies as st

from conversation.samples import JPEG, PDF, PNG, WEATHER
from partstream import (
    ChatMessage,
    DataPart,
    FinishReason,
    RequestOptions,
    Role,
    TextPart,
    ThinkingPart,
    Tool,
    ToolCallPart,
    ToolMode,
    ToolResultPart,
    UnifiedFinishReason,
    Usage,
)
from partstream.errors import UpstreamFailureError
from partstream.lm.outputs import Finish, InboundRequest, Outcome, StreamOutput

# Texts of what readers look at: closing marks, line ends, characters of many bytes.
WORDS = st.text(alphabet=st.sampled_from("ab .!?…é😀\n\r\u2028"), min_size=1, max_size=6)
NAMES = st.sampled_from(["look_up", "add", "get_weather"])
ARGUMENTS = st.dictionaries(WORDS, st.integers(-9, 9) | WORDS | st.none() | st.lists(WORDS, max_size=2), max_size=3)
COUNTS = st.none() | st.integers(0, 10**6)

TEXTS = st.builds(TextPart, WORDS)
THOUGHTS = st.builds(ThinkingPart, WORDS, st.none() | st.sampled_from(["t1", "t2"]))
CALLS = st.builds(ToolCallPart, st.just("-"), NAMES, ARGUMENTS)
PICTURES = st.sampled_from([DataPart(PNG, "image/png"), DataPart(JPEG, "image/jpeg"), DataPart(PDF, "application/pdf")])

USAGES = st.builds(
    lambda given, made, cached, thought: Usage(given, made, given + made, cached, thought),
    st.integers(0, 10**6),
    st.integers(0, 10**6),
    COUNTS,
    COUNTS,
)
COMPLETED = st.sampled_from(
    [FinishReason(UnifiedFinishReason.STOP, "stop"), FinishReason(UnifiedFinishReason.TOOL_CALLS, "tool_calls")]
)
CUT = st.sampled_from(
    [
        FinishReason(UnifiedFinishReason.LENGTH, "max_tokens"),
        FinishReason(UnifiedFinishReason.CONTENT_FILTER, "filtered"),
        FinishReason(UnifiedFinishReason.OTHER, "turn_limit"),
    ]
)
IDS = st.none() | st.sampled_from(["resp_1", "gen-2"])
MODELS = st.none() | st.sampled_from(["small", "acme/large"])
ERRORS = st.builds(UpstreamFailureError, WORDS, provider_code=st.none() | st.sampled_from(["server_error", "odd"]))

FINISHES = st.one_of(
    st.builds(Finish, st.just(Outcome.COMPLETED), COMPLETED, st.none() | USAGES, IDS, MODELS),
    st.builds(Finish, st.just(Outcome.INCOMPLETE), CUT, st.none() | USAGES, IDS, MODELS),
    st.builds(
        Finish,
        st.just(Outcome.FAILED),
        st.just(FinishReason(UnifiedFinishReason.ERROR)),
        st.none() | USAGES,
        IDS,
        MODELS,
        ERRORS,
    ),
)


@st.composite
def answers(draw: st.DrawFn) -> list[StreamOutput]:
    """The outputs of one answer; each call has an id of its own, and a reason that goes with the parts."""
    parts = draw(st.lists(TEXTS | THOUGHTS | CALLS | PICTURES, max_size=6))
    numbered = [
        ToolCallPart(f"call_{number}", part.name, part.input) if isinstance(part, ToolCallPart) else part
        for number, part in enumerate(parts)
    ]
    finish = draw(FINISHES)
    if finish.outcome is Outcome.COMPLETED:
        called = any(isinstance(part, ToolCallPart) for part in parts)
        reason = UnifiedFinishReason.TOOL_CALLS if called else UnifiedFinishReason.STOP
        finish = Finish(finish.outcome, FinishReason(reason, None), finish.usage, finish.response_id, finish.model)
    return [*numbered, finish]


SAID_BY_USERS = TEXTS | PICTURES | st.builds(DataPart.json, ARGUMENTS) | st.builds(DataPart.text, WORDS)
GIVEN = st.lists(TEXTS | PICTURES, min_size=1, max_size=3).map(tuple)
TOOLS = st.lists(
    st.sampled_from(
        [WEATHER, Tool("add", "", {"type": "object", "properties": {}}), Tool("look_up", "Looks up.", None)]
    ),
    unique_by=lambda tool: tool.name,
    max_size=3,
).map(tuple)
OPTIONS = st.builds(
    RequestOptions,
    TOOLS,
    st.sampled_from(ToolMode),
    st.fixed_dictionaries(
        {}, optional={"temperature": st.sampled_from([0, 0.5, 1]), "_conversationId": st.just("c1"), "seed": st.just(7)}
    ),
    st.fixed_dictionaries(
        {}, optional={"reasoningEffort": st.sampled_from(["low", "high"]), "contextSize": st.just(8192)}
    ),
    st.none() | st.just("acme.extension"),
)
SPEAKERS = st.none() | st.just("Ada")


@st.composite
def turns(draw: st.DrawFn, first: int) -> list[ChatMessage]:
    """What one question leads to: the question, the calls of some rounds with their results, and an answer."""
    said = [ChatMessage(Role.USER, tuple(draw(st.lists(SAID_BY_USERS, min_size=1, max_size=3))), draw(SPEAKERS))]
    for number in range(first, first + draw(st.integers(0, 2))):
        calls = [
            ToolCallPart(f"call_{number}_{place}", name, arguments)
            for place, (name, arguments) in enumerate(
                draw(st.lists(st.tuples(NAMES, ARGUMENTS), min_size=1, max_size=2))
            )
        ]
        results = [ToolResultPart(call.call_id, draw(GIVEN), draw(st.booleans())) for call in calls]
        said += [
            ChatMessage(Role.ASSISTANT, (*draw(st.lists(TEXTS | THOUGHTS, max_size=2)), *calls)),
            ChatMessage(Role.USER, tuple(results)),
        ]
    return [*said, ChatMessage(Role.ASSISTANT, (draw(TEXTS),))]


@st.composite
def requests(draw: st.DrawFn) -> InboundRequest:
    """A valid request: every call has its result, and every result its call."""
    messages = [ChatMessage.system(said) for said in draw(st.lists(WORDS, max_size=1))]
    for number in range(draw(st.integers(0, 2))):
        messages += draw(turns(number * 10))
    messages.append(ChatMessage(Role.USER, tuple(draw(st.lists(SAID_BY_USERS, min_size=1, max_size=3)))))
    return InboundRequest("small", tuple(messages), draw(OPTIONS))
