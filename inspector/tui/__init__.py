"""The screen: Textual, and nothing of ours below it knows about it."""
