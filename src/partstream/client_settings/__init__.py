"""What a client needs to ask a server: its settings as values, and its own files, changed as text and back again.

Knows no socket and no screen: `partstream connect` asks the server for its models and says what was done.
"""
