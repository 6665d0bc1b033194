"""`python -m partstream` is the command `partstream`."""

from partstream.cli import main

main()
