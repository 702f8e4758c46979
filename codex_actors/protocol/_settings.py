"""What config loads and agents take."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Literal, TypeAlias

import attrs

from ._collaboration import Collaboration, Generation
from ._limits import Capacity, Deadlines, Limits
from ._permissions import ApprovalPolicy, SandboxPolicy


@attrs.frozen
class TruncationPolicy:
    """How much of a tool's output the model is shown."""

    mode: Literal["bytes", "tokens"]
    limit: int = attrs.field(validator=attrs.validators.ge(0))
    """Bytes of UTF-8, or tokens of about four bytes."""

    @property
    def max_bytes(self) -> int:
        """The limit in bytes."""
        return self.limit if self.mode == "bytes" else self.limit * 4


ApplyPatchForm: TypeAlias = Literal["freeform", "function"]


@attrs.frozen(kw_only=True)
class ModelInfo:
    """What must be known of a model to talk to it."""

    slug: str
    display_name: str = ""
    description: str = ""
    context_window: int | None = 272_000
    """Tokens. The default is the reference's for models it does not know."""
    max_context_window: int | None = None
    effective_context_window_percent: int = 95
    """Share of the window that requests may fill."""
    auto_compact_token_limit: int | None = None
    truncation: TruncationPolicy = TruncationPolicy("bytes", 10_000)
    default_effort: str | None = None
    efforts: tuple[str, ...] = ()
    default_summary: str = "auto"
    supports_summary: bool = True
    supports_verbosity: bool = False
    default_verbosity: str | None = None
    apply_patch: ApplyPatchForm | None = None
    """Which form of the patch tool the model was trained on; None: it gets no such tool."""
    input_modalities: tuple[str, ...] = ("text", "image")
    supports_image_detail_original: bool = False
    experimental_tools: tuple[str, ...] = ()
    """Further tools the model wants, by name."""
    visibility: str = "list"
    multi_agent: Generation | Literal["disabled"] | None = None
    """Which tools for working with other agents it was trained on; None: nothing is said."""
    is_fallback: bool = False
    """True when nothing is known of the model and all of this is guessed."""

    @property
    def usable_context_window(self) -> int | None:
        """Tokens that requests may fill; None when the window is not known."""
        if self.context_window is None:
            return None
        return self.context_window * self.effective_context_window_percent // 100


@attrs.frozen(kw_only=True)
class Provider:
    """Where a model is reached. Times are in seconds."""

    id: str
    name: str = ""
    base_url: str = ""
    env_key: str | None = None
    env_key_instructions: str | None = None
    bearer_token: str | None = attrs.field(default=None, repr=False)
    query_params: Mapping[str, str] = attrs.field(factory=dict)
    http_headers: Mapping[str, str] = attrs.field(factory=dict, repr=False)
    env_http_headers: Mapping[str, str] = attrs.field(factory=dict)
    request_max_retries: int = 4
    """Times a request is sent again before its response began."""
    stream_max_retries: int = 5
    """Times a sampling is done anew after its stream broke."""
    stream_idle_timeout: float = 300.0
    """Longest silence in a stream."""
    requires_openai_auth: bool = False
    script: str | None = None
    """Path of a script that plays the model; then nothing is sent anywhere."""


@attrs.frozen(kw_only=True)
class GuideRules:
    """How to look for what people wrote for agents, in files named ``AGENTS.md``."""

    max_bytes: int = attrs.field(default=32 * 1024, validator=attrs.validators.ge(0))
    """Most that all files of a project may come to; 0: none of them is read. The
    default is the reference's."""
    fallback_names: tuple[str, ...] = ()
    """Names to look for where a directory has no ``AGENTS.md``."""
    root_markers: tuple[str, ...] = (".git",)
    """The nearest directory above that has one of these is the project's root; empty:
    only the working directory counts."""
    trust: Mapping[str, bool] = attrs.field(factory=dict)
    """By directory: whether what its files say may be heeded. Nothing said: yes."""


@attrs.frozen(kw_only=True)
class PromptHistoryRules:
    """What is kept of the prompts that people typed."""

    save: bool = True
    max_bytes: int | None = attrs.field(
        default=None, validator=attrs.validators.optional(attrs.validators.gt(0))
    )
    """When the file is larger, its oldest lines go; None: it grows."""


@attrs.frozen(kw_only=True)
class Bound:
    """What an agent may not go beyond, whatever its own policy comes to: its owner's policy.

    The places that a policy names are looked up before each command. Who may write where a place
    is could make it lead elsewhere; so it is not enough to compare two policies once.
    """

    policy: SandboxPolicy
    cwd: str
    """The working directory that the policy is about."""


@attrs.frozen(kw_only=True)
class Settings:
    """Everything an agent is started with. One value; nothing is looked up later."""

    model: ModelInfo
    provider: Provider
    cwd: str
    """Absolute path of the working directory."""
    home: str
    """Absolute path of the home directory of codex_actors."""
    approval_policy: ApprovalPolicy = "never"
    sandbox_policy: SandboxPolicy | None = None
    """None: nobody chose one, and nothing may run."""
    bounds: tuple[Bound, ...] = ()
    """The policies of those above that were narrowed for this agent."""
    effort: str | None = None
    summary: str | None = None
    verbosity: str | None = None
    service_tier: str | None = None
    base_instructions: str | None = None
    """Replaces the program's own base instructions."""
    developer_instructions: str | None = None
    guides: GuideRules | None = None
    """None: no ``AGENTS.md`` is looked for."""
    output_schema: Any = None
    shell: str = "/bin/bash"
    """Absolute path of the shell that commands are run with."""
    ephemeral: bool = False
    """True: nothing is written to disk."""
    originator: str = "codex_actors"
    source: str = "exec"
    features: Mapping[str, bool] = attrs.field(factory=dict)
    models: Mapping[str, ModelInfo] = attrs.field(factory=dict)
    """Every model with known metadata, by slug; others get a fallback."""
    tool_output_token_limit: int | None = None
    show_raw_agent_reasoning: bool = False
    environment: Mapping[str, str] = attrs.field(factory=dict, repr=False)
    """Environment of the commands that tools start."""
    allow_login_shell: bool = True
    """False: commands do not read the login profile first, and models cannot ask for it."""
    timezone: str = "UTC"
    notify: tuple[str, ...] = ()
    """A program, and its first arguments, to be told of each completed turn; empty: none."""
    prompt_history: PromptHistoryRules = PromptHistoryRules()
    limits: Limits = Limits()
    """Of the tree."""
    capacity: Capacity = Capacity()
    deadlines: Deadlines = Deadlines()
    collaboration: Collaboration = Collaboration()
    """Which tools models have to work with other agents; none, unless somebody says so."""
