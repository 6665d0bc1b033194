"""Two versions of the package read the same bytes, recordings and damaged streams, and what differs is listed."""
