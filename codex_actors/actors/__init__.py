"""Actors for Trio: mailboxes, watches and supervisors. Knows nothing of models.

What they promise is in ``docs/reference/semantics.md``.
"""

from ._broadcast import Broadcast as Broadcast
from ._broadcast import Lagged as Lagged
from ._broadcast import open_broadcast as open_broadcast
from ._child import ChildSpec as ChildSpec
from ._child import CloseReport as CloseReport
from ._errors import ActorError as ActorError
from ._errors import ActorTerminated as ActorTerminated
from ._errors import BufferTooSmall as BufferTooSmall
from ._errors import CleanUpOverran as CleanUpOverran
from ._errors import InvalidName as InvalidName
from ._errors import NameTaken as NameTaken
from ._errors import NeverStarted as NeverStarted
from ._errors import NotABehavior as NotABehavior
from ._errors import NotAChild as NotAChild
from ._errors import OwnEnd as OwnEnd
from ._errors import RestartLimitExceeded as RestartLimitExceeded
from ._errors import SupervisorClosing as SupervisorClosing
from ._mailbox import ActorRef as ActorRef
from ._mailbox import ActorStatus as ActorStatus
from ._mailbox import Behavior as Behavior
from ._mailbox import Exit as Exit
from ._mailbox import Mailbox as Mailbox
from ._mailbox import ReplyPort as ReplyPort
from ._restart import Decision as Decision
from ._restart import Plan as Plan
from ._restart import Restart as Restart
from ._restart import Restarting as Restarting
from ._restart import RestartLimit as RestartLimit
from ._restart import Strategy as Strategy
from ._restart import decide as decide
from ._restart import plan as plan
from ._supervisor import Supervisor as Supervisor
from ._supervisor import SupervisorStatistics as SupervisorStatistics
from ._supervisor import open_supervisor as open_supervisor
from ._watch import Watch as Watch
from ._watch import WatchCell as WatchCell
