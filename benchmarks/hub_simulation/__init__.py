"""A hub in virtual time: the code that decides about budgets and routes, with a model of everything around it."""
