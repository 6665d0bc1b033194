"""Serves models to many people, each with a key, budgets and a policy."""
