"""Which upstream is asked next, by the circuits and the order in which a conversation prefers them."""

from __future__ import annotations
from collections import defaultdict

from partstream_hub.directory import Route
from partstream_hub.routing import Blame, Circuit, Circuits, Selection

WEST, EAST, NORTH = Route("west", "m"), Route("east", "m"), Route("north", "m")
DOWN, GONE = Blame(is_of_upstream=True), Blame(is_of_upstream=True, pause=60.0)
WAIT = Blame(is_of_upstream=True, pause=20.0, is_asked=True)
OF_REQUEST = Blame(is_of_upstream=False)


def _opened(blame: Blame, *routes: Route) -> Circuits:
    circuits = defaultdict(Circuit)
    for route in routes:
        circuit = circuits[route[:2]]
        circuit.failed(circuit.begin(), 0.0, blame.pause, is_asked=blame.is_asked)
    return circuits


def _asked(selection: Selection, blame: Blame, now: float = 1.0) -> list[str]:
    """The providers that are asked one after the other while each fails."""
    asked = []
    while (selected := selection.next(now)) is not None:
        asked.append(selected.route.provider)
        selected.ended(blame, now)
    return asked


def test_each_upstream_is_asked_once_in_the_order_of_the_ranking():
    assert _asked(Selection((WEST, EAST, WEST, NORTH, EAST), defaultdict(Circuit)), DOWN) == ["west", "east", "north"]


def test_an_upstream_whose_circuit_is_open_is_left_out():
    assert _asked(Selection((WEST, EAST, NORTH), _opened(GONE, WEST, NORTH)), DOWN) == ["east"]


def test_where_all_circuits_are_open_the_first_upstream_is_asked_all_the_same():
    assert _asked(Selection((WEST, EAST), _opened(GONE, WEST, EAST)), DOWN) == ["west"]


def test_no_upstream_is_asked_that_asked_to_be_left_alone_and_the_shortest_wait_is_known():
    circuits = _opened(WAIT, WEST)
    circuit = circuits[EAST[:2]]
    circuit.failed(circuit.begin(), 0.0, 5.0, is_asked=True)
    selection = Selection((WEST, EAST), circuits)
    assert selection.next(1.0) is None
    assert selection.shortest_wait(1.0) == 4.0
    assert _asked(selection, DOWN, now=6.0) == ["east"]


def test_the_last_one_is_known_so_that_it_alone_tries_again_by_itself():
    selection = Selection((WEST, EAST, NORTH), _opened(GONE, NORTH))
    assert [selection.next(1.0).is_last, selection.next(1.0).is_last] == [False, True]


def test_a_fault_of_the_request_opens_no_circuit():
    circuits = defaultdict(Circuit)
    for _ in range(10):
        Selection((WEST,), circuits).next(0.0).ended(OF_REQUEST, 0.0)
    assert circuits[WEST[:2]].admits(0.0)
