"""The named policies: what a prompt and an answer may hold, and where each number is from."""

from hypothesis import given
from hypothesis import strategies as st

from partstream.conversation.preparation import Fact, Source
from partstream.upstream.model_information import LimitPolicy, LimitSettings, ModelRecord, limits_of
from rows import one_test_for

RESERVE, WINDOW, FRACTION = LimitPolicy


def fact(tokens: int | None, source: Source = Source.LIST, field: str = "said") -> Fact[int] | None:
    return None if tokens is None else Fact(tokens, source, field)


# policy, window, declared input, declared output: input, output
LIMITS = {
    "an answer's room is kept": (RESERVE, 200_000, None, 64_000, 136_000, 64_000),
    "a large answer leaves half": (RESERVE, 200_000, None, 128_000, 100_000, 128_000),
    "an answer as large as the window": (RESERVE, 131_072, None, 131_072, 65_536, 131_072),
    "an answer larger than the window": (RESERVE, 8_192, None, 16_384, 4_096, 8_192),
    "an answer of unknown size": (RESERVE, 200_000, None, None, 183_616, 16_384),
    "the same in a small window": (RESERVE, 8_192, None, None, 6_144, 2_048),
    "a prompt has its own limit": (RESERVE, 400_000, 272_000, 64_000, 272_000, 64_000),
    "its own limit is larger": (RESERVE, 200_000, 190_000, 64_000, 136_000, 64_000),
    "the whole window": (WINDOW, 200_000, None, 64_000, 200_000, 64_000),
    "a part of the window": (FRACTION, 200_000, None, 64_000, 170_000, 64_000),
    "a part, with its own limit": (FRACTION, 200_000, 100_000, 64_000, 100_000, 64_000),
    "nothing known": (RESERVE, None, None, None, 128_000, 16_384),
    "only the prompt known": (RESERVE, None, 50_000, None, 50_000, 16_384),
    "only the answer known": (RESERVE, None, None, 4_096, 128_000, 4_096),
    "a window of one token": (RESERVE, 1, None, None, 1, 1),
}


@one_test_for(("policy", "window", "prompt", "output", "inputs", "outputs"), LIMITS.values(), ids=LIMITS)
def test_limits_follow_the_policy(policy, window, prompt, output, inputs, outputs):
    record = ModelRecord(
        "m", context_window=fact(window), max_input_tokens=fact(prompt), max_output_tokens=fact(output)
    )
    limits = limits_of(record, LimitSettings(policy))
    assert (limits.max_input_tokens.value, limits.max_output_tokens.value) == (inputs, outputs)


def test_the_policy_that_keeps_room_is_the_default():
    assert LimitSettings().policy is RESERVE
    assert [policy.value for policy in LimitPolicy] == ["reserve-output", "context-window", "fraction"]


def test_reasoning_that_a_server_counts_beside_the_output_has_room_of_its_own():
    record = ModelRecord("m", context_window=fact(200_000), max_output_tokens=fact(64_000))
    for policy, inputs in ((RESERVE, 104_000), (WINDOW, 200_000), (FRACTION, 170_000)):
        limits = limits_of(record, LimitSettings(policy, reasoning_tokens=32_000))
        assert (limits.max_input_tokens.value, limits.max_output_tokens.value) == (inputs, 64_000)


def test_the_output_limit_is_the_models_own_and_no_hidden_cap():
    record = ModelRecord("m", context_window=fact(1_000_000), max_output_tokens=fact(384_000))
    assert limits_of(record, LimitSettings()).max_output_tokens.value == 384_000


def test_every_number_says_where_it_is_from():
    known = limits_of(ModelRecord("m", context_window=fact(200_000, field="context_window")), LimitSettings())
    assert str(known.max_input_tokens) == "183616 (list: context_window, reserve-output)"
    assert str(known.max_output_tokens) == "16384 (default: default_output_tokens)"
    unknown = limits_of(ModelRecord("m"), LimitSettings())
    assert str(unknown.max_input_tokens) == "128000 (default: default_input_tokens)"


def test_what_a_person_says_stands_whatever_the_list_says():
    record = ModelRecord(
        "m",
        context_window=fact(8_192),
        max_input_tokens=fact(100_000, Source.CONFIGURATION),
        max_output_tokens=fact(50_000, Source.CONFIGURATION),
    )
    limits = limits_of(record, LimitSettings())
    assert (limits.max_input_tokens.value, limits.max_output_tokens.value) == (100_000, 50_000)


def test_the_defaults_can_be_set():
    settings = LimitSettings(default_input_tokens=4_000, default_output_tokens=500)
    limits = limits_of(ModelRecord("m"), settings)
    assert (limits.max_input_tokens.value, limits.max_output_tokens.value) == (4_000, 500)


TOKENS = st.none() | st.integers(1, 10**7)


@given(st.sampled_from(LimitPolicy), TOKENS, TOKENS, TOKENS)
def test_a_prompt_and_an_answer_always_have_room_inside_of_the_window(policy, window, prompt, output):
    record = ModelRecord(
        "m", context_window=fact(window), max_input_tokens=fact(prompt), max_output_tokens=fact(output)
    )
    limits = limits_of(record, LimitSettings(policy))
    assert limits.max_input_tokens.value >= 1
    assert limits.max_output_tokens.value >= 1
    if window is not None:
        assert limits.max_input_tokens.value <= window
        assert limits.max_output_tokens.value <= window
