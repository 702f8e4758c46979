"""Taking back what turns did to files, without touching the user's repository."""

from __future__ import annotations

from ._errors import ChangedSince as ChangedSince
from ._errors import ContentGone as ContentGone
from ._errors import GitFailed as GitFailed
from ._errors import NothingToUndo as NothingToUndo
from ._errors import TooMuchToKeep as TooMuchToKeep
from ._errors import UndoError as UndoError
from ._ledger import TurnChanges as TurnChanges
from ._ledger import read_changes as read_changes
from ._turns import Undone as Undone
from ._turns import note_after as note_after
from ._turns import note_before as note_before
from ._turns import undo_turn as undo_turn
