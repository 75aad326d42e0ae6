"""One module per format, each with one entry `READER`; see `inspector.formats.reader`."""
