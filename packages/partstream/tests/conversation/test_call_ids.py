"""Call ids: within the limit, each of one call, mapped back, and the same in every later request."""

import re

from hypothesis import given
from hypothesis import strategies as st

from partstream.conversation.turns import MAX_ID_LENGTH, CallIdRule, CallIds, IdForm
from rows import one_test_for

IDS = st.lists(st.text(max_size=90) | st.sampled_from(["gw-1", "1", "gw-gw-1", "", "gw-"]), max_size=8)


@given(IDS, st.sampled_from(["gw-", "", "1"]))
def test_any_ids_become_valid_ones_that_map_back_and_do_not_collide(call_ids: list[str], prefix: str):
    ids = CallIds(prefix)
    sent = [ids.open(call_id) for call_id in call_ids]
    assert all(1 <= len(call_id) <= MAX_ID_LENGTH for call_id in sent)
    assert len(set(sent)) == len(sent)
    assert [ids.from_upstream(call_id) for call_id in sent] == call_ids


@given(IDS, IDS)
def test_a_longer_conversation_says_its_beginning_the_same_way(call_ids: list[str], more: list[str]):
    short, long = CallIds("gw-"), CallIds("gw-")
    assert [short.open(one) for one in call_ids] == [long.open(one) for one in [*call_ids, *more]][: len(call_ids)]


def test_an_id_of_the_upstream_is_sent_as_it_gave_it_and_others_are_known_as_changed():
    ids = CallIds("gw-")
    own, foreign, taken, long = (ids.open(one) for one in ("gw-call_1", "toolu_1", "call_1", "gw-" + "x" * 65))
    assert (own, foreign) == ("call_1", "toolu_1")
    assert [ids.is_changed(one) for one in (own, foreign, taken, long)] == [False, False, True, True]


NO_SIGN = re.compile("[^A-Za-z0-9_-]")
FORTY = IdForm(40, refused=NO_SIGN)
NINE = IdForm(9, shortest=9, refused=re.compile("[^A-Za-z0-9]"), filler="")

# A rule, a given id, and what is sent: `…` stands for a digest.
FORMS: dict[str, tuple[CallIdRule, str, str]] = {
    "an id of this upstream, however long": (CallIdRule(IdForm(200), FORTY), "gw-" + "x" * 46, "x" * 46),
    "an id of this upstream with a sign": (CallIdRule(IdForm(200), FORTY), "gw-functions.f:0", "functions.f:0"),
    "an id of others with a sign": (CallIdRule(IdForm(200), FORTY), "functions.f:0", "functions_f_0_…"),
    "a long id of others": (CallIdRule(IdForm(200), FORTY), "chatcmpl-tool-" + "0" * 32, "chatcmpl-tool-000000000_…"),
    "a short id of others": (CallIdRule(IdForm(200), FORTY), "toolu_1", "toolu_1"),
    "nine letters and digits": (CallIdRule(NINE, NINE), "gw-D681PevKs", "D681PevKs"),
    "fewer than nine": (CallIdRule(NINE, NINE), "gw-1", "…"),
    "more than nine": (CallIdRule(NINE, NINE), "toolu_01A", "…"),
}


@one_test_for(("rule", "given_id", "expected"), FORMS.values(), ids=FORMS)
def test_an_id_gets_the_form_that_the_server_accepts(rule: CallIdRule, given_id: str, expected: str):
    sent = CallIds("gw-", rule).open(given_id)
    start, _, digest = expected.partition("…")
    assert sent.startswith(start)
    assert (sent == expected) == ("…" not in expected)
    assert sent == expected or len(sent) == min(len(start) + 16, rule.foreign.longest)
    assert (rule.own if given_id.startswith("gw-") else rule.foreign).fits(sent)
    assert not digest


@given(IDS, st.booleans())
def test_ids_of_a_narrow_form_do_not_collide_either(call_ids: list[str], is_foreign: bool):
    ids = CallIds("gw-", CallIdRule(NINE, NINE))
    sent = [ids.open(call_id, is_foreign=is_foreign) for call_id in call_ids]
    assert all(NINE.fits(call_id) for call_id in sent)
    assert len(set(sent)) == len(sent)
    assert [ids.from_upstream(call_id) for call_id in sent] == call_ids


def test_an_id_with_our_prefix_that_another_upstream_is_known_to_have_given_is_foreign():
    rule = CallIdRule(IdForm(200), FORTY)
    assert CallIds("gw-", rule).open("gw-functions.f:0") == "functions.f:0"
    assert CallIds("gw-", rule).open("gw-functions.f:0", is_foreign=True).startswith("functions_f_0_")
