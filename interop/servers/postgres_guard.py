"""Ends a server of Postgres once it has no user any more: waits for the lock that each user shares while it lives.

A program, so that the server ends whatever becomes of the tests: the system takes the lock of a process that is killed.
"""

import fcntl
import os
import sys
from pathlib import Path

if __name__ == "__main__":
    sys.path.insert(0, str(Path(__file__).parent))
    from postgres import PostgresServer

    if os.fork():
        os._exit(0)
    os.setsid()
    server = PostgresServer(Path(sys.argv[1]))
    with server.users.open("ab") as users:
        fcntl.flock(users, fcntl.LOCK_EX)
        server.remove()
