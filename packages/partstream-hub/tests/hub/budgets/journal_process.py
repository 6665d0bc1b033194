"""A worker in a process of its own, which is killed in the midst of its answers.

    python journal_process.py DATABASE FOLDER

Admits three answers of 100 each, ends one that took 30 (which is not uploaded: the database is not asked any more), and
says so. Then it waits to be killed.
"""

import asyncio
import sys
from pathlib import Path

from hub.budgets.crowd import QUICK, TEAM, row
from partstream_hub.amounts import Need
from partstream_hub.store.opening import opened_store
from partstream_hub.worker import HubWorker


async def main(database: str, folder: Path) -> None:
    worker = HubWorker(opened_store(database), folder, QUICK)
    await worker.start()
    needs = [Need(TEAM, 100, 100)]
    first, *_ = [await worker.reserve(row(f"answer-{number}"), needs) for number in range(3)]
    worker._task.cancel()  # from here on nothing reaches the database
    first.settle({TEAM.id: 30}, row("answer-0", outcome="completed"))
    sys.stdout.write("admitted\n")
    sys.stdout.flush()
    await asyncio.sleep(60)


if __name__ == "__main__":
    asyncio.run(main(sys.argv[1], Path(sys.argv[2])))
