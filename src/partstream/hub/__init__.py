"""Many people and many models behind one server: people, teams, keys, budgets that hold, usage that adds up."""
