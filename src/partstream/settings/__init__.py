"""What a setting is: one row that says its name, its values, its default, what of it is secret and who may hold it.

Rows stand beside the code that uses them, also in the folder of a protocol; `partstream.configuration.table` gathers
them. Everything that is said of settings anywhere is made from the rows.
"""
