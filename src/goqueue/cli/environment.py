"""What the environment says to commands: where contexts are kept, and whether colours are wanted."""

import os
from pathlib import Path

__all__ = ["CONFIG_VARIABLE", "config_file", "variable", "wants_colour"]

CONFIG_VARIABLE = "GOQUEUE_CONFIG"


def config_file() -> Path:
    """The file of the variable, or else the usual place for settings of this user."""
    named = os.environ.get(CONFIG_VARIABLE)
    if named:
        return Path(named)
    home = os.environ.get("XDG_CONFIG_HOME")
    # The convention says that a folder which is not absolute is to be ignored.
    folder = Path(home) if home and os.path.isabs(home) else Path.home() / ".config"
    return folder / "goqueue" / "config.toml"


def wants_colour() -> bool:
    """Not with NO_COLOR, whatever text it has but none."""
    return not os.environ.get("NO_COLOR")


def variable(name: str) -> str | None:
    """None also for one that is empty."""
    return os.environ.get(name) or None
