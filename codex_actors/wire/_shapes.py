"""The plain half of a converter: how fields, sequences and scalars are read and written.

Reading is strict about shapes (a number is no text, a text is no list) and tolerant about keys:
a key that a class has no field for is passed over. Writing leaves out what is absent: a field
that is None and may be left out.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Final, Literal, get_args, get_origin

import attrs
import cattrs
from cattrs.gen import make_dict_structure_fn, make_dict_unstructure_fn, override

from ._json import WireError


class Misfit(WireError):
    """A value without the shape of its class."""


# What structuring raises for a value of the wrong shape: a missing key, a wrong type, a word
# that is none of the allowed ones.
_REFUSALS: Final = (KeyError, TypeError, ValueError)
_BITS: Final = 256
"""Of whole numbers: JSON may have longer ones, which no division makes a float of."""


def structure(converter: cattrs.Converter, value: Any, cls: Any) -> Any:
    """The value as an object of the class or union.

    Raises:
        Misfit: if it has not the shape.
    """
    try:
        return converter.structure(value, cls)
    except _REFUSALS as error:
        raise Misfit(f"{str(value)[:80]!r} does not spell {cls!r}: {error!r}") from error


def plain_converter() -> cattrs.Converter:
    """A converter that knows scalars, sequences, tables and attrs classes."""
    converter = cattrs.Converter(detailed_validation=False)
    for scalar in (str, bool):
        converter.register_structure_hook(scalar, _exactly(scalar))
    converter.register_structure_hook(int, _whole_number)
    converter.register_structure_hook(float, _number)
    converter.register_structure_hook_factory(_is_choice, _choice_reader)
    converter.register_structure_hook_factory(_is_tuple, _tuple_reader(converter))
    converter.register_structure_hook_factory(_is_table, _table_reader(converter))
    converter.register_structure_hook_factory(attrs.has, _class_reader(converter))
    converter.register_unstructure_hook_factory(attrs.has, _class_writer(converter))
    return converter


def rename(converter: cattrs.Converter, cls: type[Any], **names: str) -> None:
    """Spell fields of the class otherwise than they are called."""
    overrides = {field: override(rename=name) for field, name in names.items()}
    converter.register_structure_hook(
        cls, make_dict_structure_fn(cls, converter, **_detailless(overrides))
    )
    converter.register_unstructure_hook(
        cls, make_dict_unstructure_fn(cls, converter, **_omitting(cls, overrides))
    )


def reshape(
    converter: cattrs.Converter,
    cls: type[Any],
    *,
    read: Callable[[dict[str, Any]], dict[str, Any]] = dict,
    write: Callable[[dict[str, Any]], dict[str, Any]] = dict,
) -> None:
    """Read and write the class through tables that are shaped otherwise than its fields."""
    reader = converter.get_structure_hook(cls)
    writer = converter.get_unstructure_hook(cls)
    converter.register_structure_hook(cls, lambda value, _: reader(read(table(value)), cls))
    converter.register_unstructure_hook(cls, lambda value: write(writer(value)))


def table(value: Any) -> dict[str, Any]:
    """The value, which must be a decoded JSON object.

    Raises:
        TypeError: if it is something else.
    """
    if not isinstance(value, dict):
        raise TypeError(f"{str(value)[:80]!r} is not a table")
    return value


def without(fields: Mapping[str, Any], *keys: str) -> dict[str, Any]:
    """The fields, except these."""
    return {key: value for key, value in fields.items() if key not in keys}


def _exactly(scalar: type[Any]) -> Callable[[Any, Any], Any]:
    def read(value: Any, _: Any) -> Any:
        if type(value) is not scalar:
            raise TypeError(f"{str(value)[:80]!r} is not a {scalar.__name__}")
        return value

    return read


def _whole_number(value: Any, _: Any) -> int:
    if type(value) is not int:
        raise TypeError(f"{str(value)[:80]!r} is not a int")
    if value.bit_length() > _BITS:
        raise ValueError("a number is longer than all that is counted here")
    return value


def _number(value: Any, _: Any) -> float:
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise TypeError(f"{str(value)[:80]!r} is not a number")
    try:
        return float(value)
    except OverflowError as error:
        raise ValueError("a number is longer than all that is measured here") from error


def _is_choice(cls: Any) -> bool:
    return get_origin(cls) is Literal


def _choice_reader(cls: Any) -> Callable[[Any, Any], Any]:
    choices = frozenset(get_args(cls))

    def read(value: Any, _: Any) -> Any:
        if value not in choices:
            raise ValueError(f"{value!r} is none of {sorted(choices)}")
        return value

    return read


def _is_tuple(cls: Any) -> bool:
    return get_origin(cls) is tuple


def _is_table(cls: Any) -> bool:
    return get_origin(cls) in (dict, Mapping)


def _tuple_reader(converter: cattrs.Converter) -> Callable[[Any], Callable[[Any, Any], Any]]:
    def make(cls: Any) -> Callable[[Any, Any], Any]:
        inner = get_args(cls)[0]
        read = converter.get_structure_hook(inner)

        def structure_tuple(value: Any, _: Any) -> tuple[Any, ...]:
            # Null stands for none: several of the reference's lists are optional.
            if value is not None and not isinstance(value, list | tuple):
                raise TypeError(f"{str(value)[:80]!r} is not a list")
            return tuple([read(element, inner) for element in value or ()])

        return structure_tuple

    return make


def _table_reader(converter: cattrs.Converter) -> Callable[[Any], Callable[[Any, Any], Any]]:
    def make(cls: Any) -> Callable[[Any, Any], Any]:
        inner = get_args(cls)[1]
        read = converter.get_structure_hook(inner)

        def structure_table(value: Any, _: Any) -> dict[str, Any]:
            return {key: read(element, inner) for key, element in table(value).items()}

        return structure_table

    return make


def _class_reader(converter: cattrs.Converter) -> Callable[[Any], Any]:
    return lambda cls: make_dict_structure_fn(cls, converter, **_detailless({}))


def _class_writer(converter: cattrs.Converter) -> Callable[[Any], Any]:
    return lambda cls: make_dict_unstructure_fn(cls, converter, **_omitting(cls, {}))


def _detailless(overrides: dict[str, Any]) -> dict[str, Any]:
    return {"_cattrs_detailed_validation": False, **overrides}


def _omitting(cls: type[Any], overrides: dict[str, Any]) -> dict[str, Any]:
    omitted = {
        field.name: attrs.evolve(overrides.get(field.name, override()), omit_if_default=True)
        for field in attrs.fields(attrs.resolve_types(cls))
        if field.default is None
    }
    return {**overrides, **omitted}
