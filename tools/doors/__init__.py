"""What the pages tell newcomers to type, typed by one: `make test PART=newcomer`."""
