"""Runs as JSON and as plain text, for `show`, `runs` and scripts. Knows nothing of Textual."""
