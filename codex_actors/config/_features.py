"""The features that there are, and those that a configuration may name without a warning."""

from __future__ import annotations

from typing import Final

FEATURES: Final = (
    "apply_patch",
    "exec_permission_approvals",
    "multi_agent",
    "multi_agent_v2",
    "request_permissions_tool",
    "undo",
    "update_plan",
    "write_stdin_approval",
)
"""What does something here: see `codex_actors.tools.standard_tools`, and `Collaboration`."""

_ELSEWHERE: Final = """
    agent_message_board analytics_plan_history api_key_cyber_access_programs
    api_key_model_discovery apply_patch_freeform apply_patch_preserve_line_endings
    apply_patch_streaming_events apps apps_mcp_path_override artifact async_compaction
    auth_elicitation background_paginated_rollout_migration bedrock_setup_wizard
    browser_annotation_api browser_use browser_use_external browser_use_full_cdp_access
    chronicle cli_daybreak code_mode code_mode_buffered_exec code_mode_host code_mode_host_grpc
    code_mode_interrupt code_mode_only code_mode_only_strict_3p_tools code_mode_prewarm
    code_mode_tool_description_first code_mode_tool_search codex_apps_mcp_2026_07_28
    codex_git_commit collaboration_modes compaction_image_budget computer_use
    concurrent_reasoning_summaries content_item_kinds context_management credential_masking
    current_time_reminder cwd_relative_turn_diffs daemon_auto_start
    default_mode_request_user_input defer_mailbox_preemption deferred_executor
    deferred_tool_world_state elevated_windows_sandbox enable_fanout enable_mcp_apps
    enable_request_compression executed_tool_call_metadata
    executor_capability_discovery experimental_windows_sandbox external_agent_memory_import
    external_migration fast_mode goals guardian_approval guardian_conversation_history_tools
    guardian_enhanced_node_repl_transcripts guardian_ext guardian_node_repl_transcript_images
    guardian_reuse_parent_compaction guardian_root_handoff_context
    guardian_trust_orchestrator_connectors guardianv2 guardianv2_decisions_comparison hooks
    image_detail_original image_generation image_resize_notice in_app_browser in_app_chat
    in_app_dictation in_app_local_automation in_app_updates in_app_voice incremental_tools
    instant_interrupt item_ids js_repl js_repl_tools_only local_thread_store_compression
    local_thread_store_shared_compression login_shell_package_path mcp_2026_07_28
    mcp_oauth_refresh_coordination memories mentions_v2 model_catalog_in_context
    multi_agent_mode multi_agent_v2_dynamic_tools network_proxy
    non_prefixed_mcp_tool_names nonfatal_clock_read_errors omit_app_server_notification_media
    output_token_replay personality plugin_hooks plugin_sharing plugins
    powershell_shell_version prefer_mxc prevent_idle_sleep psp realtime_conversation
    reasoning_effort_override recommended_plugins remote_compaction_v2 remote_control
    remote_models remote_plugin request_rule resize_all_images
    respect_system_proxy responses_websockets responses_websockets_v2
    retain_client_developer_messages retain_client_tool_outputs rollout_budget runtime_metrics
    search_tool secret_auth_storage send_async_message send_message_to_user_async
    shell_snapshot shell_snapshot_v2 shell_tool shell_zsh_fork skill_env_var_dependency_prompt
    skill_mcp_dependency_install skill_search skip_host_skill_discovery sleep_tool sqlite
    stable_environment_tools standalone_web_search steer step_model_switching
    subagent_default_context_limits system_proxy_fallback terminal_resize_reflow
    terminal_visualization_instructions token_budget tool_call_mcp_elicitation tool_search
    tool_search_always_defer_mcp_tools tool_suggest transcript_v2 tui_app_server ultrafast_mode
    unavailable_dummy_tools unbounded_connection_retries unified_exec unified_exec_tty
    unified_exec_zsh_fork unified_image_budget use_agent_identity use_legacy_landlock
    use_linux_sandbox_bwrap use_xaa view_image web_search_cached web_search_request
    windows_sandbox_service workspace_dependencies workspace_owner_usage_nudge worktrees"""

ELSEWHERE: Final = tuple(_ELSEWHERE.split())
"""Features of the reference that do nothing here, from the list that its release 0.163 prints."""
