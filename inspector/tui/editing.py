"""Editing what the state of a step holds, to go on from there with that: tokens, fields, values, messages, calls."""

from __future__ import annotations

from typing import TYPE_CHECKING

from inspector.tui.runresume import RunResume

if TYPE_CHECKING:
    from inspector.model.run import State
    from inspector.model.values import Value

TOLD = (
    "The run goes on from after this step with this in its place, as a run of its own, if it fits. The old run keeps "
    "its own. It is written into the new run's journal, with your name."
)


class RunEditing(RunResume):
    """The actions."""

    def on_mount(self) -> None:
        super().on_mount()
        self.pane.edits, self.pane.why_not = self.edit, self._why_not

    def _why_not(self) -> str | None:
        """Why nothing of the run is edited, in words; None where it can be."""
        return self.hindrance() or self.session.uneditable()

    def action_edit(self) -> None:
        self.edit(self._place())

    def action_edit_outside(self) -> None:
        self.edit(self._place(), outside=True)

    def _place(self) -> str | None:
        return None if self.timeline.has_focus else self.pane.place_at_cursor()

    def edit(self, place: str | None, *, outside: bool = False) -> None:
        """Edit the value in a place of the state that is shown; then the plan is shown."""
        from inspector.model.places import value_at
        from inspector.tui import valueedit

        snapshot = self.session.state()
        state = snapshot.state if snapshot is not None else None
        if place is None or state is None:
            what = "e edits the token, field, value, message or call"
            elsewhere = f"Tab goes to the state: {what} one stands on"
            self.tell(elsewhere if self.timeline.has_focus else f"{what} one stands on; what a step took is gone")
            return
        why = self._why_not()
        if why is not None:
            self.tell(why)
            return
        step = self.session.cursor
        deciding = self.decided_at(step)
        try:
            value = deciding.decisions.edits.get(place, value_at(state, place))
        except (LookupError, TypeError):
            self.tell("there is nothing in it that can be edited")
            return
        if (why := valueedit.uneditable(value)) is not None:
            self.tell(why)
            return

        def done(new: Value) -> None:
            call = _call(state, place)
            if call is not None:
                deciding.edit(call, new)
            else:
                deciding.change(place, value, new)
            self.keep(step, deciding)
            self.resume(step)

        json = place.endswith(".arguments")
        if outside:
            trouble = valueedit.edit_outside(self.app, value, done, json=json)
            if trouble:
                self.tell(trouble, "failed")
        else:
            valueedit.edit_here(self.app, f"Edit {place} after step {step}", (TOLD,), value, done, json=json)


def _call(state: State, path: str) -> str | None:
    """The call whose arguments are meant: they are decided about with the call."""
    from inspector.model.places import read_place

    place = read_place(path)
    if place is None or place.part != "pending" or place.field != "arguments":
        return None
    for call in state.pending or ():
        if place.name in (call.internal_call_id, call.call_id):
            return call.call_id or call.internal_call_id
    return None
