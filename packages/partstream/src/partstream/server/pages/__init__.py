"""Pages of HTML that a server or a webview shows, with their styles and scripts."""
