"""What the vendors that the replay upstream plays refuse, sign and keep in their caches."""
