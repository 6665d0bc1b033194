-- The statements of a hub, each below its name, in the words that SQLite and Postgres share. `?` is a parameter;
-- {places} and {rows} are as many of them as there are values, {clock} is the time of the database.

-- ---- Windows ----

-- windows
SELECT id, budget, starts_at, ends_at, budget_limit, spent, reserved, highest_limit, {clock} FROM hub_windows
    WHERE id IN ({places}) ORDER BY id;
-- windows open now
SELECT id, budget, starts_at, ends_at, budget_limit, spent, reserved, highest_limit FROM hub_windows
    WHERE budget IN ({places}) AND starts_at <= ? AND (ends_at IS NULL OR ends_at > ?) ORDER BY id;
-- limit of a budget
SELECT budget_limit FROM hub_budgets WHERE id = ?;
-- open a window
INSERT INTO hub_windows (budget, starts_at, ends_at, budget_limit, highest_limit) VALUES (?, ?, ?, ?, ?)
    ON CONFLICT (budget, starts_at) DO NOTHING;
-- add to windows
WITH more (id, spent, reserved) AS (VALUES {rows})
    UPDATE hub_windows SET spent = hub_windows.spent + more.spent, reserved = hub_windows.reserved + more.reserved
    FROM more WHERE hub_windows.id = more.id;

-- ---- The directory ----

-- version
SELECT version FROM hub_directory;
-- next version
UPDATE hub_directory SET version = ?;
-- record a change
INSERT INTO hub_changes (version, time, by_whom, action, value_before, value_after) VALUES (?, ?, ?, ?, ?, ?);
-- records
SELECT version, time, by_whom, action, value_before, value_after FROM hub_changes
    ORDER BY id DESC LIMIT ?;
-- open windows of a budget
SELECT id FROM hub_windows WHERE budget = ? AND (ends_at IS NULL OR ends_at > ?);
-- new limit of a window
UPDATE hub_windows SET budget_limit = ?, highest_limit = ? WHERE id = ?;

-- ---- Reservations and the ledger ----

-- release
DELETE FROM hub_reservations WHERE answer_id IN ({places}) RETURNING answer_id, amounts;
-- add where it has room
UPDATE hub_windows SET reserved = reserved + ? WHERE id = ? AND spent + reserved + ? <= budget_limit
    AND starts_at <= ? AND (ends_at IS NULL OR ends_at > ?);
-- enter what was added
INSERT INTO hub_reservations (answer_id, worker, amounts, money, lost) VALUES (?, ?, ?, ?, ?);
-- reserve whole
WITH more (number, amount) AS (VALUES {rows}), held AS (
    SELECT id, amount, spent + reserved + amount <= budget_limit AND starts_at <= {clock}
        AND (ends_at IS NULL OR ends_at > {clock}) AS has_room
    FROM hub_windows JOIN more ON id = number ORDER BY id FOR UPDATE OF hub_windows SKIP LOCKED
), room AS (SELECT count(*) FILTER (WHERE has_room) = {count} AS is_there FROM held), added AS (
    UPDATE hub_windows SET reserved = hub_windows.reserved + held.amount
    FROM held, room WHERE hub_windows.id = held.id AND is_there
) INSERT INTO hub_reservations (answer_id, worker, amounts, money, lost)
    SELECT ?, ?, ?, CAST(? AS BIGINT), ? FROM room WHERE is_there RETURNING answer_id;
-- reserve whole of one
WITH more (number, amount) AS (VALUES {rows}), added AS (
    UPDATE hub_windows SET reserved = reserved + amount FROM more WHERE id = (
        SELECT id FROM hub_windows WHERE id = number AND spent + reserved + amount <= budget_limit
            AND starts_at <= {clock} AND (ends_at IS NULL OR ends_at > {clock}) FOR UPDATE SKIP LOCKED) RETURNING 1
) INSERT INTO hub_reservations (answer_id, worker, amounts, money, lost)
    SELECT ?, ?, ?, CAST(? AS BIGINT), ? FROM added RETURNING answer_id;
-- running
SELECT answer_id, amounts FROM hub_reservations WHERE answer_id IN ({places}) ORDER BY answer_id;
-- extend
UPDATE hub_reservations SET amounts = ? WHERE answer_id = ?;
-- lost
SELECT answer_id, charges FROM hub_ledger WHERE answer_id IN ({places}) AND outcome = 'lost' ORDER BY answer_id;
-- remove from the ledger
DELETE FROM hub_ledger WHERE answer_id IN ({places});
-- reservations of a worker
SELECT answer_id, amounts, money, lost FROM hub_reservations WHERE worker = ? ORDER BY answer_id;
-- remove reservations
DELETE FROM hub_reservations WHERE answer_id IN ({places});

-- ---- Joining ----

-- person
SELECT is_disabled FROM hub_people WHERE name = ?;
-- add a join code
INSERT INTO hub_join_codes (digest, person, expires_at, label, key_expires_at, key_models) VALUES (?, ?, ?, ?, ?, ?);
-- join codes
SELECT digest FROM hub_join_codes WHERE expires_at > ?;
-- forget old join codes
DELETE FROM hub_join_codes WHERE expires_at <= ?;
-- take a join code
DELETE FROM hub_join_codes WHERE digest = ? AND expires_at > ?
    RETURNING person, label, key_expires_at, key_models;

-- ---- Invariants ----

-- sums of windows
SELECT id, budget, spent, reserved FROM hub_windows ORDER BY id;
-- all reservations
SELECT amounts, count(*) FROM hub_reservations GROUP BY amounts;
-- all charges
SELECT charges, count(*) FROM hub_ledger GROUP BY charges;

-- ---- Workers ----

-- seen
SELECT seen_at FROM hub_workers WHERE name = ?;
-- forget a worker
DELETE FROM hub_workers WHERE name = ?;
-- beat
INSERT INTO hub_workers (name, counter, started_at, seen_at) VALUES (?, 1, ?, ?)
    ON CONFLICT (name) DO UPDATE SET counter = hub_workers.counter + 1, seen_at = excluded.seen_at;
-- alive
SELECT count(*) FROM hub_workers WHERE seen_at > ?;
-- silent
SELECT name, seen_at FROM hub_workers WHERE seen_at NOT BETWEEN ? AND ? AND EXISTS
    (SELECT 1 FROM hub_reservations WHERE hub_reservations.worker = hub_workers.name) ORDER BY name;
-- forget silent workers
DELETE FROM hub_workers WHERE seen_at < ? AND NOT EXISTS
    (SELECT 1 FROM hub_reservations WHERE hub_reservations.worker = hub_workers.name);

-- ---- Kept requests and answers ----

-- content
SELECT answer_id, time, person, request, response FROM hub_contents WHERE answer_id = ?;
-- forget contents of teams
DELETE FROM hub_contents WHERE time < ? AND person IN (SELECT name FROM hub_people WHERE team IN ({places}))
    RETURNING answer_id;
-- forget contents of others
DELETE FROM hub_contents WHERE time < ? AND person NOT IN (SELECT name FROM hub_people WHERE team IS NOT NULL)
    RETURNING answer_id;

-- ---- The page, and checks ----

-- windows of the page
SELECT id, budget, starts_at, ends_at, budget_limit, spent, reserved, highest_limit FROM hub_windows
    WHERE starts_at <= ? AND (ends_at IS NULL OR ends_at > ?);
-- workers of the page
SELECT hub_workers.name, started_at, seen_at, COUNT(hub_reservations.answer_id) FROM hub_workers
    LEFT JOIN hub_reservations ON hub_reservations.worker = hub_workers.name
    GROUP BY hub_workers.name, started_at, seen_at ORDER BY started_at;
-- facts of the page
SELECT (SELECT version FROM hub_schema), (SELECT MIN(time) FROM hub_ledger);
-- overrun windows
SELECT budget, spent - highest_limit FROM hub_windows WHERE spent > highest_limit ORDER BY id;
