"""Several processes on one database: on one file of SQLite as on one Postgres."""

import subprocess
import sys

from hub.overshoots import note_overshoots, overshoots
from hub.stores import HubDatabase
from hub.test_leases import RULE

# A worker: leases, settles, gives back; two of three settle answers that the others settle too.
WORKER = """
import sys
from partstream_hub.store.opening import opened_store
from partstream_hub.store.values import Charge, LeaseAsk, LedgerRow

address, name, window = sys.argv[1], sys.argv[2], int(sys.argv[3])
store = opened_store(address)
store.migrate()
counter = store.heartbeat(name).workers[name].counter
sys.stdin.readline()
for number in range(30):
    store.lease(name, [LeaseAsk(window, 20, 1)])
    shared = number % 3 and "of-all" or name
    row = LedgerRow(f"{shared}-{number}", 1.7e9, "k1", "ana", "core", "gpt-5", charges=(Charge(window, 5),))
    store.settle(name, [row])
    store.give_back(name, counter, {window: 5}, {})
store.leave(name)
print(store.check())
"""


def test_processes_share_a_database_and_charge_every_answer_once(hub_database: HubDatabase) -> None:
    store = hub_database.migrated()
    note_overshoots(hub_database)
    window = store.open_windows([RULE])[RULE.id].id
    workers = [
        subprocess.Popen(
            [sys.executable, "-c", WORKER, hub_database.address, f"w{number}", str(window)],
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
        )
        for number in range(3)
    ]  # fmt: skip
    try:
        for worker in workers:
            assert worker.stdin is not None
            worker.stdin.write("go\n")
            worker.stdin.flush()
        said = [worker.communicate(timeout=40) for worker in workers]
    finally:
        for worker in workers:
            worker.kill()
            worker.communicate(timeout=10)
    assert said == [("[]\n", "")] * 3
    # 20 answers of all of them, and 10 of each one's own, at 5.
    assert store.read("SELECT count(*) FROM hub_ledger") == [(50,)]
    found = store.open_windows([RULE])[RULE.id]
    assert (found.spent, found.leased, found.overrun) == (250, 0, 0)
    assert store.check() == []
    assert overshoots(store) == []
