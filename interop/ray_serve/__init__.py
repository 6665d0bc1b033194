"""Ray Serve as a host, tried for real and measured beside plain serving: the package behind `make interop TRY=ray`."""
