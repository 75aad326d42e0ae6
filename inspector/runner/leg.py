"""One stretch of an agent run in one process: the run, what it is driven with, and how it is told things.

`Setup` is the environment, the agent's side; the run is the state. What happens to both is in `modelstep`,
`toolstep` and `ending`.
"""

from collections.abc import Callable, Mapping
from contextlib import AbstractContextManager, nullcontext
from typing import Any

import msgspec

from inspector.model.records import Operation, doubt
from inspector.model.run import RunError
from inspector.model.values import Value, to_json
from inspector.runner import options, view
from inspector.runner.ambiguity import Ambiguity
from inspector.runner.data import Failed, Finished, RunData
from inspector.runner.drive import Control
from inspector.runner.effects import AnyEvent, Effect, Scratch, Steer
from inspector.runner.hookchain import written
from inspector.runner.machine import AgentRun
from inspector.runner.memory import Memory
from inspector.runner.messages import Message, ModelTurn
from inspector.runner.models import Model, ModelRequest
from inspector.runner.recorder import Recorder
from inspector.runner.registry import Registry, Snapshot
from inspector.runner.tools import Came


class Retries(msgspec.Struct, frozen=True, kw_only=True):
    """How often a model that did not answer is asked again: `tries` in all, after `first` seconds, then
    twice as long each time up to `cap`. What the provider says about when counts more. Raises UsageError."""

    tries: int = 4
    first: float = 0.5
    cap: float = 20.0

    def __post_init__(self) -> None:
        options.option("tries", self.tries, options.Number)
        options.option("first", self.first, options.Seconds)
        options.option("cap", self.cap, options.Seconds)

    def delay(self, attempt: int, after: float | None) -> float:
        """Seconds to wait before the attempt behind number `attempt`."""
        wanted: float = self.first * 2 ** (attempt - 1)
        return min(max(wanted, after or 0.0), self.cap)


class Telemetry:
    """Spans of a run; this one makes none."""

    def span(self, kind: str, name: str, **about: Any) -> AbstractContextManager[Any]:
        """A span of a kind: `run`, `model`, `tool`; of networks `network`, `firing`."""
        return nullcontext()

    def ended(self, span: Any, status: str, error: RunError | None) -> None:
        """What a run came to, or how far."""

    def answered(self, span: Any, answer: ModelTurn) -> None:
        """What a model call came to."""

    def came(self, span: Any, came: Came) -> None:
        """What a tool call came to."""

    def fired(self, span: Any, error: RunError | None) -> None:
        """What a firing came to."""


class Setup(msgspec.Struct, frozen=True, kw_only=True):
    """What a run is driven with: the agent's side."""

    name: str
    model: Any
    registry: Registry
    hooks: tuple[object, ...] = ()
    instructions: str | None = None
    memory: Memory | None = None
    temperature: float | None = None
    max_tokens: int | None = None
    params: Mapping[str, Value] = {}
    concurrency: int = 1
    retries: Retries = Retries()
    output_mode: str = "auto"
    telemetry: Telemetry = msgspec.field(default_factory=Telemetry)
    ambiguity: Ambiguity = Ambiguity()
    metadata: Mapping[str, Value] = {}


Emit = Callable[[Any], None]


class Leg:
    """A run being driven. `model` None: none is asked, as it is over. `emit` takes stream items; None: nobody listens,
    and models are not streamed."""

    def __init__(
        self,
        setup: Setup,
        run: AgentRun,
        recorder: Recorder,
        model: Model | None,
        *,
        run_id: str,
        emit: Emit | None = None,
        control: Control | None = None,
        observe: Callable[[dict[str, Any]], None] | None = None,
    ) -> None:
        self.setup, self.run, self.recorder, self.model, self.run_id = setup, run, recorder, model, run_id
        self.emit, self.observe = emit, observe
        self.control = control or Control()
        self.snapshot: Snapshot | None = None
        """The tools of the turn under way; None until this process has prepared one."""
        self.batch_started: str | None = None
        self._scratch = to_json(run.data.scratch) if run.data.scratch else ""
        self.undelivered: list[str] = []
        self.durable = False
        """Whether the run has a journal in a store, which goes on when the run does."""
        self.in_store = False
        """The same of a run that is inside of another one, too."""
        self.open: dict[str, Operation] = {}
        """What may have happened in an earlier process and stands in this journal, by call; the model's as ""."""
        self._chain: list[tuple[Message, str]] = []

    @property
    def data(self) -> RunData:
        """The run as data."""
        return self.run.data

    @property
    def streaming(self) -> bool:
        """Whether models are streamed."""
        return self.emit is not None

    def next(self) -> Effect:
        """What the run wants next, with what was said to it from outside before."""
        return self.control.ask(self._steered, self.run.next)

    def checkpoint(self) -> None:
        """Write down the whole state."""
        self.recorder.checkpoint("request")

    def drop(self, effect: Effect) -> None:
        """Nothing: what an agent asks for, it asks for again."""

    def _steered(self, message: str) -> None:
        self.tell(Steer(Message.user(message)))

    def close(self, reason: str) -> None:
        """Nothing more is taken from outside; what came in and was not taken waits in the run, unless that
        is over."""
        for message in self.control.close(reason):
            if isinstance(self.data.phase, Finished | Failed):
                self.undelivered.append(message)
            else:
                self._steered(message)

    def tell(self, event: AnyEvent) -> None:
        """Tell the machine something that is no operation, and write it down first."""
        self.keep_scratch()
        self.recorder.move(event)
        self.run.send(event)

    def doubt(self, operation: Operation) -> None:
        """A call may have happened: the states of the run say why."""
        self.recorder.shown.doubts[operation.internal_call_id or ""] = doubt(operation)

    def resolved(self, call: str, event: AnyEvent, status: str = "failed", **about: Any) -> None:
        """Tell the machine what becomes of a call that may have happened ("": the model's); its operation ends
        with it, where it stands in this journal."""
        operation = self.open.pop(call, None)
        self.recorder.shown.doubts.pop(call, None)
        if operation is None:
            self.tell(event)
            return
        if status == "failed" and "error" not in about:
            words = "what came of it is not known; it is made again"
            about["error"] = RunError(type="unknown_outcome", message=words)
        self.keep_scratch()
        self.recorder.operation(operation, status, durable=True, event=event, **about)
        self.run.send(event)

    def keep_scratch(self) -> None:
        """Write down what hooks and tools put into the scratchpad. It goes before what the machine is told
        next, so that a hook that is not heard again has left its mark. Raises Stopped."""
        if self.recorder.journal is None or not (self.data.scratch or self._scratch):
            return
        text = written(self.data.scratch)
        if text != self._scratch:
            self._scratch = text
            self.recorder.move(Scratch(self.data.scratch))

    def send(self, item: object) -> None:
        """A stream item, if anybody listens."""
        if self.emit is not None:
            self.emit(item)

    def note(self, event: str, **fields: Any) -> None:
        """Something that happened, for whoever follows the run from outside."""
        if self.observe is not None:
            self.observe({"event": event, **fields})

    def hearing(self, event: str) -> bool:
        """Whether any hook hears an event."""
        return any(hasattr(hook, f"on_{event}") for hook in self.setup.hooks)

    def heard(self, turn: int | None = None) -> dict[str, Any]:
        """What every hook event says of the run."""
        return {
            "run_id": self.data.id,
            "agent": self.setup.name,
            "turn": self.data.turn if turn is None else turn,
            "is_streaming": self.streaming,
            "scratch": self.data.scratch,
        }

    def request_digest(self, request: ModelRequest) -> str:
        """The digest of a request. Its messages are a chain of digests, so that each message is looked at
        once, however long the conversation becomes."""
        chain, known = "", 0
        for known, (message, link) in enumerate(self._chain, 1):
            if known > len(request.messages) or request.messages[known - 1] is not message:
                del self._chain[known - 1 :]
                break
            chain = link
        for message in request.messages[len(self._chain) :]:
            chain = view.text_digest(f'["{chain}",{to_json(message)}]')
            self._chain.append((message, chain))
        return view.digest(
            {
                "messages": chain,
                "tools": [tool.digest or tool.name for tool in request.tools],
                "instructions": request.instructions,
                "choice": request.choice if not isinstance(request.choice, tuple) else list(request.choice),
                "settings": [request.temperature, request.max_tokens, dict(request.params)],
            }
        )

    async def tools(self) -> Snapshot:
        """What can be dispatched: this turn's snapshot, else what an earlier process offered, as far as it
        is still there. Never more than was offered."""
        if self.snapshot is None:
            whole = await self.setup.registry.everything()
            offered = self.data.advertised.tools if self.data.advertised is not None else None
            if offered is not None:
                names = {tool.name for tool in offered}
                whole = Snapshot({name: tool for name, tool in whole.tools.items() if name in names})
            self.snapshot = whole
        return self.snapshot


def run_error(error: BaseException, kind: str | None = None) -> RunError:
    """An error as a trace records it."""
    return RunError(type=kind or getattr(error, "kind", None) or type(error).__name__, message=str(error))
