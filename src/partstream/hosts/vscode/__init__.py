"""The sidecar: any provider, served to the VS Code extension as JSON-RPC over standard input and output.

Started as `python -m partstream.hosts.vscode`. This module imports nothing: the process has 300 ms to be ready.
"""
