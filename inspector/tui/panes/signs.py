"""Signs that stand for a status beside its colour."""

from inspector.model.run import PendingStatus

PENDING: dict[PendingStatus, str] = {
    "waiting": "?",
    "ready": "○",
    "in_flight": "►",
    "ambiguous": "!",
    "answered": "✓",
    "approved": "✓",
    "denied": "✗",
}
