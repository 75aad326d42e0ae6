"""One driver a module (or package), with one entry: `DRIVER`. Dropping the module in makes it known."""
