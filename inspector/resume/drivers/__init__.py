"""One module or package per driver, each with one entry `DRIVER`; see `inspector.resume.jobs`."""

import pkgutil


def names() -> list[str]:
    """The names of all drivers; none is imported for it."""
    return [module.name.replace("_", "-") for module in pkgutil.iter_modules(__path__) if module.name[0] != "_"]
