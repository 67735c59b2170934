"""The release file: its schema, read and written."""
