"""What makes the site of the docs: `make docs`."""
