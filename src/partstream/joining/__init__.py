"""The side of a person who joins a hub: links and addresses, the exchange of a join code, what is left of a budget.

Nothing here knows a command or an editor; `partstream add hub` and the extension both build on it.
"""
