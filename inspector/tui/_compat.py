"""What has to reach into Textual: one place, with a test for each use."""

from typing import Any

from textual.app import App


class Quiet(App[Any]):
    """An app whose defects end it with the terminal restored and no traceback: `defect` is the exception."""

    @property
    def defect(self) -> Exception | None:
        """What ended the app, None where it ended by itself."""
        return self._exception

    def _fatal_error(self) -> None:
        self._close_messages_no_wait()


def send(app: App[Any], sequences: str) -> None:
    """Send escape sequences of our own making to the terminal."""
    if app._driver is not None:
        app._driver.write(sequences)
        app._driver.flush()
