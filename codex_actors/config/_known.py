"""Which keys there are, and a warning for every other.

Keys of the reference that do nothing here are known too: a configuration written for it
loads without complaint.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping

from ._collaboration import AGENTS, ROLE, ROLE_FILE, TEAM, read_role_file, role_names, team_table
from ._errors import SettingsError, find_nearest, list_choices
from ._features import ELSEWHERE, FEATURES
from ._limits import CAPACITY, DEADLINES, LIMITS
from ._profiles import NETWORK, PROFILE
from ._table import Table


def _words(text: str) -> tuple[str, ...]:
    return tuple(text.split())


_USED = _words("""
    agents allow_login_shell approval_policy capacity deadlines default_permissions
    developer_instructions features history limits model
    model_auto_compact_token_limit
    model_context_window model_instructions_file model_provider model_providers
    model_reasoning_effort model_reasoning_summary model_verbosity models openai_base_url
    notify oss_provider permissions profile project_doc_fallback_filenames project_doc_max_bytes
    project_root_markers projects
    sandbox_mode sandbox_workspace_write service_tier shell_environment_policy
    show_raw_agent_reasoning tool_output_token_limit
""")

# Found by asking the reference's --strict-config, release 0.163; older ones from its past.
_IGNORED = _words("""
    allow_symlinked_codex_home analytics approvals_reviewer apps
    apps_mcp_product_sku audio auto_review background_terminal_max_timeout browser_use
    chatgpt_base_url check_for_update_on_startup cli_auth_credentials_store cloud
    compact_prompt computer_use desktop disable_paste_burst
    experimental_compact_prompt_file experimental_realtime_start_instructions
    experimental_realtime_webrtc_call_base_url experimental_realtime_ws_backend_prompt
    experimental_realtime_ws_base_url experimental_realtime_ws_model
    experimental_realtime_ws_startup_context experimental_thread_store
    experimental_thread_store_endpoint experimental_use_unified_exec_tool feedback
    file_opener forced_chatgpt_workspace_id forced_login_method ghost_snapshot goals
    hide_agent_reasoning hooks include_apps_instructions
    include_collaboration_mode_instructions include_environment_context
    include_permissions_instructions instructions js_repl_node_module_dirs
    js_repl_node_path log_dir marketplaces mcp_enterprise_managed_auth
    mcp_oauth_callback_port mcp_oauth_callback_url mcp_oauth_credentials_store
    mcp_optional_startup_grace_ms mcp_servers memories model_auto_compact_token_limit_scope
    model_catalog_json model_post_turn_compact_threshold_percent notice orchestrator
    otel personality plan_mode_reasoning_effort plugins
    profiles realtime responses_api_metadata review_model skills sqlite_home
    suppress_unstable_features_warning thread_unload_delay_secs tool_suggest tools tui
    web_search windows

    apps_mcp_path_override commit_attribution debug disable_response_storage
    experimental_instructions_file experimental_resume
    experimental_sandbox_command_assessment experimental_thread_config_endpoint
    experimental_use_exec_command_tool experimental_use_freeform_apply_patch
    experimental_use_rmcp_client include_plan_tool model_supports_reasoning_summaries
    preferred_auth_method windows_wsl_setup_acknowledged zsh_path
""")

_PROVIDER = _words("""
    auth aws base_url env_http_headers env_key env_key_instructions
    experimental_bearer_token http_headers name query_params request_max_retries
    requires_openai_auth stream_idle_timeout_ms stream_max_retries
    supports_standalone_web_search supports_websockets websocket_connect_timeout_ms wire_api
""")

_MODEL = _words("""
    apply_patch auto_compact_token_limit context_window default_effort default_summary
    default_verbosity description display_name effective_context_window_percent efforts
    experimental_tools input_modalities max_context_window multi_agent supports_image_detail_original
    supports_summary supports_verbosity truncation visibility
""")

_TABLES: Mapping[str, Collection[str]] = {
    "capacity": CAPACITY,
    "deadlines": DEADLINES,
    "history": ("persistence", "max_bytes"),
    "limits": LIMITS,
    "sandbox_workspace_write": (
        _words("writable_roots network_access exclude_tmpdir_env_var exclude_slash_tmp")
    ),
    "shell_environment_policy": (
        *_words("inherit ignore_default_excludes keep exclude set include_only"),
        "experimental_use_profile",
    ),
}

_FEW = 8
"""So many keys can be listed in a line; of more, the nearest has to do."""

# What a provider needs in order to work, and we cannot do.
_INERT = ("auth", "aws")


def find_unknown(root: Table) -> Iterator[SettingsError]:
    """A complaint about every key that nobody knows. All tables must have been read before."""
    yield from _unknown(root, (*_USED, *_IGNORED))
    yield from _unknown_features(root.table("features"))
    for key, known in _TABLES.items():
        yield from _unknown(root.table(key), known)
    yield from _unknown(team_table(root), TEAM)
    yield from _unknown_in_roles(root.table("agents"))
    for profile in root.tables("permissions").values():
        yield from _unknown(profile, PROFILE)
        yield from _unknown(profile.table("network"), NETWORK)
    for name, provider in root.tables("model_providers").items():
        if name != "scripted":
            yield from _unknown(provider, _PROVIDER)
    for model in root.tables("models").values():
        yield from _unknown(model, _MODEL)
        yield from _unknown(model.table("truncation"), ("mode", "limit"))


def find_inert(root: Table) -> Iterator[SettingsError]:
    """A complaint about every key that is known, and that something will not work without."""
    for name, provider in root.tables("model_providers").items():
        for key in _INERT:
            if name != "scripted" and key in provider.values:
                yield provider.refuse(key, "is not supported; requests go out without it")


def _unknown_features(table: Table) -> Iterator[SettingsError]:
    for name in table.values:
        if name not in FEATURES and name not in ELSEWHERE:
            nearest = find_nearest(name, FEATURES) or find_nearest(name, ELSEWHERE)
            yield table.refuse(name, f"unknown feature, expected {list_choices(FEATURES)}", nearest)


def _unknown_in_roles(agents: Table) -> Iterator[SettingsError]:
    roles = role_names(agents)
    yield from _unknown(agents, (*AGENTS, *roles))
    for name in roles:
        yield from _unknown(agents.table(name), ROLE)
        yield from _inert_in_role_file(read_role_file(agents.table(name)))


def find_unknown_in_role_file(file: Table) -> Iterator[SettingsError]:
    """A complaint about every key of a role's file that nobody knows, in a role or elsewhere."""
    yield from _unknown(file, (*ROLE_FILE, *_USED, *_IGNORED))


def _inert_in_role_file(file: Table) -> Iterator[SettingsError]:
    for key in file.values:
        if key not in ROLE_FILE:
            problem = "has no effect in a role, which can only narrow what its bearer may do"
            yield file.refuse(key, problem, find_nearest(key, ROLE_FILE))
    for key in file.table("features").values:
        if key != "shell_tool":
            yield file.table("features").refuse(
                key, "has no effect in a role; the only feature here is 'shell_tool'"
            )


def _unknown(table: Table, known: Collection[str]) -> Iterator[SettingsError]:
    for key in table.values:
        if key not in known:
            expected = f", expected {list_choices(known)}" if len(known) <= _FEW else ""
            yield table.refuse(key, f"unknown key{expected}", find_nearest(key, known))
