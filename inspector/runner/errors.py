"""What can go wrong in a run.

RunnerError
├── ProtocolViolation   a verb that the machine's phase does not allow; nothing changed
├── RequestError        a request that cannot be made: an unknown tool, a wrong choice; nothing changed
├── RunClosed           a message to a run that is over
├── RunFailed           the run is over: `kind` and `message` say why
├── ResumeRefused       a resume that will not happen: `code` is a stable word, `subject` what it is about
└── ModelError          a model did not answer; `kind` and `retry` say whether another try may help
"""

from inspector.errors import InspectorError, RefusedError


class RunnerError(InspectorError):
    """The base."""


class ProtocolViolation(RunnerError):
    """The machine was driven out of order. Its state is as it was."""

    def __init__(self, verb: str, phase: str, detail: str = "") -> None:
        super().__init__(
            "agent run", f"driver protocol violation: {verb} in the phase {phase}" + (detail and f": {detail}")
        )


class RequestError(RunnerError):
    """What was asked for cannot be done. The machine's state is as it was."""


class RunClosed(RunnerError):
    """The run is over and takes no more messages."""


class RunFailed(RunnerError):
    """The run failed, for good unless its budget is raised."""

    exit_code = 1

    def __init__(self, place: str, kind: str, message: str) -> None:
        self.kind, self.message = kind, message
        super().__init__(place, f"{kind}: {message}")


class ResumeRefused(RefusedError):
    """A resume that is refused, or needs an `--accept`."""


class ModelError(RunnerError):
    """A model did not answer. `kind`: rate_limited, timeout, network, provider, invalid_request,
    permission_denied, truncated or other; `retry`: whether the same request may succeed later, `after` how
    many seconds from now, if the provider said."""

    def __init__(self, model: str, kind: str, message: str, *, retry: bool = False, after: float | None = None) -> None:
        self.kind, self.retry, self.after, self.message = kind, retry, after, message
        super().__init__(model, f"{kind}: {message}")
