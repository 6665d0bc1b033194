"""A hub in virtual time: nobody is over budget, nobody is refused who need not be, a seed makes the same numbers."""

from __future__ import annotations
import json
from dataclasses import replace

from benchmarks.hub_simulation.events import Events
from benchmarks.hub_simulation.page import RESULTS
from benchmarks.hub_simulation.people import Traffic
from benchmarks.hub_simulation.routing import RoutingScenario, simulated_routing
from benchmarks.hub_simulation.scenario import Burst, Crash, Scenario
from benchmarks.hub_simulation.simulation import simulated
from partstream_hub.directory import DOLLAR

SHORT = Scenario(
    seconds=20.0,
    workers=6,
    traffic=Traffic(people=40, team_size=10, answers_a_second=4.0, team_limit=6 * DOLLAR),
    crashes=(Crash(8.0, 1), Crash(12.0, 1, disk_after=6.0)),
    bursts=(Burst(14.0, 60),),
)


def test_a_short_simulation_keeps_every_promise():
    figures = simulated(SHORT)
    assert figures["asked"] > 100
    assert figures["spent"] > 0, "no budget was short: the simulation shows nothing"
    assert figures["lost"] > 0, "no answer was lost with a worker: the simulation shows nothing"
    for promise in ("false_refusals", "over_budget", "broken_transactions", "overrun", "wrongly_charged"):
        assert figures[promise] == 0, promise
    assert (figures["leased_in_the_end"], figures["rows_left"]) == (0, 0)
    assert figures["rows_in_ledger"] == figures["admitted"]


def test_the_same_seed_makes_the_same_numbers_and_another_one_makes_others():
    short = replace(SHORT, seconds=8.0, crashes=(), bursts=(), winds_down=False)
    assert simulated(short) == simulated(short)
    assert simulated(short) != simulated(replace(short, seed=2))


def test_clocks_that_are_hours_apart_change_nothing():
    short = replace(SHORT, seconds=10.0, drift=0.0, winds_down=False, bursts=(Burst(5.0, 30),), crashes=())
    together, apart = simulated(replace(short, skew=0.0)), simulated(replace(short, skew=36_000.0))
    for figure in ("asked", "admitted", "spent", "unreachable", "false_refusals", "over_budget"):
        assert together[figure] == apart[figure]


def test_answers_go_on_while_leases_last_and_nothing_is_lost_while_the_database_is_away():
    figures = simulated(replace(SHORT, away=(8.0, 26.0), is_sticky=True, crashes=(), bursts=()))
    while_away = [second.get("admitted", 0) for second in figures["by_second"][9:20]]
    assert sum(while_away) > 0
    assert figures["unreachable"] > 0
    assert (figures["rows_in_ledger"], figures["rows_left"]) == (figures["admitted"], 0)
    assert (figures["wrongly_charged"], figures["over_budget"]) == (0, 0)


def test_conversations_that_stay_are_cheaper_and_nobody_is_refused_while_one_upstream_is_dead():
    figures = simulated_routing(RoutingScenario(people=200, workers=4, seconds=120.0, dead=(40.0, 80.0)))
    assert figures["session"]["refused"] == figures["random"]["refused"] == 0
    assert figures["session"]["failed_attempts"] > 0
    assert figures["session"]["price"] < figures["random"]["price"]


def test_the_figures_that_are_published_keep_every_promise():
    results = json.loads(RESULTS.read_text(encoding="utf-8"))
    for group in ("scenarios", "small", "hot", "far", "burst"):
        for name, figures in results[group].items():
            for promise in ("false_refusals", "over_budget", "broken_transactions", "overrun"):
                assert figures[promise] == 0, (group, name, promise)


def test_things_happen_in_the_order_of_their_times():
    events, happened = Events(), []
    for name, time in (("c", 3.0), ("a", 1.0), ("b", 1.0)):
        events.at(time, lambda name=name: happened.append((name, events.now)))
    events.run_until(2.0)
    assert (happened, events.now) == ([("a", 1.0), ("b", 1.0)], 2.0)
    events.at(0.5, lambda: happened.append(("late", events.now)))
    events.run_until(4.0)
    assert happened[2:] == [("late", 2.0), ("c", 3.0)]


def test_more_answers_need_no_database_where_a_person_stays_at_one_worker():
    short = replace(SHORT, seconds=30.0, crashes=(), bursts=(), winds_down=False)
    anywhere, at_one = simulated(short), simulated(replace(short, is_sticky=True))
    assert at_one["at_once"] > anywhere["at_once"]
