"""What looking at a large run costs, as ratios to something simple measured beside it.

    python -m tests.benchmarks [--steps N] [NAME ...]      NAME: index search memory commands document screen

Times are the best of several, since what disturbs a measurement only ever makes it longer; still, a machine
that is busy with other things gives other numbers. Nothing here is part of the test suite: what must hold
whatever the machine does is counted there (bytes read, lines decoded).
"""
