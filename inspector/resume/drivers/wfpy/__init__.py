"""Runs of wfpy, through wfpy itself: from the checkpoint that a failed run leaves, or at any firing of its journal.

wfpy is imported when the first of its runs is checked or resumed, and the folder of a run is only read.
"""

from inspector.model.run import Definition, Run, SourceInfo
from inspector.resume.apps import App
from inspector.resume.jobs import Driver, Emit, Ended, Job
from inspector.resume.plan import Plan


def drives(source: SourceInfo, run: Run) -> bool:
    """Whether a run is one of wfpy's."""
    return source.format == "wfpy"


def plan(job: Job) -> Plan:
    """The plan of resuming a run."""
    from inspector.resume.drivers.wfpy import planning

    return planning.plan(job)


def resume(job: Job, plan: Plan, emit: Emit) -> Ended:
    """Carry a plan out."""
    from inspector.resume.drivers.wfpy import running

    return running.resume(job, plan, emit)


def today(app: App) -> Definition:
    """What a workflow is now."""
    from inspector.resume.drivers.wfpy import graph
    from inspector.resume.drivers.wfpy.library import Library

    library = Library()
    found = library.plan(app)
    return graph.definition(found, library.digest(found))


DRIVER = Driver(
    name="wfpy",
    drives=drives,
    plan=plan,
    resume=resume,
    takes=lambda value: hasattr(value, "_wfpy_workflow"),
    today=today,
    edits=False,
)
