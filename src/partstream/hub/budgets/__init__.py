"""Budgets that hold to the nanodollar, without a database on the way of an answer.

A window of a budget has a `limit`, what is `spent`, and what workers have `leased`; the database keeps
`spent + leased <= limit` in every transaction. A worker reserves for its answers from what it has leased, in memory,
and writes down in its journal what it has admitted before it asks a provider. So nothing is ever admitted beyond a
limit, whatever dies, is cut off or is heard of late:

* lease, give back, settle: each transaction says behind it what the worker holds, which computes nothing itself;
* a recall has all workers give back what they do not use before anybody is refused;
* a crash: whoever adopts the journal charges what had begun, in full, and gives the rest back;
* a worker that is silent: what it holds counts as spent, and comes back with its next heartbeat;
* the database away: answers go on while leases last, and ended ones wait in the journal;
* the end of a window and clocks that differ: only the database's clock counts, and silence is measured by one's own
  connected time.

The protocol with all its cases, and why it holds: docs/hub-budgets.md.
"""
