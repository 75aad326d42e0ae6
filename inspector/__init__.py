"""runinspect: look at runs of agents and dataflow networks, and resume them."""

__version__ = "0.1.0"
