"""Agent frameworks at the oldest version that Partstream supports and at the newest, each in an environment of its own;
runs the tests of their adapters there."""
