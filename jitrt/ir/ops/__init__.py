"""The table of operations: its form (`optable`), and its rows by subject."""
