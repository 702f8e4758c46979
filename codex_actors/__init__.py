"""Supervised trees of coding agents, as Trio actors."""

from ._version import __version__ as __version__
