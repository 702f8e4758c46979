"""What you may implement: every protocol of the package, in one place."""

from .actors import Behavior as Behavior
from .actors import Watch as Watch
from .approvals import Approver as Approver
from .approvals import Hook as Hook
from .models import ModelClient as ModelClient
from .rollout import Recorder as Recorder
from .sandbox import OutputSink as OutputSink
from .sandbox import Sandbox as Sandbox
from .tools import Guard as Guard
from .tools import ProcessStarter as ProcessStarter
from .tools import RunningProcess as RunningProcess
