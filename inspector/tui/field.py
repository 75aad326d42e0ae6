"""What is typed into: Textual's input, with its keys in order and its text harmless."""

from textual import events
from textual.binding import Binding
from textual.widgets import Input

from inspector.model.text import one_line

ACTIONS = {
    key: binding.action for binding in Input.BINDINGS if isinstance(binding, Binding) for key in binding.key.split(",")
}


class Field(Input):
    """What is typed or pasted into. What could act on the terminal becomes an escape. Its keys act in the
    order in which they come: Textual would insert all characters of a packet first and then do what a
    Backspace between them asks for."""

    def validate_value(self, value: str) -> str:
        return one_line(value)

    async def on_key(self, event: events.Key) -> None:
        if event.key in ACTIONS:
            event.stop()
            event.prevent_default()
            await self.run_action(ACTIONS[event.key])
