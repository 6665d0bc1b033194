"""What reports teach: shares, sizes and corrections out of what upstreams reported."""
