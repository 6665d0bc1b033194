"""Official packages at pinned versions, each of which asks `partstream serve` as programs do, in its own tool loop."""
