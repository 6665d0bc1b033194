"""What a setting is: one row, from which the schema, the documents, the manifest and the extension's types are made."""
