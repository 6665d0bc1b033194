"""Links that open the page of the hub, each once: a code behind the `#`, for which the page gets a key of its own.

That key shows the page and asks no model, and is accepted for hours. It is one of the person's keys: `partstream hub
key list` shows it, `revoke` ends it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from partstream.hub.administration import Administration

__all__ = ["KEY_SECONDS", "LINK_SECONDS", "one_time_link"]

LINK_SECONDS: Final = 10 * 60.0
"""How long a link is good."""
KEY_SECONDS: Final = 12 * 3600.0
"""How long a page that was opened by a link is shown."""
_LABEL: Final = "page of the hub"


def one_time_link(hub: Administration, person: str, address: str) -> str:
    """Makes a link.

    Args:
        hub: The hub.
        person: Whose page it opens.
        address: The address of the hub, without a slash at its end.

    Raises:
        DirectoryConflictError: There is no such person.
        StoreUnreachableError: The database is not there.
    """
    now = hub.store.time()
    code = hub.invite(
        person, expires_at=now + LINK_SECONDS, label=_LABEL, key_expires_at=now + KEY_SECONDS, key_models=()
    )
    return f"{address}/hub#{code.reveal()}"
