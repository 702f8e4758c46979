"""Markdown as the live view shows it: quiet, without boxes, backgrounds and links."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final, final

import attrs
from rich.console import Console, ConsoleOptions, RenderableType
from rich.markdown import CodeBlock, Heading, Markdown, TableElement
from rich.segment import Segment
from rich.syntax import Syntax
from rich.table import Table
from rich.text import Text
from rich.theme import Theme

LONGEST: Final = 20_000
"""Characters; a longer text is shown as it is, since laying it out takes too long."""

THEME: Final = Theme({"markdown.code": "cyan", "markdown.code_block": "cyan"})
"""No backgrounds: nobody knows whether the terminal is dark or light."""


class _PlainHeading(Heading):
    """A heading where it stands, instead of centred in a box."""

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> Iterator[Text]:
        self.text.justify = "left"
        self.text.stylize("bold")
        yield self.text


class _CloseCode(CodeBlock):
    """Code without empty lines around it."""

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> Iterator[Syntax]:
        yield Syntax(
            str(self.text).rstrip(),
            self.lexer_name,
            theme=self.theme,
            word_wrap=True,
            padding=(0, 2),
            background_color="default",
        )


class _CloseTable(TableElement):
    """A table without empty lines around it."""

    def __rich_console__(
        self, console: Console, options: ConsoleOptions
    ) -> Iterator[RenderableType]:
        for part in super().__rich_console__(console, options):
            if isinstance(part, Table):
                part.show_edge = False
                yield part


class _Markdown(Markdown):
    elements = {  # noqa: RUF012 - as in rich
        **Markdown.elements,
        "heading_open": _PlainHeading,
        "fence": _CloseCode,
        "code_block": _CloseCode,
        "table_open": _CloseTable,
    }


@final
@attrs.frozen
class _Trimmed:
    """Something without empty lines around it and blanks at the ends of its lines."""

    inner: RenderableType

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> Iterator[Segment]:
        lines = [_rstrip(line) for line in console.render_lines(self.inner, options, pad=False)]
        full = [index for index, line in enumerate(lines) if line]
        for line in lines[full[0] : full[-1] + 1] if full else ():
            yield from line
            yield Segment.line()


def _rstrip(line: list[Segment]) -> list[Segment]:
    line = list(line)
    while line and not line[-1].text.strip():
        line.pop()
    if line:
        line[-1] = Segment(line[-1].text.rstrip(), line[-1].style)
    return line


def markdown(text: str, style: str = "none") -> RenderableType:
    """Return the look of a text of the model."""
    text = text.strip("\n")
    if len(text) > LONGEST:
        return Text(text, style=style)
    return _Trimmed(_Markdown(text, code_theme="ansi_dark", hyperlinks=False, style=style))
