"""Arguments of tools: one attrs class gives both the JSON schema and the parser.

A field is described by annotating it: ``path: Annotated[str, "Where the file is."]``. A pair
among the annotations is put into the field's schema, for what types do not say.
"""

from __future__ import annotations

import types
from collections.abc import Callable, Collection, Mapping
from typing import (
    Annotated,
    Any,
    Generic,
    Literal,
    TypeAlias,
    TypeVar,
    Union,
    final,
    get_args,
    get_origin,
)

import attrs
import cattrs
from cattrs.cols import list_structure_factory
from cattrs.errors import ForbiddenExtraKeysError
from cattrs.gen import make_dict_structure_fn

from .._errors import CodexActorsError
from ._json import BadJson, WireError, decode_object

T = TypeVar("T")
_Schema: TypeAlias = dict[str, Any]


@final
class BadArguments(WireError):
    """A model's arguments do not fit the tool; the message is written for the model."""


@final
class Indescribable(CodexActorsError, TypeError):
    """A field of an arguments class has a type that a schema cannot describe."""


@final
@attrs.frozen
class Arguments(Generic[T]):
    """What a tool takes: told to the model, and understood when it comes."""

    schema: Mapping[str, Any]
    """JSON schema of an object."""
    parse: Callable[[str], T]
    """Makes the value of JSON text; raises `BadArguments`."""


def make_arguments(
    cls: type[T], *, strict: bool = False, hidden: Collection[str] = ()
) -> Arguments[T]:
    """Return schema and parser of an attrs class.

    Its fields may be strings, numbers, booleans, literals of strings, ``tuple[X, ...]``,
    attrs classes, and ``X | None``; without a default a field is required.

    Args:
        cls: The class.
        strict: Refuse fields that the class does not have, instead of ignoring them.
        hidden: Fields that are understood, but not told to the model.

    Raises:
        Indescribable: if a field has another type.
    """
    schema = _object_schema(cls)
    shown = {key: value for key, value in schema["properties"].items() if key not in hidden}
    converter = _make_converter(strict=strict)

    def parse(text: str) -> T:
        try:
            fields = decode_object(text.encode("utf-8", "replace") if text.strip() else b"{}")
            return converter.structure(fields, cls)
        except BadJson as error:
            why = f"not JSON: {error.__cause__}" if error.__cause__ else "expected an object"
            raise BadArguments(_PREFIX + why) from error
        except cattrs.BaseValidationError as error:
            raise BadArguments(_PREFIX + "; ".join(_complaints(error))) from error

    return Arguments({**schema, "properties": shown}, parse)


_PREFIX = "failed to parse function arguments: "


# --- schemas ----------------------------------------------------------------

_PLAIN = {str: "string", int: "integer", float: "number", bool: "boolean"}


def _object_schema(cls: type[Any]) -> _Schema:
    fields = attrs.fields(attrs.resolve_types(cls))
    required = [field.name for field in fields if field.default is attrs.NOTHING]
    return {
        "type": "object",
        "properties": {field.name: _schema(field.type) for field in fields},
        **({"required": required} if required else {}),
        "additionalProperties": False,
    }


def _schema(kind: Any) -> _Schema:
    origin = get_origin(kind)
    if origin is Annotated:
        return _annotated(kind)
    if origin in (Union, types.UnionType):
        inner = [arm for arm in get_args(kind) if arm is not types.NoneType]
        if len(inner) == 1:
            return _schema(inner[0])
    if kind in _PLAIN:
        return {"type": _PLAIN[kind]}
    if origin is Literal:
        return {"type": "string", "enum": list(get_args(kind))}
    if origin is tuple:
        return {"type": "array", "items": _schema(get_args(kind)[0])}
    if isinstance(kind, type) and attrs.has(kind):
        return _object_schema(kind)
    raise Indescribable(f"no schema describes {kind!r}; use plain types, tuples or attrs classes")


def _annotated(kind: Any) -> _Schema:
    schema = _schema(get_args(kind)[0])
    for note in get_args(kind)[1:]:
        key, value = ("description", note) if isinstance(note, str) else note
        # Notes are hashed, which lists cannot be.
        schema[key] = list(value) if isinstance(value, tuple) else value
    return schema


# --- parsing ----------------------------------------------------------------


def _make_converter(*, strict: bool) -> cattrs.Converter:
    converter = cattrs.Converter(forbid_extra_keys=strict)
    for kind in _PLAIN:
        converter.register_structure_hook(kind, _take_plain)

    def make_object_hook(cls: Any) -> Callable[[Any, Any], Any]:
        build = make_dict_structure_fn(cls, converter, _cattrs_forbid_extra_keys=strict)
        return lambda value, _: build(_expect(dict, value), cls)

    def make_tuple_hook(kind: Any) -> Callable[[Any, Any], Any]:
        items: Any = list[get_args(kind)[0]]  # type: ignore[misc]
        build = list_structure_factory(items, converter)
        return lambda value, _: tuple(build(_expect(list, value), items))

    converter.register_structure_hook_factory(attrs.has, make_object_hook)
    converter.register_structure_hook_factory(_is_tuple, make_tuple_hook)
    converter.register_structure_hook_func(_is_literal, _take_literal)
    return converter


def _is_tuple(kind: Any) -> bool:
    return get_origin(kind) is tuple


def _is_literal(kind: Any) -> bool:
    return get_origin(kind) is Literal


_WORDS: dict[type, str] = {
    str: "a string",
    int: "a whole number",
    float: "a number",
    bool: "true or false",
    dict: "an object",
    list: "a list",
    types.NoneType: "null",
}


def _take_plain(value: Any, kind: type[T]) -> T:
    """Take a value as it is: text is no number, and true is not 1."""
    if kind is float and type(value) is int:
        value = float(value)
    return _expect(kind, value)


def _take_literal(value: Any, kind: Any) -> Any:
    allowed = get_args(kind)
    if value not in allowed:
        raise ValueError(f"expected one of {', '.join(map(repr, allowed))}, not {value!r}")
    return value


def _expect(kind: type[T], value: Any) -> T:
    if type(value) is not kind:
        got = _WORDS[type(value)]
        raise TypeError(f"expected {_WORDS[kind]}, not {got}")
    return value


def _complaints(error: cattrs.BaseValidationError) -> list[str]:
    return cattrs.transform_error(error, path="arguments", format_exception=_complaint)


def _complaint(error: BaseException, _kind: type[Any] | None) -> str:
    match error:
        case KeyError():
            return f"missing field {error.args[0]!r}"
        case ForbiddenExtraKeysError():
            return f"unknown fields {', '.join(map(repr, sorted(error.extra_fields)))}"
        case _:
            return str(error.args[0])
