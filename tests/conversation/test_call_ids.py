"""Call ids: within the limit, each of one call, mapped back, and the same in every later request."""

from hypothesis import given
from hypothesis import strategies as st

from partstream.conversation.call_ids import MAX_ID_LENGTH, CallIds

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
