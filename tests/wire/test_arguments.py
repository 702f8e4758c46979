from __future__ import annotations

import json
from typing import Annotated, Any, Literal, TypeAlias, final

import attrs
import pytest
from hypothesis import given
from hypothesis import strategies as st

from codex_actors.testing._strategies import json_values
from codex_actors.wire._arguments import Arguments, BadArguments, Indescribable, make_arguments

Size: TypeAlias = Literal["small", "large"]


@final
@attrs.frozen
class Step:
    name: Annotated[str, "What to do."]
    done: bool = False


@final
@attrs.frozen(kw_only=True)
class Order:
    """One field of each type that a schema can describe."""

    what: Annotated[str, "The thing."]
    count: Annotated[int | None, "How many.", ("type", "number")] = attrs.field(
        default=None, validator=attrs.validators.optional(attrs.validators.ge(0))
    )
    price: float = 1.5
    size: Size | None = None
    steps: tuple[Step, ...] = ()
    tags: Annotated[tuple[str, ...] | None, "Words."] = None


def test_the_schema_says_it_all() -> None:
    step = {
        "type": "object",
        "properties": {
            "name": {"type": "string", "description": "What to do."},
            "done": {"type": "boolean"},
        },
        "required": ["name"],
        "additionalProperties": False,
    }

    assert {
        "type": "object",
        "properties": {
            "what": {"type": "string", "description": "The thing."},
            "count": {"type": "number", "description": "How many."},
            "price": {"type": "number"},
            "size": {"type": "string", "enum": ["small", "large"]},
            "steps": {"type": "array", "items": step},
            "tags": {"type": "array", "items": {"type": "string"}, "description": "Words."},
        },
        "required": ["what"],
        "additionalProperties": False,
    } == make_arguments(Order).schema


def test_what_is_hidden_is_understood() -> None:
    arguments = make_arguments(Step, hidden=["done"])

    assert ["name"] == list(arguments.schema["properties"])
    assert Step("x", done=True) == arguments.parse('{"name": "x", "done": true}')


@pytest.mark.parametrize(
    ("text", "order"),
    [
        ('{"what": "tea"}', Order(what="tea")),
        ('{"what": "tea", "count": null, "price": 2}', Order(what="tea", price=2.0)),
        ('{"what": "tea", "count": 0, "size": "small"}', Order(what="tea", count=0, size="small")),
        (
            '{"what": "t", "steps": [{"name": "a"}, {"name": "b", "done": true}], "tags": ["x"]}',
            Order(what="t", steps=(Step("a"), Step("b", done=True)), tags=("x",)),
        ),
        ('{"what": "tea", "else": 1}', Order(what="tea")),
    ],
)
def test_good_arguments(text: str, order: Order) -> None:
    assert order == make_arguments(Order).parse(text)


@pytest.mark.parametrize(
    ("text", "complaint"),
    [
        ("", "missing field 'what' @ arguments.what"),
        ("{", "not JSON: Input data was truncated"),
        ('["tea"]', "expected an object"),
        ('{"what": 5}', "expected a string, not a whole number @ arguments.what"),
        ('{"what": null}', "expected a string, not null @ arguments.what"),
        ('{"what": "t", "count": 1.5}', "expected a whole number, not a number @ arguments.count"),
        (
            '{"what": "t", "count": true}',
            "expected a whole number, not true or false @ arguments.count",
        ),
        ('{"what": "t", "count": "3"}', "expected a whole number, not a string @ arguments.count"),
        ('{"what": "t", "count": -3}', "'count' must be >= 0: -3 @ arguments"),
        ('{"what": "t", "price": "3"}', "expected a number, not a string @ arguments.price"),
        (
            '{"what": "t", "size": "huge"}',
            "expected one of 'small', 'large', not 'huge' @ arguments.size",
        ),
        ('{"what": "t", "steps": {}}', "expected a list, not an object @ arguments.steps"),
        ('{"what": "t", "steps": ["a"]}', "expected an object, not a string @ arguments.steps[0]"),
        ('{"what": "t", "tags": "abc"}', "expected a list, not a string @ arguments.tags"),
        (
            '{"price": [], "tags": [1]}',
            "missing field 'what' @ arguments.what; expected a number, not a list @"
            " arguments.price; expected a string, not a whole number @ arguments.tags[0]",
        ),
    ],
)
def test_bad_arguments_are_explained(text: str, complaint: str) -> None:
    with pytest.raises(BadArguments) as caught:
        make_arguments(Order).parse(text)

    assert f"failed to parse function arguments: {complaint}" == str(caught.value)


def test_strict_arguments_have_no_unknown_fields() -> None:
    arguments = make_arguments(Order, strict=True)
    with pytest.raises(BadArguments, match=r"unknown fields 'else', 'other' @ arguments$"):
        arguments.parse('{"what": "t", "other": 1, "else": 2}')
    with pytest.raises(BadArguments, match=r"unknown fields 'q' @ arguments.steps\[0\]$"):
        arguments.parse('{"what": "t", "steps": [{"name": "a", "q": 1}]}')


objects = st.dictionaries(
    st.sampled_from(["what", "count", "price", "size", "steps", "tags"]), json_values()
)


@given(objects)
def test_anything_parses_or_is_refused_in_words(fields: dict[str, Any]) -> None:
    try:
        order = make_arguments(Order).parse(json.dumps(fields))
    except BadArguments:
        return
    taken = attrs.asdict(order)

    assert {key: taken[key] for key in fields} == {
        key: tuple(value) if isinstance(value, list) else value for key, value in fields.items()
    }


@given(st.text())
def test_any_text_parses_or_is_refused(text: str) -> None:
    arguments: Arguments[Order] = make_arguments(Order)
    with pytest.raises(BadArguments):
        arguments.parse(text)


@pytest.mark.parametrize("kind", [bytes, dict[str, str], int | str, list[str]])
def test_what_no_schema_describes_is_a_mistake(kind: Any) -> None:
    cls = attrs.make_class("Odd", {"field": attrs.field(type=kind)})
    with pytest.raises(Indescribable, match="no schema describes"):
        make_arguments(cls)
