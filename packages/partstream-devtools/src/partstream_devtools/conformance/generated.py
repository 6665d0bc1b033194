"""Strategies of Hypothesis for exercises: answers of a model, faults of its server, actions of a consumer.

Hypothesis only makes exercises up here: an exercise is data before anything runs, so a run with the same seed has the
same conversations, however the target behaves. :mod:`partstream_devtools.conformance.exercises` makes what fails
smaller. Imported only when something is to be generated: Hypothesis is of the extra `conformance`.
"""

from __future__ import annotations
from collections.abc import Iterator
from typing import Any, Final

from hypothesis import HealthCheck, Phase, Verbosity, given, seed, settings
from hypothesis import strategies as st

from partstream_devtools.conformance.exercises import Exercise, Relation
from partstream_devtools.conformance.scenarios import TOOLS
from partstream_devtools.conformance.scripts import (
    RESULT_KINDS,
    Action,
    Block,
    Call,
    Ending,
    Say,
    Script,
    ScriptedAnswer,
    Think,
    read_actions,
)

_WORDS: Final = st.lists(
    st.sampled_from(("word", "Grüße", "你好", "👋", "`code`", "{", "a\nb", "data:", "\u2028", "<think>", "**bold**")),
    min_size=1,
    max_size=8,
)
"""Texts of what readers look at: characters of many bytes, line ends, marks of framings."""
_KEYS: Final = st.sampled_from(("city", "days", "größe", "a b", ""))
_LEAVES: Final = (
    st.none() | st.booleans() | st.integers(-9, 9) | st.sampled_from((0.5, "", "Oslo", 'a "b"', "\\u", "é"))
)
_VALUES: Final = st.recursive(
    _LEAVES, lambda inner: st.lists(inner, max_size=3) | st.dictionaries(_KEYS, inner, max_size=3), max_leaves=6
)
_ARGUMENTS: Final = st.dictionaries(_KEYS, _VALUES, max_size=3)
_NAMES: Final = st.sampled_from([tool.name for tool in TOOLS])

_ENDINGS: Final = st.sampled_from((*[Ending.DONE] * 5, Ending.LENGTH, Ending.FILTERED, Ending.FAILED))
_COUNTS: Final = st.integers(0, 12).map(str)
_FAULTS: Final = st.sampled_from(("",) * 8) | st.one_of(
    st.sampled_from(("split=1", "split=7", "no_done", "keep_open=2", "stall=2:3", "stall_before_events=2")),
    st.builds("=".join, st.tuples(st.sampled_from(("cut", "close", "truncate", "malformed")), _COUNTS)),
)
"""Faults that a target must survive with the contract kept; pauses are on a clock that jumps."""
_PACES: Final = st.sampled_from((0.0, 0.0, 0.0, 0.1))
"""Seconds; the longest answer takes half of what the kit waits for one."""


@st.composite
def _texts(draw: st.DrawFn) -> str:
    """Words with a number each: where a piece of an answer comes from can be told."""
    words = draw(_WORDS)
    first = draw(st.integers(0, 99))
    return "".join(f"{word}{first}.{place} " for place, word in enumerate(words))


def _blocks() -> st.SearchStrategy[list[Block]]:
    one: st.SearchStrategy[Block] = st.one_of(
        st.builds(Say, _texts()), st.builds(Think, _texts()), st.builds(Call, _NAMES, _ARGUMENTS)
    )
    return st.lists(one, max_size=2) | st.lists(one, min_size=2, max_size=6)


def scripted_answers(*, faults: bool = True) -> st.SearchStrategy[ScriptedAnswer]:
    """Answers of a model, also empty ones, ones that fail and, with faults, ones whose bytes break off."""
    fault = _FAULTS if faults else st.just("")
    return st.builds(ScriptedAnswer, _blocks().map(tuple), _ENDINGS, fault, _PACES if faults else st.just(0.0))


@st.composite
def actions(draw: st.DrawFn) -> tuple[Action, ...]:
    """Rounds of a conversation: a request, which may be cancelled or sent again, and then a result for every call."""
    said: list[str] = []
    for number in range(draw(st.integers(1, 3))):
        said += draw(_round(is_first=number == 0))
    return read_actions(*said)


@st.composite
def _round(draw: st.DrawFn, *, is_first: bool) -> list[str]:
    said = [draw(st.sampled_from((*["send"] * 6, "send_cancelled") + (() if is_first else ("retry",))))]
    if draw(st.integers(0, 3)) == 0:
        said.append(f"cancel_after {draw(st.integers(0, 6))}")
    kinds = st.sampled_from(RESULT_KINDS)
    if draw(st.booleans()):
        said.append(f"answer_call {draw(st.integers(0, 2))} {draw(kinds)}".strip())
    return [*said, f"answer_calls {draw(kinds)}".strip()]


def exercises(
    *, plays: bool = True, faults: bool = True, relations: tuple[Relation, ...] = tuple(Relation)
) -> st.SearchStrategy[Exercise]:
    """Whole exercises: `plays` for a target that plays a script, `faults` for bytes that can have them."""
    answers = st.lists(scripted_answers(faults=faults), min_size=1, max_size=3).map(tuple)
    scripts: st.SearchStrategy[Any] = st.builds(Script, answers) if plays else st.none()
    return st.builds(
        Exercise, actions(), scripts, relation=st.sampled_from(relations) if plays else st.just(Relation.NONE)
    )


def generate(strategy: st.SearchStrategy[Exercise], count: int, from_seed: int) -> Iterator[Exercise]:
    """So many exercises; the same ones for the same seed."""
    found: list[Exercise] = []

    @seed(from_seed)
    @settings(
        max_examples=count,
        phases=[Phase.generate],
        database=None,
        deadline=None,
        derandomize=False,
        verbosity=Verbosity.quiet,
        suppress_health_check=list(HealthCheck),
    )
    @given(strategy)
    def collect(exercise: Exercise) -> None:
        found.append(exercise)

    collect()
    return iter(found)
