"""What makes generated files, packages, releases and the site of the docs; each file here is a script."""
