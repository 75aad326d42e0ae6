"""What each pane of the state half shows: a function from a snapshot and a width to lines. No Textual."""
