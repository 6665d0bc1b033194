"""Pages of HTML that need nothing else: one document each, for a browser, for a file and for a webview of VS Code."""
