"""Actors for Trio: mailboxes, watches and supervisors. Knows nothing of models.

What they promise is in ``docs/reference/semantics.md``.
"""

from ._broadcast import (
    Broadcast as Broadcast,
    Lagged as Lagged,
    open_broadcast as open_broadcast,
)
from ._child import ChildSpec as ChildSpec, CloseReport as CloseReport
from ._errors import (
    ActorError as ActorError,
    ActorTerminated as ActorTerminated,
    BufferTooSmall as BufferTooSmall,
    CleanUpOverran as CleanUpOverran,
    InvalidName as InvalidName,
    NameTaken as NameTaken,
    NeverStarted as NeverStarted,
    NotABehavior as NotABehavior,
    NotAChild as NotAChild,
    RestartLimitExceeded as RestartLimitExceeded,
    SupervisorClosing as SupervisorClosing,
)
from ._mailbox import (
    ActorRef as ActorRef,
    ActorStatus as ActorStatus,
    Behavior as Behavior,
    Exit as Exit,
    Mailbox as Mailbox,
    ReplyPort as ReplyPort,
)
from ._restart import (
    Decision as Decision,
    Plan as Plan,
    Restart as Restart,
    Restarting as Restarting,
    RestartLimit as RestartLimit,
    Strategy as Strategy,
    decide as decide,
    plan as plan,
)
from ._supervisor import (
    Supervisor as Supervisor,
    SupervisorStatistics as SupervisorStatistics,
    open_supervisor as open_supervisor,
)
from ._watch import Watch as Watch, WatchCell as WatchCell
