"""Chat Completions: OpenAI's `POST /chat/completions`, as some thirty servers speak it."""
