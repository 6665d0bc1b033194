"""Real model servers with real models: built or installed from package registries, asked, and put on a page."""
