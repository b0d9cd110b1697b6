"""`goqueue completion`: the script with which a shell completes commands, options and names."""

from typing import Annotated, Literal

import typer

__all__ = ["completion"]


def completion(
    shell: Annotated[
        Literal["bash", "zsh", "fish"], typer.Argument(metavar="SHELL", help="bash, zsh or fish.", show_default=False)
    ],
) -> None:
    """Print the script with which a shell completes commands, options, and names of topics, groups and contexts.

    For bash, put `source <(goqueue completion bash)` into ~/.bashrc; for zsh, the same with zsh into ~/.zshrc after
    `autoload -Uz compinit && compinit`; for fish, `goqueue completion fish > ~/.config/fish/completions/goqueue.fish`.

    Example: goqueue completion bash
    """
    from typer._completion_shared import get_completion_script

    print(get_completion_script(prog_name="goqueue", complete_var="_GOQUEUE_COMPLETE", shell=shell))
