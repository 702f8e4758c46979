"""Settings from several places, laid over each other; later layers win.

Tables are joined key by key, anything else is replaced. Of every key it is known which
layer it came from, so that an error can say so and a relative path can be resolved.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, TypeAlias, final

import attrs

Path: TypeAlias = tuple[str, ...]


@final
@attrs.frozen
class Layer:
    """What one place says."""

    name: str
    """For people: a file, or an option of the command line."""
    values: Mapping[str, Any]
    """As `tomllib` returns it."""
    base: str
    """Absolute directory that relative paths start from."""
    lines: Mapping[Path, int] = attrs.field(factory=dict, repr=False)
    """The line that a key is on, where the place has lines."""

    def place(self, path: Path) -> str:
        """Where this layer says something about ``path``, for people."""
        line = self.lines.get(path)
        return self.name if line is None else f"{self.name}:{line}"


@final
@attrs.frozen
class Merged:
    """All layers as one."""

    values: Mapping[str, Any]
    origins: Mapping[Path, Layer] = attrs.field(repr=False)
    user_home: str | None = None
    """What ``~`` stands for."""
    layers: Sequence[Layer] = attrs.field(default=(), repr=False)
    """The lowest first."""

    def origin(self, path: Path) -> Layer | None:
        """The layer that had the last word about ``path``, or about what it is part of."""
        for length in range(len(path), 0, -1):
            if found := self.origins.get(path[:length]):
                return found
        return None

    def is_above(self, key: str, other: str) -> bool:
        """Whether a higher layer speaks of the one key than of the other; both are set."""
        return self._rank(key) > self._rank(other)

    def _rank(self, key: str) -> int:
        layer = self.origins[(key,)]
        # Each -c is a layer, but none of them is more than the others.
        return max(i for i, each in enumerate(self.layers) if each.name == layer.name)


def merge_layers(layers: Sequence[Layer], *, user_home: str | None = None) -> Merged:
    """Lay ``layers`` over each other, the first one lowest."""
    values: dict[str, Any] = {}
    origins: dict[Path, Layer] = {}
    for layer in layers:
        _lay_over(values, layer, origins)
    return Merged(values, origins, user_home, layers)


def _lay_over(values: dict[str, Any], layer: Layer, origins: dict[Path, Layer]) -> None:
    # A stack, not recursion: dotted keys can nest deeper than Python calls do.
    pending: list[tuple[Path, dict[str, Any], Mapping[str, Any]]] = [((), values, layer.values)]
    while pending:
        path, under, over = pending.pop()
        for key, value in over.items():
            origins[(*path, key)] = layer
            if isinstance(value, Mapping):
                below = under.get(key)
                under[key] = below if isinstance(below, dict) else {}
                pending.append(((*path, key), under[key], value))
            else:
                under[key] = value
