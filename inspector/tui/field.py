"""What is typed into: Textual's input, with its keys in order and its text harmless."""

from textual import events
from textual.binding import Binding
from textual.geometry import Region
from textual.widgets import Input

from inspector.model.text import one_line

ACTIONS = {
    key: binding.action for binding in Input.BINDINGS if isinstance(binding, Binding) for key in binding.key.split(",")
}


class Field(Input):
    """What is typed or pasted into. What could act on the terminal becomes an escape. Its keys act in the
    order in which they come: Textual would insert all characters of a packet first and then do what a
    Backspace between them asks for. Characters that wait together are inserted together: many of them are a
    paste of a terminal that does not say so, and each alone would cost as much as the whole text."""

    _typed = ""
    """What is to be inserted when no more characters wait."""

    def validate_value(self, value: str) -> str:
        return one_line(value)

    async def on_key(self, event: events.Key) -> None:
        if event.is_printable and event.key not in ACTIONS:
            if not self._typed:
                self.call_later(self._insert_typed)
            self._typed += event.character or ""
        else:
            self._insert_typed()
            if event.key not in ACTIONS:
                return
        event.stop()
        event.prevent_default()
        if event.key in ACTIONS:
            await self.run_action(ACTIONS[event.key])

    def on_resize(self) -> None:
        """Textual leaves a long text where it begins, with the cursor out of sight."""
        at = self.cursor_screen_offset.x - self.content_region.x + self.scroll_offset.x
        self.scroll_to_region(Region(at, 0, 1, 1), force=True, animate=False)

    def on_paste(self) -> None:
        self._insert_typed()

    def _insert_typed(self) -> None:
        text, self._typed = self._typed, ""
        if text:
            self.replace(text, *self.selection)
