"""Running dataflow networks: the machine of `inspector.dataflow` in the one drive loop, with its journal."""
