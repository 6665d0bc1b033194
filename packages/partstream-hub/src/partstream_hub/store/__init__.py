"""The hub's database, on SQLite or Postgres."""
