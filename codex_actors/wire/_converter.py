"""One converter that knows how every value of the protocol is spelled."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial
from typing import Any, Final, TypeAlias, cast

import cattrs

from ..protocol import (
    AgentPlan,
    AgentStatus,
    EventMsg,
    Op,
    PostedLetter,
    Submission,
    TaskOutcome,
    TaskRecord,
)
from ._approvals import register_approvals
from ._events import register_events
from ._ops import register_ops, retagged
from ._policies import gather_policy, register_policies, spread_policy
from ._shapes import plain_converter, reshape, structure
from ._tasks import register_tasks
from ._turn_items import register_turn_items


def make_converter() -> cattrs.Converter:
    """A new converter for all values of the protocol; teach it more without harm to others."""
    converter = plain_converter()
    register_policies(converter)
    register_turn_items(converter)
    register_approvals(converter)
    register_events(converter)
    register_ops(converter)
    register_tasks(converter)
    gather, spread = partial(gather_policy, converter), partial(spread_policy, converter)
    reshape(converter, AgentPlan, read=gather, write=spread)
    return converter


def encode_event(msg: EventMsg) -> dict[str, Any]:
    """The event as the JSON object that it is spelled as."""
    return _write_event(msg)


def decode_event(fields: Mapping[str, Any]) -> EventMsg:
    """The event that a decoded JSON object stands for.

    Nothing is refused: what is unknown or does not fit becomes an `UnknownEvent`.
    """
    return cast("EventMsg", structure(CONVERTER, fields, EventMsg))


def encode_op(op: Op) -> dict[str, Any]:
    """The operation as the JSON object that it is spelled as."""
    return retagged(CONVERTER.unstructure(op, Op))


def decode_op(fields: Mapping[str, Any]) -> Op:
    """The operation that a decoded JSON object stands for.

    Nothing is refused: what is unknown or does not fit becomes an `UnknownOp`.
    """
    return cast("Op", structure(CONVERTER, fields, Op))


def encode_submission(submission: Submission) -> dict[str, Any]:
    """The submission as the JSON object that it is spelled as."""
    return {"id": submission.id, "op": encode_op(submission.op)}


def decode_submission(fields: Mapping[str, Any]) -> Submission:
    """The submission that a decoded JSON object stands for.

    Raises:
        WireError: if it has no id or no operation.
    """
    return cast("Submission", structure(CONVERTER, fields, Submission))


def encode_status(status: AgentStatus) -> Any:
    """The status as it is spelled: a word, or a table of one."""
    return CONVERTER.unstructure(status, AgentStatus)


def decode_status(value: Any) -> AgentStatus:
    """The status that a decoded JSON value stands for.

    Raises:
        WireError: if it is none.
    """
    return cast("AgentStatus", structure(CONVERTER, value, AgentStatus))


def encode_task(record: TaskRecord) -> dict[str, Any]:
    """The record as the JSON object that it is spelled as."""
    return cast("dict[str, Any]", CONVERTER.unstructure(record, TaskRecord))


def decode_task(fields: Mapping[str, Any]) -> TaskRecord:
    """The record that a decoded JSON object stands for.

    Raises:
        WireError: if it is none.
    """
    return cast("TaskRecord", structure(CONVERTER, fields, TaskRecord))


def encode_outcome(outcome: TaskOutcome) -> dict[str, Any]:
    """The outcome as the JSON object that it is spelled as."""
    return _write_outcome(outcome)


def decode_outcome(fields: Mapping[str, Any]) -> TaskOutcome:
    """The outcome that a decoded JSON object stands for.

    Raises:
        WireError: if it is none.
    """
    return cast("TaskOutcome", structure(CONVERTER, fields, TaskOutcome))


def encode_letter(letter: PostedLetter) -> dict[str, Any]:
    """The letter as the JSON object that it is spelled as."""
    return cast("dict[str, Any]", CONVERTER.unstructure(letter, PostedLetter))


def decode_letter(fields: Mapping[str, Any]) -> PostedLetter:
    """The letter that a decoded JSON object stands for.

    Raises:
        WireError: if it is none.
    """
    return cast("PostedLetter", structure(CONVERTER, fields, PostedLetter))


def encode_plan(plan: AgentPlan) -> dict[str, Any]:
    """The plan as the JSON object that it is spelled as."""
    return cast("dict[str, Any]", CONVERTER.unstructure(plan, AgentPlan))


def decode_plan(fields: Mapping[str, Any]) -> AgentPlan:
    """The plan that a decoded JSON object stands for.

    Raises:
        WireError: if it is none.
    """
    return cast("AgentPlan", structure(CONVERTER, fields, AgentPlan))


CONVERTER: Final = make_converter()
"""Shared by everything in `wire`; nobody teaches this one more."""

# To look up how a union of thirty is written takes longer than to write it.
_Writer: TypeAlias = Callable[[Any], dict[str, Any]]
_write_event: Final = cast("_Writer", CONVERTER.get_unstructure_hook(EventMsg))
_write_outcome: Final = cast("_Writer", CONVERTER.get_unstructure_hook(TaskOutcome))
