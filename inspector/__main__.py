"""`python -m inspector` is the command `runinspect`."""

from inspector.cli import main

if __name__ == "__main__":
    main()
