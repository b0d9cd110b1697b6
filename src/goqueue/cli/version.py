"""`goqueue version`: which GoQueue this is, on which Python, with which codec."""

from goqueue.cli.about import facts, print_facts
from goqueue.cli.output import Output, OutputOption, print_answer

__all__ = ["version"]


def version(output: OutputOption = Output.TABLE) -> None:
    """Print the version of GoQueue, of Python and of the codec.

    The codec is `compiled`, or `python` when GoQueue was installed without a C compiler: that one is slow.

    Example: goqueue version -o json
    """
    print_answer(facts(), output, print_facts)
