"""The sentences of docs/scaling.md; the figures are filled in."""

from __future__ import annotations
from typing import Final

__all__ = ["BETWEEN", "BREAKING", "INTRODUCTION", "PLAN"]

INTRODUCTION: Final = """\
<!-- Made by tools/generate.py of benchmarks/hub_simulation/results.json, which `make bench WHAT=simulate` writes. -->
# Past one machine

A hub grows by workers: the same process on as many machines as it needs, behind any balancer, with one Postgres. What
they share is the database, and what they share of it while people ask are the rows of budgets. This page says how far
that goes, where it breaks, and what to do then. Its figures come from a simulation, which `make bench WHAT=simulate`
repeats in about ten minutes; a seed makes the same numbers, and a short run of it is a test.

## What is real in it, and what is a model

- **Real**: every decision of a worker about budgets (`partstream_hub/worker.py`), every statement of the database (on
  SQLite in memory), the choice of upstreams and their circuits (`partstream_hub/routing.py`).
- **A model**: time. A question to the database takes a round trip of 0.5 ms, a statement 50 µs of one of its 8
  processors, a row 1 µs, a commit that waits for the disk 170 µs, as measured on the machine that made these figures
  (`python -m benchmarks.hub_store`). Who locks the row of a budget holds it until the end of the transaction.
- **People**: 10,000 in teams of 20, each person with $10 a day and each team with $100, one in twenty with a twentieth
  of it. They work in sessions of 15 answers on average, with 6 s between two; 100 answers a second in all, 50 around
  the outage, 5 around the bursts. An answer takes 8 s (median), reads 6,000 tokens, writes 400 and reserves 4,096, at
  $3 and $15 for a million.
- **Clocks** of workers are up to an hour apart and run up to 0.02 % too fast or too slow; a test shows that hours
  between them change no decision. Midnight, when all windows end, comes in the second minute.
- **Judge**: an account of what is really used, which no worker sees. A refusal is *false* if what was left, without the
  reservations of running answers, covered the least that the answer needed all the time that it waited. A trigger in
  the database notes each transaction behind which `spent + leased` exceeds a limit.

"""

BETWEEN: Final = """\
## 10,000 people on 200 workers

{scenarios}

*At once* means: decided in the worker's memory, without the database. *Nobody could tell* is an error 503 with
`retry-after`: the database was away, or not all workers had answered a recall within 2 s. Nothing was ever over budget
(nanodollars, overruns and broken transactions together), and each begun answer is in the ledger exactly once: after 25
killed workers, 5 of them with a disk that was away for a minute, {lost} answers were cut, and the ledger has {rows}
rows, one for each that was begun.

What the database had to do:

{database}

So a balancer that keeps a person at one worker is worth having, though nothing depends on it: two thirds of the answers
then wait for nothing, and the rest for the first lease of a session. Without it, a person's budget is in another place
each time, and each answer waits some milliseconds for a lease. A header of the session or the key is enough to hash by.

### The database away for ten minutes

![The part of answers that are begun while the database is away](scaling-away.svg)

Answers go on while leases last: in the first ten seconds {away_first} of them, after a minute {away_minute}, in the end
{away_last}. A worker holds what its people need next, never a large part of a budget, so a long outage stops those
who have budgets. People without a budget notice nothing. The journals on disk grow by a row for each answer; memory
stays flat, and all rows are in the ledger seconds after the database is back.

### Conversations over four upstreams

{routing}

![Answers of each upstream while one is dead](scaling-routing.svg)

10,000 conversations with prompt caches of five minutes, which cost a tenth to read. An upstream refuses everything for
three minutes: {moved} requests met it, each before the first part of its answer, and were answered elsewhere at once.
Each of the 200 workers finds out for itself (three failures, then one probe every 5, 10, 20, 40 s), so the number of
failed attempts grows with the workers, not with the traffic. Afterwards conversations come home, where their prompts
may still be in the cache.

"""

BREAKING: Final = """\
## Where it breaks

### The number of workers

{workers}

![Rows that heartbeats read, by the number of workers](scaling-workers.svg)

Each heartbeat brings all workers, so rows grow with the square of their number. At 200 it is an eighth of a processor,
at 800 nearly one, at 2,000 some five. **Then**: heartbeats that bring only workers whose counter has stopped, which the
database can tell in one statement; or one every 2 s. A worker serves some hundred answers at a time, so 800 workers are
some tens of thousands of running answers.

### One budget that everybody uses

{hot}

A budget with room is no bottleneck: leases follow the rate, and 400 answers a second on one row take some 40 leases a
second, where the row bears some 800 (a lease holds it for 1.2 ms). It becomes one when the budget is nearly used up,
because leases then shrink to one answer: see the next two tables. **Then**: give teams budgets, not the company alone;
or split a very large budget into several.

### Budgets of a few answers

{small}

Below some ten answers nothing can be kept for the next one, and each answer waits for a lease, which is what exactness
costs. It is a few milliseconds. **Then**: nothing; a limit of output tokens that is closer to what answers write makes
a budget cover more of them, since 4,096 are reserved and 400 are used.

### A burst at the limit

200 answers in 0.2 s for each of five teams, whose budgets cover a quarter of them:

{burst}

Before anybody is refused, all workers are asked for what they hold and do not use, which they give back with their next
heartbeat, and everybody tries again, for two seconds. Up to some fifty workers everybody is told the truth then. With
more, one row and two seconds are not enough for all of them, and a part is told to ask again (503) although the budget
is spent. Nobody is admitted who should not be, and nobody is refused who need not be. **Then**: keep a team at few
workers by a hash of its key at the balancer; or a longer `wait_seconds`.

### A database that is far away

50 workers, each person at one of them:

{far}

A first lease takes two transactions of two to four round trips each. Up to 10 ms hardly anybody notices; at 50 ms one
answer in a hundred waits for a second. **Then**: one database for each region, with budgets of its own.

"""

PLAN: Final = """\
## The plan

- **Some hundred people**: one machine, `partstream serve --hub`, SQLite.
- **Some thousand**: several processes on one machine, or 2 to 20 workers behind a balancer that hashes by key or
  session; Postgres.
- **Ten thousand**: 20 to 200 workers as above; Postgres with 4 to 8 processors, less than 1 ms away, on a disk that
  flushes in under a millisecond; a standby, since a failover is an outage of seconds.
- **A hundred thousand**: several hubs, each with its teams and its database, and one reviewed file for each. One hub of
  2,000 workers would need the heartbeats of the section above.

What stays as it is at any size: keys are checked in memory, a stream never meets the database, upstreams are chosen
without asking anybody. What is not simulated: the network between client and worker, the cost of a stream (see
[serving](serving-performance.md)), and a Postgres that fails over.
"""
