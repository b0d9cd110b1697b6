"""Addresses of a broker: one as HOST:PORT, or several, in one text with commas between them or as a list."""

import os
from collections.abc import Iterator, Sequence
from time import monotonic

from goqueue.errors import BrokerUnreachable, InvalidRequest

__all__ = ["DEFAULT_BOOTSTRAP", "Addresses", "AttemptTimes", "addresses_of", "no_answer", "none_answers"]

DEFAULT_BOOTSTRAP = "127.0.0.1:7171"
NO_ANSWER = "no broker answers at "

Addresses = str | Sequence[str]


def addresses_of(bootstrap: Addresses) -> tuple[str, ...]:
    """Each address once, in the given order; each is checked when it is used."""
    texts = [bootstrap] if isinstance(bootstrap, str) else list(bootstrap)
    found = dict.fromkeys(address.strip() for text in texts for address in text.split(","))
    if not found:
        raise InvalidRequest("bootstrap must name at least one address, got none", hint="such as 127.0.0.1:7171")
    return tuple(found)


class AttemptTimes:
    """Seconds for each attempt to connect: an address that does not answer leaves time for those behind it."""

    def __init__(self, within_s: float) -> None:
        self._deadline = monotonic() + within_s

    def of(self, addresses: Sequence[str]) -> Iterator[tuple[str, float]]:
        for place, address in enumerate(addresses):
            yield address, max(0.0, self._deadline - monotonic()) / (len(addresses) - place)


def no_answer(address: str, error: OSError, within_s: float) -> BrokerUnreachable:
    """The reason of the system, where there is one: with asyncio an error also says which call has failed."""
    if error.errno is not None and error.errno > 0:
        reason = os.strerror(error.errno)
    else:
        reason = error.strerror or f"no answer within {within_s:.3g} s"
    return BrokerUnreachable(f"{NO_ANSWER}{address}: {reason}")


def none_answers(failures: Sequence[BrokerUnreachable]) -> BrokerUnreachable:
    """One error that names each address, and the reason why it cannot be used."""
    if len(failures) == 1:
        return failures[0]
    return BrokerUnreachable(NO_ANSWER + "; ".join(one.message.removeprefix(NO_ANSWER) for one in failures))
