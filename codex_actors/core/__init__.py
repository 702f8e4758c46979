"""Everything that decides, and nothing that does. No Trio, no I/O, no clock."""

from ._calls import (
    Call as Call,
)
from ._calls import (
    Calls as Calls,
)
from ._calls import (
    CallState as CallState,
)
from ._calls import (
    Gate as Gate,
)
from ._context import (
    ContextTexts as ContextTexts,
)
from ._context import (
    Surroundings as Surroundings,
)
from ._context import (
    aborted_marker as aborted_marker,
)
from ._context import (
    context_updates as context_updates,
)
from ._context import (
    initial_context as initial_context,
)
from ._context import (
    sandbox_mode as sandbox_mode,
)
from ._delivery import (
    decide_mail as decide_mail,
)
from ._delivery import (
    decide_steer as decide_steer,
)
from ._delivery import (
    is_final_answer as is_final_answer,
)
from ._delivery import (
    lets_mail_in as lets_mail_in,
)
from ._diff import (
    Change as Change,
)
from ._diff import (
    FileDelta as FileDelta,
)
from ._diff import (
    blob_id as blob_id,
)
from ._diff import (
    line_changes as line_changes,
)
from ._diff import (
    split_lines as split_lines,
)
from ._diff import (
    turn_diff as turn_diff,
)
from ._diff import (
    unified_diff as unified_diff,
)
from ._effects import (
    Announce as Announce,
)
from ._effects import (
    CancelWorkers as CancelWorkers,
)
from ._effects import (
    Effect as Effect,
)
from ._effects import (
    Flush as Flush,
)
from ._effects import (
    Record as Record,
)
from ._effects import (
    RecordContext as RecordContext,
)
from ._effects import (
    Sample as Sample,
)
from ._effects import (
    ShowDiff as ShowDiff,
)
from ._effects import (
    StartTool as StartTool,
)
from ._effects import (
    StopSampling as StopSampling,
)
from ._effects import (
    WaitRetry as WaitRetry,
)
from ._history import (
    is_contextual as is_contextual,
)
from ._history import (
    is_user_turn as is_user_turn,
)
from ._history import (
    normalize as normalize,
)
from ._history import (
    rollback as rollback,
)
from ._history import (
    rollback_point as rollback_point,
)
from ._history import (
    unanswered as unanswered,
)
from ._inputs import (
    Entry as Entry,
)
from ._inputs import (
    Failure as Failure,
)
from ._inputs import (
    Interrupted as Interrupted,
)
from ._inputs import (
    ItemReceived as ItemReceived,
)
from ._inputs import (
    LimitsSeen as LimitsSeen,
)
from ._inputs import (
    MailArrived as MailArrived,
)
from ._inputs import (
    RetryDue as RetryDue,
)
from ._inputs import (
    SamplingDone as SamplingDone,
)
from ._inputs import (
    SamplingFailed as SamplingFailed,
)
from ._inputs import (
    Steered as Steered,
)
from ._inputs import (
    ToolFinished as ToolFinished,
)
from ._inputs import (
    TurnInput as TurnInput,
)
from ._inputs import (
    WorkersGone as WorkersGone,
)
from ._limits import (
    add_usage as add_usage,
)
from ._limits import (
    fill_window as fill_window,
)
from ._limits import (
    merge_limits as merge_limits,
)
from ._patch import (
    AddHunk as AddHunk,
)
from ._patch import (
    Chunk as Chunk,
)
from ._patch import (
    DeleteHunk as DeleteHunk,
)
from ._patch import (
    Hunk as Hunk,
)
from ._patch import (
    Mark as Mark,
)
from ._patch import (
    MoveFile as MoveFile,
)
from ._patch import (
    Operation as Operation,
)
from ._patch import (
    Patch as Patch,
)
from ._patch import (
    PatchError as PatchError,
)
from ._patch import (
    RemoveFile as RemoveFile,
)
from ._patch import (
    UpdateHunk as UpdateHunk,
)
from ._patch import (
    WriteFile as WriteFile,
)
from ._patch import (
    parse_patch as parse_patch,
)
from ._patch_apply import (
    PatchResult as PatchResult,
)
from ._patch_apply import (
    apply_patch as apply_patch,
)
from ._patch_match import (
    make_patch as make_patch,
)
from ._patch_match import (
    update_text as update_text,
)
from ._patch_shell import (
    ShellPatch as ShellPatch,
)
from ._patch_shell import (
    find_shell_patch as find_shell_patch,
)
from ._patch_shell import (
    heredoc_body as heredoc_body,
)
from ._replay import (
    Replayed as Replayed,
)
from ._replay import (
    legacy_compaction as legacy_compaction,
)
from ._replay import (
    replay as replay,
)
from ._responses import (
    ResponseReader as ResponseReader,
)
from ._responses import (
    StreamFailure as StreamFailure,
)
from ._responses import (
    classify_failure as classify_failure,
)
from ._retry import (
    Retry as Retry,
)
from ._retry import (
    parse_retry_delay as parse_retry_delay,
)
from ._shown import (
    flat_events as flat_events,
)
from ._shown import (
    is_kept as is_kept,
)
from ._shown import (
    shown_as as shown_as,
)
from ._sse import (
    ServerSentEvent as ServerSentEvent,
)
from ._sse import (
    SseDecoder as SseDecoder,
)
from ._sse import (
    SseError as SseError,
)
from ._status import (
    is_final as is_final,
)
from ._status import (
    next_status as next_status,
)
from ._tokens import (
    estimate_tokens as estimate_tokens,
)
from ._tokens import (
    tokens_of_bytes as tokens_of_bytes,
)
from ._truncate import (
    Captured as Captured,
)
from ._truncate import (
    HeadTail as HeadTail,
)
from ._truncate import (
    format_truncated as format_truncated,
)
from ._truncate import (
    truncate_middle as truncate_middle,
)
from ._turn import (
    IllegalInput as IllegalInput,
)
from ._turn import (
    Phase as Phase,
)
from ._turn import (
    Step as Step,
)
from ._turn import (
    Turn as Turn,
)
from ._turn import (
    begin as begin,
)
from ._turn import (
    step as step,
)
