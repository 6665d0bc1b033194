"""The page docs/scaling.md and its pictures, made of the figures that `make bench WHAT=simulate` kept."""

from __future__ import annotations
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from benchmarks.hub_simulation.plots import Axis, lines
from benchmarks.hub_simulation.words import BETWEEN, BREAKING, INTRODUCTION, PLAN

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

__all__ = ["PICTURES", "RESULTS", "page", "pictures"]

RESULTS: Final = Path(__file__).resolve().parent / "results.json"

PICTURES: Final = ("scaling-workers.svg", "scaling-away.svg", "scaling-routing.svg")
"""The files of the pictures, beside the page."""

_SCENARIOS: Final = {
    "any": "people go to any worker",
    "sticky": "each person stays at one worker",
    "crashes": "as before, and 25 workers are killed",
    "away": "as before, and the database is away for 10 minutes",
    "burst": "5 teams ask 200 times in 0.2 s, for budgets that cover a quarter",
}
_STEP: Final = 10


def page(results: Mapping[str, Any]) -> str:
    """The page."""
    scenarios = results["scenarios"]
    away = _away_shares(scenarios["away"]["series"])
    said = {
        "scenarios": _table(
            _SCENARIO_HEAD, (_scenario_row(what, scenarios[name]) for name, what in _SCENARIOS.items())
        ),
        "database": _table(_DATABASE_HEAD, (_database_row(what, scenarios[name]) for name, what in _SCENARIOS.items())),
        "routing": _table(_ROUTING_HEAD, _routing_rows(results["routing"])),
        "workers": _table(_WORKERS_HEAD, _sweep(results["workers"], _workers_row)),
        "hot": _table(_HOT_HEAD, _sweep(results["hot"], _hot_row)),
        "small": _table(_SMALL_HEAD, _sweep(results["small"], _small_row)),
        "far": _table(_FAR_HEAD, _sweep(results["far"], _far_row)),
        "burst": _table(_BURST_HEAD, _sweep(results["burst"], _burst_row)),
        "away_first": f"{away[0][1]:.0%}",
        "away_minute": f"{away[6][1]:.0%}",
        "away_last": f"{away[-1][1]:.0%}",
        "lost": f"{scenarios['crashes']['lost']:,}",
        "rows": f"{scenarios['crashes']['rows_in_ledger']:,}",
        "moved": f"{results['routing']['session']['moved']:,}",
    }
    return (INTRODUCTION + BETWEEN + BREAKING + PLAN).format(**said)


def pictures(results: Mapping[str, Any]) -> dict[str, str]:
    """The pictures by the names of their files."""
    workers = [(float(name), one) for name, one in _ordered(results["workers"])]
    routing = results["routing"]["session"]["series"]
    return {
        "scaling-workers.svg": lines(
            "Rows that the database reads for heartbeats, by the number of workers",
            Axis("workers"),
            Axis("rows a second"),
            {"rows": [(number, one["rows_a_second"]) for number, one in workers]},
        ),
        "scaling-away.svg": lines(
            "Answers while the database is away",
            Axis("seconds; shaded: the database does not answer"),
            Axis("part of all answers", most=1.0),
            {"admitted": _away_shares(results["scenarios"]["away"]["series"], with_all=True)},
            shaded=(60.0, 660.0),
        ),
        "scaling-routing.svg": lines(
            "Answers of each upstream while the first one is dead",
            Axis("seconds; shaded: upstream 1 refuses everything"),
            Axis("answers in 10 s"),
            {
                f"upstream {number + 1}": [(at * float(_STEP), count) for at, count in enumerate(routing[f"u{number}"])]
                for number in range(4)
            },
            shaded=(300.0, 480.0),
        ),
    }


# ---- tables ----

_SCENARIO_HEAD: Final = (
    "200 workers, 10,000 people", "answers asked", "begun", "at once", "wait p50 / p99 / longest", "refused: spent",
    "of them falsely", "refused: nobody could tell", "over budget",
)  # fmt: skip
_DATABASE_HEAD: Final = (
    "", "transactions/s", "leases/s", "recalls + returns/s", "statements/s", "rows/s", "processors busy",
    "longest wait for a row",
)  # fmt: skip
_ROUTING_HEAD: Final = (
    "4 upstreams, one dead for 3 minutes", "answers", "refused", "failed attempts", "prompts from the cache",
    "price of the input",
)  # fmt: skip
_WORKERS_HEAD: Final = ("workers", "heartbeats/s", "rows/s", "processors busy")
_HOT_HEAD: Final = ("answers/s of one budget", "at once", "wait p99", "leases/s", "longest wait for its row")
_SMALL_HEAD: Final = ("answers that the budget covers", "at once", "wait p99", "leases per answer")
_FAR_HEAD: Final = ("ms to the database and back", "at once", "wait p50", "wait p99", "longest wait")
_BURST_HEAD: Final = (
    "workers", "begun", "refused: spent", "of them falsely", "refused: nobody could tell", "wait p50",
    "used at the first refusal",
)  # fmt: skip


def _scenario_row(what: str, one: Mapping[str, Any]) -> Sequence[str]:
    waits = " / ".join(_seconds(one[name]) for name in ("wait_p50", "wait_p99", "wait_longest"))
    return (
        what, f"{one['asked']:,}", f"{one['admitted']:,}", _part(one["at_once"], one["asked"]), waits,
        f"{one['spent']:,}", f"{one['false_refusals']:,}", f"{one['unreachable']:,}",
        f"{one['over_budget'] + one['overrun'] + one['broken_transactions']:,}",
    )  # fmt: skip


def _database_row(what: str, one: Mapping[str, Any]) -> Sequence[str]:
    done = one["transactions_a_second"]
    recalls = done.get("RequestRecall", 0.0) + done.get("ReturnLease", 0.0)
    return (
        what, f"{sum(done.values()):,.0f}", f"{done['TakeLease']:.0f}", f"{recalls:.1f}",
        f"{one['statements_a_second']:,.0f}", f"{one['rows_a_second']:,.0f}", f"{one['processors_busy']:.2f}",
        _seconds(one["longest_lock_wait"]),
    )  # fmt: skip


def _routing_rows(routing: Mapping[str, Any]) -> Iterable[Sequence[str]]:
    for name, what in (("session", "conversations stay"), ("random", "each request to any")):
        one = routing[name]
        yield (
            what, f"{one['asked']:,}", f"{one['refused']:,}", f"{one['failed_attempts']:,}", f"{one['cached']:.0%}",
            f"{one['price']:.0%}",
        )  # fmt: skip


def _workers_row(name: str, one: Mapping[str, Any]) -> Sequence[str]:
    beats = one["transactions_a_second"]["Heartbeat"]
    return name, f"{beats:.0f}", f"{one['rows_a_second']:,.0f}", f"{one['processors_busy']:.2f}"


def _hot_row(name: str, one: Mapping[str, Any]) -> Sequence[str]:
    leases = one["transactions_a_second"]["TakeLease"]
    share = _part(one["at_once"], one["asked"])
    return name, share, _seconds(one["wait_p99"]), f"{leases:.0f}", _seconds(one["longest_lock_wait"])


def _small_row(name: str, one: Mapping[str, Any]) -> Sequence[str]:
    leases = one["transactions_a_second"]["TakeLease"] * 60.0 / one["asked"]
    return f"{int(name):,}", _part(one["at_once"], one["asked"]), _seconds(one["wait_p99"]), f"{leases:.1f}"


def _far_row(name: str, one: Mapping[str, Any]) -> Sequence[str]:
    waits = (_seconds(one[wait]) for wait in ("wait_p50", "wait_p99", "wait_longest"))
    return name, _part(one["at_once"], one["asked"]), *waits


def _burst_row(name: str, one: Mapping[str, Any]) -> Sequence[str]:
    used = one["used_at_first_refusal"]
    return (
        name, f"{one['admitted']:,}", f"{one['spent']:,}", f"{one['false_refusals']:,}", f"{one['unreachable']:,}",
        _seconds(one["wait_p50"]), f"{used['least']:.1%} or more",
    )  # fmt: skip


def _sweep(group: Mapping[str, Any], row: Any) -> Iterable[Sequence[str]]:
    return (row(name, one) for name, one in _ordered(group))


def _ordered(group: Mapping[str, Any]) -> list[tuple[str, Any]]:
    return sorted(group.items(), key=lambda one: float(one[0]))


def _table(head: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    made = [f"| {' | '.join(head)} |", f"|---|{'---:|' * (len(head) - 1)}"]
    return "\n".join([*made, *(f"| {' | '.join(row)} |" for row in rows)])


def _part(count: int, of: int) -> str:
    return f"{count / of:.0%}"


def _seconds(value: float) -> str:
    return "0" if value == 0 else f"{value * 1000:.1f} ms" if value < 1 else f"{value:.1f} s"


def _away_shares(series: Mapping[str, Sequence[int]], *, with_all: bool = False) -> list[tuple[float, float]]:
    """The part of the answers that were begun, in each ten seconds; those of the outage alone, unless all are asked."""
    shares = [
        (at * float(_STEP), admitted / asked)
        for at, (asked, admitted) in enumerate(zip(series["asked"], series["admitted"], strict=True))
        if asked
    ]
    return shares if with_all else [one for one in shares if 60.0 <= one[0] < 660.0]
