-- The tables of a hub, version by version: one that was released is never changed, a new one follows it.
-- The words in braces differ between SQLite and Postgres. `limit` is a word of SQL: the column is budget_limit.

-- Version 1: people, budgets and the ledger.
CREATE TABLE hub_directory (version BIGINT NOT NULL);
INSERT INTO hub_directory (version) VALUES (0);
CREATE TABLE hub_teams (
    name TEXT PRIMARY KEY, is_disabled BOOLEAN NOT NULL, settings TEXT NOT NULL
);
CREATE TABLE hub_people (
    name TEXT PRIMARY KEY, team TEXT REFERENCES hub_teams (name), is_admin BOOLEAN NOT NULL,
    is_disabled BOOLEAN NOT NULL, settings TEXT NOT NULL
);
CREATE TABLE hub_keys (
    id TEXT PRIMARY KEY, digest {bytes} NOT NULL, person TEXT NOT NULL REFERENCES hub_people (name),
    label TEXT NOT NULL, created_at {real} NOT NULL, expires_at {real}, revoked_at {real}, settings TEXT NOT NULL
);
CREATE TABLE hub_budgets (
    id TEXT PRIMARY KEY, owner_kind TEXT NOT NULL, owner TEXT NOT NULL, unit TEXT NOT NULL, period TEXT NOT NULL,
    budget_limit BIGINT NOT NULL CHECK (budget_limit >= 0), time_zone TEXT NOT NULL
);
CREATE TABLE hub_models (name TEXT PRIMARY KEY, settings TEXT NOT NULL);
CREATE TABLE hub_changes (
    id {counted}, version BIGINT NOT NULL, time {real} NOT NULL, by_whom TEXT NOT NULL, action TEXT NOT NULL,
    value_before TEXT, value_after TEXT
);
CREATE TABLE hub_windows (
    id {counted}, budget TEXT NOT NULL, starts_at {real} NOT NULL, ends_at {real},
    budget_limit BIGINT NOT NULL, spent BIGINT NOT NULL DEFAULT 0 CHECK (spent >= 0),
    leased BIGINT NOT NULL DEFAULT 0 CHECK (leased >= 0), overrun BIGINT NOT NULL DEFAULT 0 CHECK (overrun >= 0),
    recall BIGINT NOT NULL DEFAULT 0, UNIQUE (budget, starts_at)
);
CREATE TABLE hub_workers (
    name TEXT PRIMARY KEY, counter BIGINT NOT NULL, started_at {real} NOT NULL, seen_at {real} NOT NULL
);
CREATE TABLE hub_leases (
    window_id BIGINT NOT NULL REFERENCES hub_windows (id), worker TEXT NOT NULL,
    amount BIGINT NOT NULL CHECK (amount >= 0), PRIMARY KEY (window_id, worker)
);
CREATE INDEX hub_leases_by_worker ON hub_leases (worker);
CREATE TABLE hub_ledger (
    answer_id TEXT PRIMARY KEY, time {real} NOT NULL, settled_at {real} NOT NULL, key_id TEXT NOT NULL,
    person TEXT NOT NULL, team TEXT, model TEXT NOT NULL, provider TEXT NOT NULL, upstream_model TEXT NOT NULL,
    client TEXT NOT NULL, session TEXT, wire TEXT NOT NULL, input_tokens BIGINT, output_tokens BIGINT,
    cached_tokens BIGINT, cache_write_tokens BIGINT, reasoning_tokens BIGINT, nanodollars BIGINT,
    is_estimated BOOLEAN NOT NULL, status BIGINT NOT NULL, outcome TEXT NOT NULL, error TEXT, seconds {real},
    first_part_after {real}, worker TEXT NOT NULL, charges TEXT NOT NULL
);
CREATE INDEX hub_ledger_by_time ON hub_ledger (time);
CREATE INDEX hub_ledger_by_person ON hub_ledger (person, time);

-- Version 2: workers that are gone, codes to join with, kept requests and answers.
ALTER TABLE hub_directory ADD COLUMN identity TEXT NOT NULL DEFAULT '';
UPDATE hub_directory SET identity = {chance};
ALTER TABLE hub_workers ADD COLUMN is_gone BOOLEAN NOT NULL DEFAULT FALSE;
ALTER TABLE hub_leases ADD COLUMN forfeited BIGINT NOT NULL DEFAULT 0 CHECK (forfeited >= 0);
ALTER TABLE hub_leases ADD COLUMN answered BIGINT NOT NULL DEFAULT 0;
ALTER TABLE hub_windows ADD COLUMN recalled_at {real} NOT NULL DEFAULT 0;
ALTER TABLE hub_windows ADD COLUMN highest_limit BIGINT NOT NULL DEFAULT 0;
UPDATE hub_windows SET highest_limit = CASE
    WHEN spent + leased > budget_limit THEN spent + leased ELSE budget_limit END;
CREATE TABLE hub_join_codes (
    digest {bytes} PRIMARY KEY, person TEXT NOT NULL REFERENCES hub_people (name) ON DELETE CASCADE,
    expires_at {real} NOT NULL, label TEXT NOT NULL, key_expires_at {real},
    key_models TEXT
);
CREATE TABLE hub_contents (
    answer_id TEXT PRIMARY KEY, time {real} NOT NULL, person TEXT NOT NULL, request TEXT NOT NULL,
    response TEXT NOT NULL
);
CREATE INDEX hub_contents_by_time ON hub_contents (time);

-- Version 3: the day of an answer, for figures of a month. Nothing reads hub_learned and hub_learned_batch any more.
ALTER TABLE hub_ledger ADD COLUMN day BIGINT NOT NULL DEFAULT 0;
UPDATE hub_ledger SET day = {day_of_time};
CREATE INDEX hub_ledger_by_day ON hub_ledger (day, person);
CREATE TABLE hub_learned_batch (batch BIGINT NOT NULL);
INSERT INTO hub_learned_batch (batch) VALUES (0);
CREATE TABLE hub_learned (
    key TEXT PRIMARY KEY, kind TEXT NOT NULL, owner TEXT NOT NULL, batch BIGINT NOT NULL, worker TEXT NOT NULL,
    value TEXT NOT NULL
);
CREATE INDEX hub_learned_by_batch ON hub_learned (batch);
CREATE INDEX hub_learned_by_owner ON hub_learned (kind, owner, batch);

-- Version 4: reservations of single answers, in place of what workers had leased.
-- What workers held and have not settled is charged in full: it is unknown what their answers took.
INSERT INTO hub_ledger (
    answer_id, time, settled_at, key_id, person, model, provider, upstream_model, client, wire, is_estimated,
    status, outcome, worker, charges, day
)
SELECT 'lease-' || worker || '-' || window_id, {now}, {now}, '', '', '', '', '', '', '', TRUE, 200, 'lost', worker,
    '{{"' || window_id || '":' || (amount + forfeited) || '}}', CAST({now} / 86400 AS BIGINT)
FROM hub_leases WHERE amount + forfeited > 0;
UPDATE hub_windows SET spent = spent + leased + overrun, leased = 0;
DROP TABLE hub_leases;
ALTER TABLE hub_windows RENAME COLUMN leased TO reserved;
ALTER TABLE hub_windows DROP COLUMN overrun;
ALTER TABLE hub_windows DROP COLUMN recall;
ALTER TABLE hub_windows DROP COLUMN recalled_at;
DELETE FROM hub_workers;
ALTER TABLE hub_workers DROP COLUMN is_gone;
CREATE TABLE hub_reservations (
    answer_id TEXT PRIMARY KEY, worker TEXT NOT NULL, amounts TEXT NOT NULL, money BIGINT, lost TEXT NOT NULL
);
CREATE INDEX hub_reservations_by_worker ON hub_reservations (worker);
