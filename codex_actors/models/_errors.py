"""Why a model did not answer, as the caller must act on it.

``ModelError`` is the root. ``kind`` is the word that programs see
(`codex_actors.protocol.ErrorInfo.kind`), ``retryable`` says whether sampling anew may help.
"""

from __future__ import annotations

from typing import ClassVar, final

from .._errors import CodexActorsError


class ModelError(CodexActorsError):
    """A model did not answer, or not to the end."""

    kind: str = "other"
    """As in `codex_actors.protocol.ErrorInfo.kind`."""
    retryable: bool = False
    """Whether the same sampling may succeed when it is done anew."""
    repeatable: ClassVar[bool] = False
    """Whether the request itself may be sent again at once, whatever status it got."""

    def __init__(
        self,
        message: str,
        *,
        retry_after: float | None = None,
        status: int | None = None,
        request_id: str | None = None,
    ) -> None:
        super().__init__(message)
        self.retry_after = retry_after
        """Seconds to wait before trying anew, when the provider said so."""
        self.status = status
        """The HTTP status of the answer, if there was one."""
        self.request_id = request_id
        """The provider's name for the request, to quote when asking for help."""


@final
class MissingKey(ModelError):
    """The provider wants an API key and there is none."""


@final
class BadProvider(ModelError, ValueError):
    """The provider's settings cannot be used to send a request."""


@final
class ConnectionFailed(ModelError):
    """No answer came: the server was not reached, or hung up before its first word."""

    kind = "http_connection_failed"
    retryable = True
    repeatable = True


@final
class StreamDisconnected(ModelError):
    """An answer broke off."""

    retryable = True


@final
class ModelProtocolError(ModelError):
    """The server answered something that is no response stream."""

    retryable = True


@final
class RateLimited(ModelError):
    """The provider takes no more requests for now."""

    kind = "response_too_many_failed_attempts"

    def __init__(
        self,
        message: str,
        *,
        retry_after: float | None = None,
        status: int | None = None,
        request_id: str | None = None,
    ) -> None:
        super().__init__(message, retry_after=retry_after, status=status, request_id=request_id)
        # Inside a stream the limit is one of tokens per minute, and waiting helps; an answer
        # of 429 is the end of the provider's patience.
        self.retryable = status is None
        if status is None:
            self.kind = "other"


@final
class UsageLimitReached(ModelError):
    """The account has used up what its plan allows."""

    kind = "usage_limit_exceeded"


@final
class ContextWindowExceeded(ModelError):
    """The prompt does not fit into the model's window."""

    kind = "context_window_exceeded"


@final
class InvalidRequest(ModelError):
    """The provider refused the request for what is in it."""


@final
class PolicyViolation(ModelError):
    """The provider refuses to go on with this conversation."""

    def __init__(
        self,
        message: str,
        *,
        kind: str = "cyber_policy",
        status: int | None = None,
        request_id: str | None = None,
    ) -> None:
        super().__init__(message, status=status, request_id=request_id)
        self.kind = kind


@final
class Unauthorized(ModelError):
    """The provider does not accept the API key."""

    kind = "unauthorized"


@final
class ServerOverloaded(ModelError):
    """The provider has no capacity left."""

    kind = "server_overloaded"


@final
class ServerFailed(ModelError):
    """The provider has a bug or a bad day: HTTP status 500."""

    kind = "internal_server_error"
    retryable = True


@final
class UnexpectedStatus(ModelError):
    """The server answered with a status that has no other meaning here."""

    retryable = True


@final
class ScriptMismatch(ModelError):
    """A script expected something else than what came."""


@final
class InvalidScript(ModelError, ValueError):
    """A script that cannot be played."""
