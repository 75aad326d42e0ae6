"""The network that the runner executes, its firing rules, its values and its state. Pure: no IO, no await."""
