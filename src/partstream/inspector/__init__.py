"""The inspector: what a recording holds as a view, the numbers of it, and what shows it; opens no socket by itself."""
