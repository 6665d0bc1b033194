"""One model of a hub over several upstreams: shares, conversations that stay, circuits, who answers in whose place."""
