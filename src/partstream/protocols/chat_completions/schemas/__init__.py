"""The subsets of JSON Schema in which servers take the parameters of tools: one module for each, as a pure function."""
