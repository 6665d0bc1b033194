"""Triggers that note each change of a window after which more is spent and reserved than its limit allows, and
more than before: whatever a test does with a database, what `overshoots` finds behind it stays empty.
"""

from hub.stores import HubDatabase
from partstream_hub.store.store import HubStore

_TABLE = "CREATE TABLE test_overshoots (window_id BIGINT NOT NULL, used BIGINT NOT NULL, budget_limit BIGINT NOT NULL)"
_WHEN = "NEW.spent + NEW.reserved > NEW.budget_limit AND NEW.spent + NEW.reserved > OLD.spent + OLD.reserved"
_NOTE = "INSERT INTO test_overshoots VALUES (NEW.id, NEW.spent + NEW.reserved, NEW.budget_limit)"
_STATEMENTS = {
    "sqlite": (
        _TABLE,
        f"CREATE TRIGGER test_overshoot AFTER UPDATE ON hub_windows WHEN {_WHEN} BEGIN {_NOTE}; END",
    ),
    "postgres": (
        _TABLE,
        f"CREATE FUNCTION test_note() RETURNS trigger AS $$ BEGIN {_NOTE}; RETURN NULL; END $$ LANGUAGE plpgsql",
        (
            f"CREATE TRIGGER test_overshoot AFTER UPDATE ON hub_windows FOR EACH ROW WHEN ({_WHEN})"
            " EXECUTE FUNCTION test_note()"
        ),
    ),
}


def note_overshoots(database: HubDatabase) -> None:
    """Has the tables of a database, which are made, note whatever goes over a limit."""
    engine = database.engine()
    engine.run(lambda work: [work.run(statement) for statement in _STATEMENTS[database.kind]])


def overshoots(store: HubStore) -> list[tuple[int, int, int]]:
    """What went over a limit: the window, what was used, the limit."""
    return store.read("SELECT window_id, used, budget_limit FROM test_overshoots")
