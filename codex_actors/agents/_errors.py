"""What users of agents may have to catch."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence

from .._errors import CodexActorsError
from ..protocol import AgentPath, Refused


class AgentError(CodexActorsError):
    """An agent cannot do what it was asked to."""


class EmptyInput(AgentError, ValueError):
    """There is nothing in the input that a model could act on."""

    def __init__(self) -> None:
        super().__init__("the input is empty or white space; say what is to be done")


class OperationRefused(AgentError):
    """The agent is not in a state to carry the operation out."""

    def __init__(self, refused: Refused) -> None:
        super().__init__(refused.message)
        self.reason = refused.reason
        """Why, as a word for programs; see `codex_actors.protocol.Refused`."""


class SandboxUnavailable(AgentError):
    """Nothing on this machine can enforce the sandbox policy that was asked for."""

    def __init__(self, mode: str, reasons: Mapping[str, str]) -> None:
        tried = "; ".join(f"{name}: {reason}" for name, reason in reasons.items())
        super().__init__(
            f"sandbox mode {mode!r} cannot be enforced on this machine ({tried}); install"
            " bubblewrap or allow unprivileged user namespaces; or, where nothing can be harmed,"
            " ask for `-s danger-full-access`"
        )
        self.mode = mode
        self.reasons = dict(reasons)


class RootExists(AgentError):
    """A tree has one root, and this one has it already."""

    def __init__(self) -> None:
        super().__init__("this tree has its root already; open another tree for another root")


class NoSuchAgent(AgentError, LookupError):
    """No agent of the tree has that name."""

    def __init__(self, name: str) -> None:
        super().__init__(f"no agent {name!r} in this tree; `tree.snapshot()` shows who is")


class SpawnRefused(AgentError):
    """A child cannot be made as it was asked for. Nothing was made."""


class UnknownRole(SpawnRefused, LookupError):
    """There is no such kind of agent."""

    def __init__(self, name: str, known: Sequence[str]) -> None:
        self.name = name
        self.known = tuple(known)
        super().__init__(f"no role {name!r}; choose among {_listed(self.known)}, or leave it out")


class TooBusy(SpawnRefused):
    """As many agents are at work as may be."""

    def __init__(self, limit: int, holders: Sequence[str]) -> None:
        self.limit = limit
        self.holders = tuple(holders)
        super().__init__(
            f"agent thread limit reached: {limit} may be at work at once, and these are:"
            f" {_some(holders)}; wait for one of them, or do it yourself"
        )


class UnknownModel(SpawnRefused, LookupError):
    """Nothing is known of the model that a child was to have.

    Args:
        slug: The model's name.
        known: Names that are known; of many, the first are told.
    """

    def __init__(self, slug: str, known: Sequence[str]) -> None:
        self.slug = slug
        self.known = tuple(known[:5])
        """At most five, the preferred ones first."""
        choice = f"choose among {_listed(self.known)}" if self.known else "leave it out"
        super().__init__(
            f"model {slug!r} is not known; {choice}, or describe it under [models.{slug!r}] in"
            " config.toml"
        )


class UnknownEffort(SpawnRefused, ValueError):
    """The model that a child was to have does not know this effort."""

    def __init__(self, effort: str, model: str, supported: Sequence[str]) -> None:
        self.effort = effort
        self.model = model
        self.supported = tuple(supported)
        super().__init__(
            f"model {model!r} does not know the effort {effort!r}; choose among"
            f" {_listed(self.supported)}, or leave it out"
        )


class UnknownSummary(SpawnRefused, ValueError):
    """The model that a child was to have does not sum up its thoughts in this way."""

    def __init__(self, summary: str, model: str, supported: Sequence[str]) -> None:
        self.summary = summary
        self.model = model
        self.supported = tuple(supported)
        super().__init__(
            f"model {model!r} does not know the summary {summary!r}; choose among"
            f" {_listed(self.supported)}, or leave it out"
        )


class AuthorityWidened(SpawnRefused):
    """A child was to be allowed what its parent, or its role, is not."""

    def __init__(self, what: str, wished: object, allowed: object) -> None:
        self.what = what
        """The setting in question."""
        self.wished = wished
        self.allowed = allowed
        """What would have been granted at most; None: nothing."""
        bound = "nothing" if allowed is None else repr(allowed)
        super().__init__(
            f"{what} {wished!r} is more than may be given, which is {bound}; leave it out, or ask"
            " for less"
        )


def _listed(words: Sequence[str]) -> str:
    return ", ".join(map(repr, words))


class AgentFenced(SpawnRefused):
    """The agent was interrupted, and nobody has told it to go on."""

    def __init__(self, path: AgentPath, by: str) -> None:
        super().__init__(
            f"{path} was interrupted by {by!r}; give it a task first, then it may have children"
        )


class NameInUse(SpawnRefused):
    """A sibling has that name."""

    def __init__(self, path: AgentPath) -> None:
        super().__init__(f"{path} lives already; choose another name, or close it first")
        self.path = path


class TooDeep(SpawnRefused):
    """There would be too many generations."""

    def __init__(self, limiting: AgentPath, depth: int, owner: AgentPath) -> None:
        super().__init__(
            f"{owner} may not have children: {limiting} allows {depth} generations below it; let"
            f" {owner} do the work itself"
        )


class TooMany(SpawnRefused):
    """A limit of agents is reached.

    Attributes:
        holders: Paths of those that count.
    """

    def __init__(self, what: str, limit: int, holders: Sequence[str]) -> None:
        self.limit = limit
        self.holders = tuple(holders)
        super().__init__(f"{what} {limit}: {_some(holders)}; close one that is done, then spawn")


class TooManyChildren(TooMany):
    """An agent has as many children as it may have."""

    def __init__(self, owner: AgentPath, limit: int, holders: Sequence[str]) -> None:
        super().__init__(f"{owner} has all the children that it may have,", limit, holders)


class TooManyAgents(TooMany):
    """As many agents live as may live."""

    def __init__(self, top: AgentPath, limit: int, holders: Sequence[str]) -> None:
        super().__init__(f"{top} and those below it are as many as may live,", limit, holders)


class NoRoom(AgentError):
    """An agent cannot be loaded: too many are, and all of them are busy."""

    def __init__(self, holders: Sequence[str]) -> None:
        self.holders = tuple(holders)
        super().__init__(
            f"no room to load an agent: {len(holders)} are loaded and busy, {_some(holders)}; wait"
            " for one of them, or allow more"
        )


class LetterBoxFull(AgentError):
    """Too many letters wait for an agent."""

    def __init__(self, path: AgentPath, limit: int, senders: Sequence[str]) -> None:
        who, count = Counter(senders).most_common(1)[0]
        super().__init__(
            f"{limit} letters wait for {path}, {count} of them from {who}; let it read them first:"
            " give it a task, or a letter that starts a turn"
        )
        self.path = path


class WaitRing(AgentError):
    """Agents would wait for each other for ever."""

    def __init__(self, ring: Sequence[str]) -> None:
        self.ring = tuple(ring)
        """Paths of the agents; each waits for the next, and the last for the first."""
        way = " for ".join((*ring, ring[0]))
        super().__init__(f"this would wait for ever: {way}; give the work to somebody else")


class CollaborationRefused(AgentError):
    """A model asked for something that makes no sense; the message is written for it."""


class DeadlinePassed(AgentError, TimeoutError):
    """A call took longer than it may. What it began goes on, or was taken back as it says."""

    def __init__(self, what: str, seconds: float, state: str) -> None:
        super().__init__(f"{what} was not done within {seconds:g} s: {state}")
        self.seconds = seconds


def _some(paths: Sequence[str], shown: int = 8) -> str:
    more = f" and {len(paths) - shown} more" if len(paths) > shown else ""
    return ", ".join(paths[:shown]) + more
