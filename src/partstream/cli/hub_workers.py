"""Waits until the workers of a hub know of a change: a key works, or works no more, when its command is over."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Final

import click

if TYPE_CHECKING:
    from partstream.hub.store.store import HubStore

__all__ = ["wait_for_workers"]

_SECONDS: Final = 3.0
"""How long a worker may be silent and still be waited for, and for how long. Each is heard of every second."""
_PAUSE: Final = 0.1
_HEARTBEATS: Final = 2
"""A heartbeat that began after a change brings it; with the next one, the worker has taken it in."""
_WORKERS: Final = "SELECT name, counter FROM hub_workers WHERE seen_at > ?"


def wait_for_workers(store: HubStore) -> None:
    """Waits until all workers that are alive have asked for changes; says which have not.

    Args:
        store: The database, with the change in it.
    """
    waited_for = {name: counter + _HEARTBEATS for name, counter in store.read(_WORKERS, [store.time() - _SECONDS])}
    deadline = time.monotonic() + _SECONDS
    while waited_for and time.monotonic() < deadline:
        time.sleep(_PAUSE)
        counters = dict(store.read("SELECT name, counter FROM hub_workers"))
        waited_for = {name: wanted for name, wanted in waited_for.items() if counters.get(name, wanted) < wanted}
    for name in sorted(waited_for):
        click.echo(f"Worker {name} has not been heard of since; it knows of the change when it comes back.", err=True)
