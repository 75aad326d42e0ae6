"""wfpy itself, imported when the first of its runs is to be resumed, and never before.

What is used of it that is no part of its public face is named here, and nowhere else: the plan that it builds
of a workflow, the digest of a plan, its encoding of values, and the step of an actor.
"""

import contextlib
import importlib
import sys
from collections.abc import Callable, Iterator
from typing import Any

from inspector.errors import RefusedError, UsageError
from inspector.resume.apps import App


class Library:
    """The parts of wfpy. Raises RefusedError where it is not installed, or is another version than can be driven."""

    def __init__(self) -> None:
        try:
            self.runner: Any = importlib.import_module("wfpy.runner")
            self._checkpoints: Any = importlib.import_module("wfpy._checkpoint_runtime")
            self._journals: Any = importlib.import_module("wfpy._journal_runtime")
        except ImportError as error:
            detail = f"wfpy 1.1 is needed, and cannot be imported ({error}): pip install 'runinspect[wfpy]'"
            raise RefusedError("wfpy", "not_resumable", detail) from error
        parts = (
            (self.runner, "_step_actor"),
            (self.runner, "_is_actor_maybe_ready"),
            (self.runner, "_build_workflow_graph"),
            (self._journals, "actor_path"),
        )
        if missing := [name for module, name in parts if not hasattr(module, name)]:
            detail = f"this wfpy has no {', '.join(missing)}: version 1.1 can be driven"
            raise RefusedError("wfpy", "version_unsupported", detail)

    def plan(self, app: App) -> Any:
        """The plan of a workflow as the code is now. Raises UsageError when the code fails at building it."""
        try:
            with quiet():
                workflow = app.value._wfpy_workflow
                return self.runner.build_plan(self.runner._build_workflow_graph(workflow), workflow)
        except Exception as error:
            raise UsageError(app.target, f"cannot be built: {type(error).__name__}: {error}") from error

    def digest(self, plan: Any) -> str:
        """wfpy's digest of a plan's graph."""
        return str(self._checkpoints.graph_fingerprint(plan))

    def restore(self, plan: Any, saved: Any) -> None:
        """Put a checkpoint's plan into one just built. Raises whatever the code of the values raises."""
        self._checkpoints.restore(plan, saved)

    def decode(self, value: Any) -> Any:
        """A value from a journal or checkpoint. Imports and runs what the value names."""
        return self._checkpoints.decode(value)

    def encode(self, value: Any) -> Any:
        """A value as wfpy saves it. Raises ValueError for one that cannot be saved."""
        return self._checkpoints.encode(value, "output")

    def path(self, plan: Any, actor: Any) -> str:
        """The path of an actor, as the journal has it."""
        return str(self._journals.actor_path(plan, actor))

    def maybe_ready(self, actor: Any) -> bool:
        """Whether an actor may be able to fire."""
        return bool(self.runner._is_actor_maybe_ready(actor))

    @contextlib.contextmanager
    def stepping(self, around: Callable[[Callable[..., bool]], Callable[..., bool]]) -> Iterator[None]:
        """Meanwhile every step of an actor goes through what `around` makes of wfpy's own. wfpy has no other place
        to stop a run from outside, nor to hear of its firings."""
        original = self.runner._step_actor
        self.runner._step_actor = around(original)
        try:
            yield
        finally:
            self.runner._step_actor = original


@contextlib.contextmanager
def quiet() -> Iterator[None]:
    """Meanwhile what wfpy and its actors print goes to stderr: stdout holds our lines, or the screen."""
    with contextlib.redirect_stdout(sys.stderr):
        yield
