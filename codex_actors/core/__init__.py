"""Everything that decides, and nothing that does. No Trio, no I/O, no clock."""

from ._calls import (
    Call as Call,
    CallState as CallState,
    Calls as Calls,
    Gate as Gate,
)
from ._context import (
    ContextTexts as ContextTexts,
    Surroundings as Surroundings,
    aborted_marker as aborted_marker,
    context_updates as context_updates,
    initial_context as initial_context,
    sandbox_mode as sandbox_mode,
)
from ._delivery import (
    decide_mail as decide_mail,
    decide_steer as decide_steer,
    is_final_answer as is_final_answer,
    lets_mail_in as lets_mail_in,
)
from ._diff import (
    Change as Change,
    FileDelta as FileDelta,
    blob_id as blob_id,
    line_changes as line_changes,
    split_lines as split_lines,
    turn_diff as turn_diff,
    unified_diff as unified_diff,
)
from ._effects import (
    Announce as Announce,
    CancelWorkers as CancelWorkers,
    Effect as Effect,
    Flush as Flush,
    Record as Record,
    RecordContext as RecordContext,
    Sample as Sample,
    ShowDiff as ShowDiff,
    StartTool as StartTool,
    StopSampling as StopSampling,
    WaitRetry as WaitRetry,
)
from ._history import (
    is_contextual as is_contextual,
    is_user_turn as is_user_turn,
    normalize as normalize,
    rollback as rollback,
    rollback_point as rollback_point,
    unanswered as unanswered,
)
from ._inputs import (
    Entry as Entry,
    Failure as Failure,
    Interrupted as Interrupted,
    ItemReceived as ItemReceived,
    LimitsSeen as LimitsSeen,
    MailArrived as MailArrived,
    RetryDue as RetryDue,
    SamplingDone as SamplingDone,
    SamplingFailed as SamplingFailed,
    Steered as Steered,
    ToolFinished as ToolFinished,
    TurnInput as TurnInput,
    WorkersGone as WorkersGone,
)
from ._limits import (
    add_usage as add_usage,
    fill_window as fill_window,
    merge_limits as merge_limits,
)
from ._patch import (
    AddHunk as AddHunk,
    Chunk as Chunk,
    DeleteHunk as DeleteHunk,
    Hunk as Hunk,
    Mark as Mark,
    MoveFile as MoveFile,
    Operation as Operation,
    Patch as Patch,
    PatchError as PatchError,
    RemoveFile as RemoveFile,
    UpdateHunk as UpdateHunk,
    WriteFile as WriteFile,
    parse_patch as parse_patch,
)
from ._patch_apply import (
    PatchResult as PatchResult,
    apply_patch as apply_patch,
)
from ._patch_match import (
    make_patch as make_patch,
    update_text as update_text,
)
from ._patch_shell import (
    ShellPatch as ShellPatch,
    find_shell_patch as find_shell_patch,
    heredoc_body as heredoc_body,
)
from ._replay import (
    Replayed as Replayed,
    legacy_compaction as legacy_compaction,
    replay as replay,
)
from ._responses import (
    ResponseReader as ResponseReader,
    StreamFailure as StreamFailure,
    classify_failure as classify_failure,
)
from ._retry import (
    Retry as Retry,
    parse_retry_delay as parse_retry_delay,
)
from ._shown import (
    flat_events as flat_events,
    is_kept as is_kept,
    shown_as as shown_as,
)
from ._sse import (
    ServerSentEvent as ServerSentEvent,
    SseDecoder as SseDecoder,
    SseError as SseError,
)
from ._status import (
    is_final as is_final,
    next_status as next_status,
)
from ._tokens import (
    estimate_tokens as estimate_tokens,
    tokens_of_bytes as tokens_of_bytes,
)
from ._truncate import (
    Captured as Captured,
    HeadTail as HeadTail,
    format_truncated as format_truncated,
    truncate_middle as truncate_middle,
)
from ._turn import (
    IllegalInput as IllegalInput,
    Phase as Phase,
    Step as Step,
    Turn as Turn,
    begin as begin,
    step as step,
)
