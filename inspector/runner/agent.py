"""The agent as its users write it, and the two ways to drive it: a prompt, or a run that goes on."""

import contextlib
import os
from collections.abc import Iterable, Mapping
from types import TracebackType
from typing import TYPE_CHECKING, Any, Literal, Self, overload

import msgspec

from inspector.errors import UsageError
from inspector.journal import RunStore
from inspector.model.run import Definition
from inspector.model.values import Value
from inspector.runner import hooks as hooking
from inspector.runner import options, view
from inspector.runner.ambiguity import Ambiguity
from inspector.runner.data import Output, ToolChoice
from inspector.runner.frozen import frozen, pointers
from inspector.runner.leg import Retries, Setup, Telemetry
from inspector.runner.machine import AgentRun
from inspector.runner.memory import Memory
from inspector.runner.messages import AnyPart, Message, Part
from inspector.runner.models import Model, as_model
from inspector.runner.registry import Registry
from inspector.runner.result import RunResult

if TYPE_CHECKING:
    from inspector.runner.driving import Prompt, Resuming
    from inspector.runner.durable import DurableResuming
    from inspector.runner.restore import Restored


OutputMode = Literal["auto", "tool", "native"]


class Limits(msgspec.Struct, frozen=True):
    """The limits that a new run begins with."""

    max_turns: int
    max_invalid_retries: int
    token_budget: int | None
    tool_choice: ToolChoice


class Agent:
    """A model with instructions, tools and hooks. It holds no state of any run.

    `model` is a model object or a name such as `openai:gpt-5-mini`; `tools` are functions, `@tool`s and
    MCP servers; `output` is a type, or a JSON schema, that the answer must be of. `ambiguity` are the rules
    for what may have happened; `credentials` are JSON pointers into the settings of its definition
    (`/params/api_key`) that are masked wherever it is written down. Raises UsageError for an option that cannot be so.
    """

    def __init__(
        self,
        name: str,
        model: object,
        *,
        instructions: str | None = None,
        tools: Iterable[object] = (),
        hooks: Iterable[object] = (),
        memory: Memory | None = None,
        output: Any = None,
        output_mode: OutputMode = "auto",
        max_turns: int = 10,
        max_invalid_retries: int = 1,
        max_output_retries: int = 1,
        token_budget: int | None = None,
        tool_choice: Any = None,
        temperature: float | None = None,
        max_tokens: int | None = None,
        params: Mapping[str, Value] | None = None,
        concurrency: int = 1,
        retries: Retries | None = None,
        telemetry: Telemetry | None = None,
        ambiguity: Ambiguity | None = None,
        credentials: Iterable[str] = (),
    ) -> None:
        self.name = options.option("name", name, options.Name)
        self.limits = Limits(
            options.option("max_turns", max_turns, options.Number),
            options.option("max_invalid_retries", max_invalid_retries, options.Count),
            options.option("token_budget", token_budget, options.Number | None),
            options.tool_choice(tool_choice),
        )
        self.output_type = output if not isinstance(output, dict) else None
        again = options.option("max_output_retries", max_output_retries, options.Count)
        self._output = Output(_schema(output), None, 0, again)
        self._model: Model | None = as_model(model) if not isinstance(model, str) else None
        self._entered = False
        self.setup = Setup(
            name=name,
            model=model,
            registry=Registry(options.items("tools", tools)),
            hooks=tuple(hooking.checked(options.items("hooks", hooks))),
            instructions=options.option("instructions", instructions, str | None),
            memory=None if memory is None else options.instance("memory", memory, Memory),
            temperature=options.option("temperature", temperature, float | None),
            max_tokens=options.option("max_tokens", max_tokens, options.Number | None),
            params=dict(options.option("params", params or {}, dict[str, Any])),
            concurrency=max(options.option("concurrency", concurrency, options.Count), 1),
            retries=options.instance("retries", Retries() if retries is None else retries, Retries),
            output_mode=options.one_of("output_mode", output_mode, OutputMode),
            telemetry=options.instance("telemetry", Telemetry() if telemetry is None else telemetry, Telemetry),
            ambiguity=options.instance("ambiguity", Ambiguity() if ambiguity is None else ambiguity, Ambiguity),
        )
        self._credentials = pointers(credentials)

    @property
    def model(self) -> Model:
        """The model; a name is looked up when it is first needed."""
        if self._model is None:
            self._model = as_model(self.setup.model)
        return self._model

    def prompt(self, text: str | Message | AnyPart) -> "Prompt":
        """A new run, to be started with `.run()`, `.run_sync()` or `.stream()`. Raises UsageError for what is none of
        these."""
        from inspector.runner.driving import Prompt

        options.instance("prompt", text, str, Message, Part)
        return Prompt(self, Message.user(text))

    @overload
    def resume(
        self, source: "AgentRun | RunResult | Restored | str | os.PathLike[str]", *, step: int | None = None
    ) -> "Resuming": ...
    @overload
    def resume(self, source: RunStore, key: str, *, step: int | None = None) -> "DurableResuming": ...
    def resume(self, source: Any, key: str | None = None, *, step: int | None = None) -> Any:
        """A run that goes on: an AgentRun, the result of one, or the path of a trace or of a saved run. With
        `step`, as it was after that step. With a `key`, the run of that key in a store, in its own journal; there
        too, from an earlier step it is a run of its own."""
        if key is not None:
            from inspector.runner.durable import DurableResuming

            return DurableResuming(self, source, key, step)
        from inspector.runner.driving import Resuming

        return Resuming(self, source, step)

    def new_run(
        self,
        prompt: Message,
        run_id: str,
        history: Iterable[Message] | None = None,
        conversation: str | None = None,
    ) -> AgentRun:
        """A run that has not begun, with the limits of this agent."""
        return AgentRun.start(
            prompt,
            history=history,
            id=run_id,
            agent=self.name,
            max_turns=self.limits.max_turns,
            max_invalid_retries=self.limits.max_invalid_retries,
            token_budget=self.limits.token_budget,
            tool_choice=self.limits.tool_choice,
            output=msgspec.structs.replace(self._output),
            conversation=conversation,
        )

    async def definition(self, setup: Setup | None = None) -> Definition:
        """What this agent is today: tools, hooks, model and settings, with their digest; with a `setup`, as it is
        driven with that."""
        setup = setup or self.setup
        snapshot = await setup.registry.everything()
        model = setup.model if isinstance(setup.model, str) else getattr(setup.model, "name", "")
        found = view.definition(snapshot.specs(), hooking.listed(setup.hooks), str(model))
        return frozen(found, self._settings(setup), self._credentials)

    @property
    def settings(self) -> dict[str, Any]:
        """What else decides what it does, without credentials."""
        found = frozen(Definition(), self._settings(self.setup), self._credentials).settings
        return found if isinstance(found, dict) else {}

    def _settings(self, setup: Setup) -> dict[str, Any]:
        settings = {
            "instructions": setup.instructions,
            "output": self._output.schema,
            "output_mode": setup.output_mode,
            "temperature": setup.temperature,
            "max_tokens": setup.max_tokens,
            "params": dict(setup.params) or None,
            "ambiguity": msgspec.to_builtins(setup.ambiguity),
        }
        return {name: value for name, value in settings.items() if value is not None}

    async def open(self) -> None:
        """Connect what must be connected (MCP servers) for as long as the agent is used. When one fails, none stays."""
        async with contextlib.AsyncExitStack() as opened:
            for source in self.setup.registry.sources:
                await source.open()
                opened.push_async_callback(source.close)
            opened.pop_all()

    async def close(self) -> None:
        """Give back what `open` took."""
        for source in self.setup.registry.sources:
            await source.close()

    async def __aenter__(self) -> Self:
        await self.open()
        self._entered = True
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._entered = False
        await self.close()

    @property
    def entered(self) -> bool:
        """Whether it is used as a context manager, so that a run neither opens nor closes anything."""
        return self._entered


def _schema(output: Any) -> Value:
    if output is None:
        return None
    try:
        schema = output if isinstance(output, dict) else msgspec.json.schema(output)
    except TypeError as error:
        raise UsageError("output", f"cannot be {output!r:.80}: {error}") from None
    # A model is shown the object itself, not a reference to it.
    if "$ref" in schema and "$defs" in schema:
        name = schema["$ref"].rsplit("/", 1)[-1]
        parts = dict(schema["$defs"])
        schema = parts.pop(name) | ({"$defs": parts} if parts else {})
    kind = schema.get("type", "object")
    if "object" not in ([kind] if isinstance(kind, str) else kind):
        raise UsageError("output", f"the answer must be an object, with fields, not of the type {kind}")
    return schema
