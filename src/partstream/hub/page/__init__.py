"""The page of the hub: budgets, usage, workers and changes, as HTML that needs no other file."""
