"""The database of a hub, SQLite or Postgres: one interface, one set of statements, the same tests."""
