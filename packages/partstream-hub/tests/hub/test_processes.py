"""Several processes on one database: on one file of SQLite as on one Postgres."""

import os
import subprocess
import sys

from hub.overshoots import note_overshoots, overshoots
from hub.stores import HubDatabase
from hub.test_reservations import RULE

# A worker: reserves and settles; two of three settle answers that the others settle too.
WORKER = """
import sys
from partstream_hub.store.opening import opened_store
from hub.stores import reserve, row, settle
from hub.test_reservations import RULE
from partstream_hub.store.values import Charge

address, name, window = sys.argv[1], sys.argv[2], int(sys.argv[3])
store = opened_store(address)
store.migrate()
store.heartbeat(name)
sys.stdin.readline()
for number in range(30):
    shared = number % 3 and "of-all" or name
    if shared == name:
        assert reserve(store, name, f"{name}-{number}", RULE, 20, 1) == 20
    settle(store, name, [row(f"{shared}-{number}", Charge(window, 5))])
store.expire(name)
print(store.check())
"""


def test_processes_share_a_database_and_charge_every_answer_once(hub_database: HubDatabase) -> None:
    store = hub_database.migrated()
    note_overshoots(hub_database)
    window = store.open_windows([RULE])[RULE.id].id
    workers = [
        subprocess.Popen(
            [sys.executable, "-c", WORKER, hub_database.address, f"w{number}", str(window)],
            env={**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)},
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
    assert (found.spent, found.reserved) == (250, 0)
    assert store.check() == []
    assert overshoots(store) == []
