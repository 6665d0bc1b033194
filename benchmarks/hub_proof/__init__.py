"""The proof of the hub's budgets on real processes and a real Postgres: `make bench WHAT=proof`."""
