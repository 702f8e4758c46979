"""How tagged unions are spelled: ``{"type": tag, ...fields}``, and unknown tags kept."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Final

import attrs
import cattrs

from ._shapes import Misfit, structure, table, without


@attrs.frozen(kw_only=True)
class TaggedUnion:
    """The spelling of one union of classes.

    Tags are never reused: one that is retired stays in ``also_read``.
    """

    tags: Mapping[str, type[Any]]
    """Every class by the tag it is written with."""
    other: Callable[[str, dict[str, Any]], Any] | None = None
    """Makes the value of an unknown tag, or of a known one whose fields do not fit; without it
    such a value is refused."""
    also_read: Mapping[str, type[Any]] = attrs.field(factory=dict)
    """Further tags that were written once, by us or by others."""

    def reader(self, converter: cattrs.Converter) -> Callable[[Any, Any], Any]:
        """The structure hook of the union."""
        classes: Final = {**self.also_read, **self.tags}

        def read(value: Any, _: Any = None) -> Any:
            tag = table(value).get("type")
            cls = classes.get(tag) if isinstance(tag, str) else None
            try:
                if cls is None:
                    raise Misfit(f"{tag!r} is not one of {', '.join(classes)}")
                return structure(converter, value, cls)
            except Misfit:
                if self.other is None:
                    raise
            return self.other(tag if isinstance(tag, str) else "", _rest(value, tag))

        return read

    def writer(self, converter: cattrs.Converter) -> Callable[[Any], dict[str, Any]]:
        """The unstructure hook of the union."""
        tags: Final = {cls: tag for tag, cls in self.tags.items()}
        writers: dict[type[Any], Callable[[Any], dict[str, Any]]] = {}

        def write(value: Any) -> dict[str, Any]:
            cls = type(value)
            tag = tags.get(cls)
            if tag is None:
                return {"type": value.type, **value.fields} if value.type else dict(value.fields)
            if cls not in writers:
                # With the first value: by then the converter has learned everything.
                writers[cls] = converter.get_unstructure_hook(cls)
            return {"type": tag, **writers[cls](value)}

        return write

    def register(self, converter: cattrs.Converter, union: Any) -> None:
        """Read and write every field of this union's type so, and those where it may be None."""
        read, write = self.reader(converter), self.writer(converter)
        converter.register_structure_hook(union, read)
        converter.register_unstructure_hook(union, write)
        optional_hooks(converter, union, read, write)


def optional_hooks(
    converter: cattrs.Converter,
    union: Any,
    read: Callable[[Any, Any], Any],
    write: Callable[[Any], Any],
) -> None:
    """The same hooks for ``union | None``, which Python flattens into another union."""
    converter.register_structure_hook(
        union | None, lambda value, _: None if value is None else read(value, union)
    )
    converter.register_unstructure_hook(
        union | None, lambda value: None if value is None else write(value)
    )


def _rest(value: Mapping[str, Any], tag: Any) -> dict[str, Any]:
    return without(value, "type") if isinstance(tag, str) else dict(value)
