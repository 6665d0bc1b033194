"""Makes the page of what `make bench WHAT=proof` showed; reads nothing but its results, so that the page can be made
anywhere."""

from __future__ import annotations
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

__all__ = ["RESULTS", "page"]

RESULTS: Final = Path(__file__).with_name("results.json")

_INTRODUCTION: Final = """\
<!-- Made by tools/generate.py of benchmarks/hub_proof/results.json, which `make bench WHAT=proof` writes. -->
# Proof of the budgets

`make bench WHAT=proof` runs four workers of a [hub](../hub.md), each a `partstream serve --hub`, over a Postgres that
it starts itself. Their clocks are 0, 2, -2 and 4 seconds wrong. It takes five minutes, and its exit code
is 1 if anything that this page says does not hold. [Budgets of a hub](hub-budgets.md) says why it holds.

- **A worker is killed** (`SIGKILL`) in every phase of the answers of clients that ask at once: before it reserves,
  while it does, while it answers for a second and a half, and while it settles; then another is started. There is money
  for everybody: no request may be refused, and no answer of another worker may be cut.
- **A budget for a third**: a thousand clients ask at once, and the budget of their team pays a third. A request
  reserves what it can cost at most, so fewer fit at once than the budget pays in the end; as many as fit have to be
  answered. Then one asks after the other, of each worker in turn, until the first refusal: less than a request
  reserves may be left.
- **Without a database**: Postgres is stopped as if its machine had failed, and clients ask on. They are refused with
  503, which asks to try again, within the time that a worker waits for its database. No key may be refused. Then
  Postgres is started again.

After each of them, every answer that came whole has to be in the ledger exactly once, with exactly its tokens, and
no refused request may be there. A trigger in the database notes each transaction after which more is spent and
reserved than a limit allows: it has to note none. After the end, nothing may be reserved, and the ledger, the windows
and the reservations have to add up.

"""


def page(results: Mapping[str, Any]) -> str:
    """The page that shows the results."""
    return _INTRODUCTION + "\n".join(_lines(results)) + "\n"


def _lines(results: Mapping[str, Any]) -> Iterator[str]:
    yield from (f"- {name}: {value}" for name, value in results["machine"].items())
    for title, found in results["findings"].items():
        yield from ("", f"## {title[0].upper()}{title[1:]}", "", "| what | |", "| --- | --- |")
        yield from (f"| {name} | {_text(figure)} |" for name, figure in found["figures"].items())
        yield from ("", *(f"**Did not hold**: {fault}" for fault in found["faults"]))
        if not found["faults"]:
            yield "All of it held."


def _text(figure: Any) -> str:
    if isinstance(figure, dict):
        return ", ".join(f"{count:,} with status {status}" for status, count in figure.items()) or "none"
    if isinstance(figure, list):
        return ", ".join(map(str, figure))
    return f"{figure:,}"
