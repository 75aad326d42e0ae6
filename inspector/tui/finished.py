"""Widgets that draw their lines as they are to be seen.

Textual takes every line of a widget through its styles: borders, padding, tints, links. Lines of ours have none
of that, and taking them through it would cost more than the rest of a frame.
"""

from collections.abc import Sequence

from textual.containers import Horizontal, Vertical
from textual.geometry import Region
from textual.strip import Strip
from textual.widget import Widget


class Finished(Widget):
    """A widget whose `strips` are final, each as wide as the widget."""

    def strips(self, lines: Sequence[int]) -> list[Strip]:
        """These lines, from the widget's top."""
        return [self.render_line(y) for y in lines]

    def render_lines(self, crop: Region) -> list[Strip]:
        strips = self.strips(crop.line_range)
        for filter in self.get_line_filters():  # NO_COLOR
            background = self.background_colors[1]
            strips = [strip.apply_filter(filter, background) for strip in strips]
        if strips and (crop.x or crop.width < strips[0].cell_length):
            strips = [strip.crop(crop.x, crop.right) for strip in strips]
        return strips


class Blank(Finished):
    """Nothing of its own to be seen."""

    def strips(self, lines: Sequence[int]) -> list[Strip]:
        return [Strip.blank(self.size.width)] * len(lines)


# The container comes first: it is the base whose CSS is inherited.
class Row(Horizontal, Blank):
    """Widgets side by side."""


class Column(Vertical, Blank):
    """Widgets one below the other."""
