"""Pages of HTML that need no other file, with their styles and scripts."""
