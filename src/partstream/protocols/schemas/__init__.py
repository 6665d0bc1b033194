"""JSON Schema in the forms that servers of several wires take."""
