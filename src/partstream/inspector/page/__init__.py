"""The page of the inspector: its assembly, what it says without a script, its script in parts and its style."""

from partstream.inspector.page.assembly import page_html

__all__ = ["page_html"]
