"""The row of a setting: its name, values, default, secrecy and places.

Rows stand beside the code that uses them, also in the folder of a protocol; `partstream.configuration.table` gathers
them. Everything that is said of settings anywhere is made from the rows.
"""
