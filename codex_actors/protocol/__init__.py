"""Frozen values that cross a boundary: no behavior, no I/O, no wire format."""

from ._changes import (
    AddFile as AddFile,
)
from ._changes import (
    DeleteFile as DeleteFile,
)
from ._changes import (
    FileChange as FileChange,
)
from ._changes import (
    UpdateFile as UpdateFile,
)
from ._events import (
    AbortReason as AbortReason,
)
from ._events import (
    AgentMessageDelta as AgentMessageDelta,
)
from ._events import (
    AgentMessageRecorded as AgentMessageRecorded,
)
from ._events import (
    CommandBegan as CommandBegan,
)
from ._events import (
    CommandEnded as CommandEnded,
)
from ._events import (
    CommandOutput as CommandOutput,
)
from ._events import (
    ErrorInfo as ErrorInfo,
)
from ._events import (
    ErrorOccurred as ErrorOccurred,
)
from ._events import (
    Event as Event,
)
from ._events import (
    EventMsg as EventMsg,
)
from ._events import (
    ImageViewed as ImageViewed,
)
from ._events import (
    ItemCompleted as ItemCompleted,
)
from ._events import (
    ItemStarted as ItemStarted,
)
from ._events import (
    PatchBegan as PatchBegan,
)
from ._events import (
    PatchEnded as PatchEnded,
)
from ._events import (
    PlanStep as PlanStep,
)
from ._events import (
    PlanUpdated as PlanUpdated,
)
from ._events import (
    RawItemRecorded as RawItemRecorded,
)
from ._events import (
    RawReasoningDelta as RawReasoningDelta,
)
from ._events import (
    RawReasoningRecorded as RawReasoningRecorded,
)
from ._events import (
    ReasoningDelta as ReasoningDelta,
)
from ._events import (
    ReasoningRecorded as ReasoningRecorded,
)
from ._events import (
    ReasoningSectionBroke as ReasoningSectionBroke,
)
from ._events import (
    SessionConfigured as SessionConfigured,
)
from ._events import (
    SettingsApplied as SettingsApplied,
)
from ._events import (
    ShutdownCompleted as ShutdownCompleted,
)
from ._events import (
    StreamBroke as StreamBroke,
)
from ._events import (
    TerminalInteracted as TerminalInteracted,
)
from ._events import (
    TokensCounted as TokensCounted,
)
from ._events import (
    TurnAborted as TurnAborted,
)
from ._events import (
    TurnCompleted as TurnCompleted,
)
from ._events import (
    TurnDiffed as TurnDiffed,
)
from ._events import (
    TurnStarted as TurnStarted,
)
from ._events import (
    UnknownEvent as UnknownEvent,
)
from ._events import (
    UserMessageRecorded as UserMessageRecorded,
)
from ._events import (
    WarningRaised as WarningRaised,
)
from ._ids import (
    ROOT as ROOT,
)
from ._ids import (
    AgentPath as AgentPath,
)
from ._ids import (
    CallId as CallId,
)
from ._ids import (
    InvalidAgentPath as InvalidAgentPath,
)
from ._ids import (
    TaskId as TaskId,
)
from ._ids import (
    ThreadId as ThreadId,
)
from ._ids import (
    TurnId as TurnId,
)
from ._items import (
    ContentPart as ContentPart,
)
from ._items import (
    Fields as Fields,
)
from ._items import (
    InputImage as InputImage,
)
from ._items import (
    InputText as InputText,
)
from ._items import (
    Item as Item,
)
from ._items import (
    Message as Message,
)
from ._items import (
    OtherContent as OtherContent,
)
from ._items import (
    OtherItem as OtherItem,
)
from ._items import (
    OutputText as OutputText,
)
from ._items import (
    Reasoning as Reasoning,
)
from ._items import (
    ToolCall as ToolCall,
)
from ._items import (
    ToolKind as ToolKind,
)
from ._items import (
    ToolOutput as ToolOutput,
)
from ._items import (
    developer_message as developer_message,
)
from ._items import (
    user_message as user_message,
)
from ._model_events import (
    ItemAdded as ItemAdded,
)
from ._model_events import (
    ItemDone as ItemDone,
)
from ._model_events import (
    ModelEvent as ModelEvent,
)
from ._model_events import (
    RateLimitsSeen as RateLimitsSeen,
)
from ._model_events import (
    ReasoningContentDelta as ReasoningContentDelta,
)
from ._model_events import (
    ReasoningSummaryDelta as ReasoningSummaryDelta,
)
from ._model_events import (
    ReasoningSummaryPartAdded as ReasoningSummaryPartAdded,
)
from ._model_events import (
    ResponseCompleted as ResponseCompleted,
)
from ._model_events import (
    ResponseCreated as ResponseCreated,
)
from ._model_events import (
    ServerModelSeen as ServerModelSeen,
)
from ._model_events import (
    TextDelta as TextDelta,
)
from ._model_events import (
    ToolInputDelta as ToolInputDelta,
)
from ._ops import (
    Accepted as Accepted,
)
from ._ops import (
    ImageInput as ImageInput,
)
from ._ops import (
    InjectItems as InjectItems,
)
from ._ops import (
    Interrupt as Interrupt,
)
from ._ops import (
    LocalImageInput as LocalImageInput,
)
from ._ops import (
    Op as Op,
)
from ._ops import (
    OtherInput as OtherInput,
)
from ._ops import (
    Overrides as Overrides,
)
from ._ops import (
    OverrideSettings as OverrideSettings,
)
from ._ops import (
    Refused as Refused,
)
from ._ops import (
    Shutdown as Shutdown,
)
from ._ops import (
    Steer as Steer,
)
from ._ops import (
    Submission as Submission,
)
from ._ops import (
    TextInput as TextInput,
)
from ._ops import (
    UnknownOp as UnknownOp,
)
from ._ops import (
    UserInput as UserInput,
)
from ._ops import (
    UserTurn as UserTurn,
)
from ._ops import (
    Verdict as Verdict,
)
from ._permissions import (
    ApprovalPolicy as ApprovalPolicy,
)
from ._permissions import (
    DangerFullAccess as DangerFullAccess,
)
from ._permissions import (
    ExternalSandbox as ExternalSandbox,
)
from ._permissions import (
    Granular as Granular,
)
from ._permissions import (
    ReadOnly as ReadOnly,
)
from ._permissions import (
    SandboxMode as SandboxMode,
)
from ._permissions import (
    SandboxPolicy as SandboxPolicy,
)
from ._permissions import (
    WorkspaceWrite as WorkspaceWrite,
)
from ._rollout import (
    Compacted as Compacted,
)
from ._rollout import (
    EventLine as EventLine,
)
from ._rollout import (
    GitInfo as GitInfo,
)
from ._rollout import (
    Recorded as Recorded,
)
from ._rollout import (
    RolloutLine as RolloutLine,
)
from ._rollout import (
    RolloutPayload as RolloutPayload,
)
from ._rollout import (
    SessionMeta as SessionMeta,
)
from ._rollout import (
    TurnContext as TurnContext,
)
from ._rollout import (
    UnknownLine as UnknownLine,
)
from ._settings import (
    ApplyPatchForm as ApplyPatchForm,
)
from ._settings import (
    ModelInfo as ModelInfo,
)
from ._settings import (
    Provider as Provider,
)
from ._settings import (
    Settings as Settings,
)
from ._settings import (
    TruncationPolicy as TruncationPolicy,
)
from ._status import (
    AgentStatus as AgentStatus,
)
from ._status import (
    Completed as Completed,
)
from ._status import (
    Errored as Errored,
)
from ._tasks import (
    TaskCompleted as TaskCompleted,
)
from ._tasks import (
    TaskFailed as TaskFailed,
)
from ._tasks import (
    TaskInterrupted as TaskInterrupted,
)
from ._tasks import (
    TaskOutcome as TaskOutcome,
)
from ._tasks import (
    TaskOverBudget as TaskOverBudget,
)
from ._tasks import (
    TaskRecord as TaskRecord,
)
from ._tasks import (
    TaskTimedOut as TaskTimedOut,
)
from ._turn_items import (
    AgentMessageItem as AgentMessageItem,
)
from ._turn_items import (
    CommandItem as CommandItem,
)
from ._turn_items import (
    FileChangeItem as FileChangeItem,
)
from ._turn_items import (
    ImageViewItem as ImageViewItem,
)
from ._turn_items import (
    ItemProgress as ItemProgress,
)
from ._turn_items import (
    OtherTurnItem as OtherTurnItem,
)
from ._turn_items import (
    ReasoningItem as ReasoningItem,
)
from ._turn_items import (
    TurnItem as TurnItem,
)
from ._turn_items import (
    UserMessageItem as UserMessageItem,
)
from ._usage import (
    Credits as Credits,
)
from ._usage import (
    RateLimits as RateLimits,
)
from ._usage import (
    RateLimitWindow as RateLimitWindow,
)
from ._usage import (
    TokenUsage as TokenUsage,
)
from ._usage import (
    TokenUsageInfo as TokenUsageInfo,
)
