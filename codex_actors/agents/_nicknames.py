"""What people call agents: names of rivers, or what a role says."""

from __future__ import annotations

import re
from collections.abc import Collection, Sequence
from typing import Final

_NAMES: Final = """
    Adige Aller Amur Arno Avon Bann Clyde Dal Danube Dee Derwent Don Dordogne Dvina Ebro Eider
    Elbe Ems Eure Exe Forth Ganges Garonne Glomma Havel Humber Indus Inn Isar Jordan Kama Kemi
    Lahn Lech Lena Loire Lule Main Marne Medway Meuse Mosel Mur Narew Neckar Nile Nith Oder Ohm
    Oise Oka Orne Ouse Parana Plata Po Prut Rhine Rhone Ruhr Saale Sava Seine Severn Shannon
    Sieg Somme Spree Spey Tagus Tamar Tay Tees Test Thames Tiber Tisza Torne Trent Tweed Tyne
    Una Ural Vaal Vilaine Vistula Volga Vltava Waal Warta Waveney Wear Weser Wye Yare Yonne Yser
    Yukon Zambezi
"""
NAMES: Final = tuple(_NAMES.split())


def pick_nickname(candidates: Sequence[str], used: Collection[str], turn: int) -> str:
    """Return a name that nobody has.

    Args:
        candidates: Names to choose from; none: the rivers.
        used: Names that somebody has.
        turn: Where in the list to begin to look, so that names do not repeat too soon.
    """
    names = candidates or NAMES
    ordinal = 1
    while True:
        for index in range(len(names)):
            name = names[(turn + index) % len(names)]
            full = name if ordinal == 1 else f"{name} the {_ordinal(ordinal)}"
            if full not in used:
                return full
        ordinal += 1


def path_name(nickname: str) -> str:
    """Return a nickname as the last part of a path."""
    return re.sub(r"[^a-z0-9_]+", "_", nickname.lower()).strip("_") or "agent"


def _ordinal(number: int) -> str:
    if number % 100 in (11, 12, 13):
        return f"{number}th"
    return f"{number}{({1: 'st', 2: 'nd', 3: 'rd'}).get(number % 10, 'th')}"
