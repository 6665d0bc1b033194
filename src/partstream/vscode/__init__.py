"""Vscode."""
