"""The version, in a module of its own: everything may import it."""

__version__ = "0.3.0"
