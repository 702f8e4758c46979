"""The root of the exception tree, and a drawing of the tree.

Each branch lives in the module to its right, beside what raises it; who raises what, and
what to do about it, is in docs/reference/errors.md.

    CodexActorsError
    ├── InternalError                 _errors
    │   └── IllegalInput              core._turn
    ├── ActorError                    actors._errors
    │   ├── ActorTerminated           actors._errors
    │   ├── BufferTooSmall            actors._errors
    │   ├── CleanUpOverran            actors._errors
    │   ├── InvalidName               actors._errors
    │   ├── NameTaken                 actors._errors
    │   ├── NeverStarted              actors._errors
    │   ├── NotABehavior              actors._errors
    │   ├── NotAChild                 actors._errors
    │   ├── OwnEnd                    actors._errors
    │   ├── RestartLimitExceeded      actors._errors
    │   └── SupervisorClosing         actors._errors
    ├── AgentError                    agents._errors
    │   ├── CollaborationRefused      agents._errors
    │   ├── DeadlinePassed            agents._errors
    │   ├── EmptyInput                agents._errors
    │   ├── LetterBoxFull             agents._errors
    │   ├── NoRoom                    agents._errors
    │   ├── NoSuchAgent               agents._errors
    │   ├── OperationRefused          agents._errors
    │   ├── RootExists                agents._errors
    │   ├── SandboxUnavailable        agents._errors
    │   ├── SpawnRefused              agents._errors
    │   │   ├── AgentFenced           agents._errors
    │   │   ├── AuthorityWidened      agents._errors
    │   │   ├── NameInUse             agents._errors
    │   │   ├── TooBusy               agents._errors
    │   │   ├── TooDeep               agents._errors
    │   │   ├── TooMany               agents._errors
    │   │   │   ├── TooManyAgents     agents._errors
    │   │   │   └── TooManyChildren   agents._errors
    │   │   ├── UnknownEffort         agents._errors
    │   │   ├── UnknownModel          agents._errors
    │   │   ├── UnknownRole           agents._errors
    │   │   └── UnknownSummary        agents._errors
    │   └── WaitRing                  agents._errors
    ├── NotAsked                      approvals._errors
    ├── RulesError                    approvals._errors
    ├── UsageError                    cli._errors
    ├── SettingsError                 config._errors
    ├── PatchError                    core._patch
    ├── SseError                      core._sse
    ├── ModelError                    models._errors
    │   ├── BadProvider               models._errors
    │   ├── ConnectionFailed          models._errors
    │   ├── ContextWindowExceeded     models._errors
    │   ├── InvalidRequest            models._errors
    │   ├── InvalidScript             models._errors
    │   ├── MissingKey                models._errors
    │   ├── ModelProtocolError        models._errors
    │   ├── PolicyViolation           models._errors
    │   ├── RateLimited               models._errors
    │   ├── ScriptMismatch            models._errors
    │   ├── ServerFailed              models._errors
    │   ├── ServerOverloaded          models._errors
    │   ├── StreamDisconnected        models._errors
    │   ├── Unauthorized              models._errors
    │   ├── UnexpectedStatus          models._errors
    │   └── UsageLimitReached         models._errors
    ├── InvalidAgentPath              protocol._ids
    ├── JournalError                  rollout._errors
    │   ├── DuplicateTask             rollout._errors
    │   ├── JournalRefused            rollout._errors
    │   ├── JournalUnreadable         rollout._errors
    │   └── UnknownTask               rollout._errors
    ├── RolloutError                  rollout._errors
    │   ├── EmptyRollout              rollout._errors
    │   ├── ThreadBusy                rollout._lock
    │   ├── ThreadNotFound            rollout._errors
    │   ├── ThreadNotRecorded         rollout._errors
    │   └── UnreadableRollout         rollout._errors
    ├── ProcessError                  sandbox._errors
    │   ├── CannotTakeNotes           sandbox._errors
    │   ├── CouldNotStart             sandbox._errors
    │   ├── NoSandboxWorks            sandbox._errors
    │   ├── NoTerminal                sandbox._errors
    │   ├── PatternAllows             sandbox._errors
    │   ├── ProcessEnded              sandbox._errors
    │   ├── ProcessSurvived           sandbox._errors
    │   ├── ProcessesClosed           sandbox._errors
    │   ├── ProcessesCrashed          sandbox._errors
    │   ├── SandboxRefused            sandbox._errors
    │   └── TooMuchToScan             sandbox._errors
    ├── DuplicateTool                 tools._tool
    ├── FileTrouble                   tools._patch_files
    ├── NotAnOutput                   tools._tool
    ├── TooManyCommands               tools._sessions
    ├── UndoError                     undo._errors
    │   ├── ChangedSince              undo._errors
    │   ├── ContentGone               undo._errors
    │   ├── GitFailed                 undo._errors
    │   ├── NothingToUndo             undo._errors
    │   └── TooMuchToKeep             undo._errors
    ├── Indescribable                 wire._arguments
    └── WireError                     wire._json
        ├── BadArguments              wire._arguments
        ├── BadJson                   wire._json
        ├── BadRolloutLine            wire._rollout
        └── Misfit                    wire._shapes
"""

from __future__ import annotations


class CodexActorsError(Exception):
    """Base class of everything that codex_actors raises on purpose."""


class InternalError(CodexActorsError):
    """A bug in codex_actors. Please report it, with the traceback."""
