"""The tables of the ledger's file, and all statements for it; knows no connection."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Mapping

__all__ = [
    "ADDED_TABLES",
    "APPLICATION_ID",
    "CAPACITIES",
    "CLEAR_ANSWERS",
    "CLEAR_USAGE",
    "CLEAR_USAGE_BEYOND",
    "FORGET_ANSWERS",
    "FORGET_LIMIT",
    "HAS_ANSWERS",
    "HAS_REFUSALS",
    "KEEP_ANSWER",
    "KEEP_COUNT",
    "KEEP_LIMIT",
    "KEEP_REFUSAL",
    "KEEP_SAMPLE",
    "KEEP_TOTAL",
    "KEEP_USAGE",
    "MOST_PARAMETERS",
    "READ_ANSWERS",
    "READ_COUNTS",
    "READ_LAST_USAGE",
    "READ_LIMITS",
    "READ_REFUSALS",
    "READ_SAMPLES",
    "READ_TOTALS",
    "READ_USAGE",
    "READ_USAGE_OF_OTHERS",
    "SCHEMA",
    "SCHEMA_VERSION",
    "TOUCH_COUNT",
    "TOUCH_TOTAL",
    "TRIM",
    "TRIM_SAMPLES",
]

APPLICATION_ID: Final = 0x50535447
"""The mark in the header of the file that distinguishes it from other applications' files (`PRAGMA application_id`)."""

SCHEMA_VERSION: Final = 2
"""The version of the tables. A file of an older version is renamed: its contents are learned again in a few answers. A
file of a newer version is left alone, because two versions may be in use side by side."""

SCHEMA: Final = (
    # Digests are random, so row numbers would not help in these tables.
    """CREATE TABLE counts (
        digest BLOB, scope TEXT, version TEXT, counted REAL, source TEXT, reported REAL, is_alone INTEGER, size INTEGER,
        used INTEGER, PRIMARY KEY (digest, scope)
    ) WITHOUT ROWID""",
    """CREATE TABLE totals (
        digest BLOB, scope TEXT, tools BLOB, tools_tokens REAL, reported INTEGER, used INTEGER,
        PRIMARY KEY (digest, scope, tools)
    ) WITHOUT ROWID""",
    "CREATE TABLE samples (id INTEGER PRIMARY KEY, family TEXT, ratio REAL, weight REAL)",
    "CREATE INDEX samples_of_family ON samples (family)",
    """CREATE TABLE limits (
        upstream TEXT, model TEXT, tokens INTEGER, learned REAL, PRIMARY KEY (upstream, model)
    ) WITHOUT ROWID""",
    """CREATE TABLE usage (
        id INTEGER PRIMARY KEY, time REAL, model TEXT, upstream TEXT, conversation TEXT,
        input INTEGER, output INTEGER, cached INTEGER, reasoning INTEGER, cost REAL, process TEXT
    )""",
    "CREATE INDEX usage_by_time ON usage (time)",
)

ADDED_TABLES: Final = (
    """CREATE TABLE IF NOT EXISTS refusals (
        upstream TEXT, model TEXT, field TEXT, learned REAL, PRIMARY KEY (upstream, model, field)
    ) WITHOUT ROWID""",
    # What this machine served. Rows are only added, and deleted when they are old.
    """CREATE TABLE IF NOT EXISTS answers (
        id INTEGER PRIMARY KEY, time REAL, model TEXT, input INTEGER, output INTEGER, cached INTEGER,
        reasoning INTEGER, cost REAL, provider TEXT, wire TEXT, client TEXT, version TEXT, class TEXT, session TEXT,
        turn TEXT, kind TEXT, retry INTEGER, caller TEXT, request TEXT, status INTEGER, outcome TEXT, error TEXT,
        first_part REAL, duration REAL, bytes INTEGER, is_counted INTEGER, is_kept INTEGER
    )""",
    "CREATE INDEX IF NOT EXISTS answers_by_time ON answers (time)",
)
"""Tables that a file of the same version may lack: the first write adds them, so that no file is renamed for them."""

CAPACITIES: Final[Mapping[str, tuple[int, str]]] = {
    "counts": (100_000, "used"),
    "totals": (20_000, "used"),
    "usage": (200_000, "time"),
    "refusals": (10_000, "learned"),
    "answers": (200_000, "time"),
}
"""The most rows of each growing table, and the column that determines their age; together about 90 MB."""

MOST_PARAMETERS: Final = 900
"""The most parameters of a statement: SQLite before 3.32 allows 999 (`SQLITE_MAX_VARIABLE_NUMBER`)."""

READ_COUNTS: Final = (
    "SELECT digest, scope, version, counted, source, reported, is_alone, size, used FROM counts"
    " WHERE digest IN ({places})"
)
READ_TOTALS: Final = "SELECT digest, scope, tools, tools_tokens, reported, used FROM totals WHERE digest IN ({places})"
READ_SAMPLES: Final = "SELECT ratio, weight FROM samples WHERE family = ? ORDER BY id DESC LIMIT ?"
READ_LIMITS: Final = "SELECT model, tokens, learned FROM limits WHERE upstream = ?"
HAS_REFUSALS: Final = "SELECT 1 FROM sqlite_master WHERE type = 'table' AND name = 'refusals'"
READ_REFUSALS: Final = "SELECT model, field, learned FROM refusals WHERE upstream = ?"
HAS_ANSWERS: Final = "SELECT 1 FROM sqlite_master WHERE type = 'table' AND name = 'answers'"
READ_ANSWERS: Final = (
    "SELECT time, model, input, output, cached, reasoning, cost, client, session, kind, retry, is_kept FROM answers"
    " WHERE time >= ? ORDER BY time"
)
READ_USAGE: Final = (
    "SELECT time, model, upstream, conversation, input, output, cached, reasoning, cost FROM usage"
    " WHERE time >= ? ORDER BY time"
)
READ_USAGE_OF_OTHERS: Final = (
    "SELECT id, time, model, upstream, conversation, input, output, cached, reasoning, cost FROM usage"
    " WHERE id > ? AND time >= ? AND process IS NOT ? ORDER BY id"
)
READ_LAST_USAGE: Final = "SELECT max(id) FROM usage"

# Another process may have written a report that this process does not know.
KEEP_COUNT: Final = (
    "INSERT INTO counts (digest, scope, version, counted, source, reported, is_alone, size, used)"
    " VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)"
    " ON CONFLICT (digest, scope) DO UPDATE SET version = excluded.version, counted = excluded.counted,"
    " source = excluded.source, size = excluded.size,"
    " is_alone = CASE WHEN excluded.reported IS NULL THEN is_alone ELSE excluded.is_alone END,"
    " reported = coalesce(excluded.reported, reported), used = excluded.used"
)
KEEP_TOTAL: Final = (
    "INSERT OR REPLACE INTO totals (digest, scope, tools, tools_tokens, reported, used) VALUES (?, ?, ?, ?, ?, ?)"
)
KEEP_SAMPLE: Final = "INSERT INTO samples (family, ratio, weight) VALUES (?, ?, ?)"
TRIM_SAMPLES: Final = (
    "DELETE FROM samples WHERE family = ? AND id NOT IN"
    " (SELECT id FROM samples WHERE family = ? ORDER BY id DESC LIMIT ?)"
)
KEEP_LIMIT: Final = "INSERT OR REPLACE INTO limits (upstream, model, tokens, learned) VALUES (?, ?, ?, ?)"
FORGET_LIMIT: Final = "DELETE FROM limits WHERE upstream = ? AND model = ?"
KEEP_REFUSAL: Final = "INSERT OR REPLACE INTO refusals (upstream, model, field, learned) VALUES (?, ?, ?, ?)"
KEEP_USAGE: Final = (
    "INSERT INTO usage (time, model, upstream, conversation, input, output, cached, reasoning, cost, process)"
    " VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)"
)
KEEP_ANSWER: Final = (
    "INSERT INTO answers (time, model, input, output, cached, reasoning, cost, provider, wire, client, version, class,"
    " session, turn, kind, retry, caller, request, status, outcome, error, first_part, duration, bytes, is_counted,"
    " is_kept) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)"
)
FORGET_ANSWERS: Final = "DELETE FROM answers WHERE time < ?"
CLEAR_ANSWERS: Final = "DELETE FROM answers"
CLEAR_USAGE: Final = "DELETE FROM usage"
CLEAR_USAGE_BEYOND: Final = "DELETE FROM usage WHERE id > ?"

TOUCH_COUNT: Final = "UPDATE counts SET used = ? WHERE digest = ?"
TOUCH_TOTAL: Final = "UPDATE totals SET used = ? WHERE digest = ?"

# Also deletes the rows at the border that have the same age, all of one day.
TRIM: Final = "DELETE FROM {table} WHERE {age} <= (SELECT {age} FROM {table} ORDER BY {age} LIMIT 1 OFFSET ?)"
