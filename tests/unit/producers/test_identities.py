import pytest

from goqueue.core.producers import identities
from goqueue.core.producers.identities import ProducerIdentities
from goqueue.errors import ProducerFenced, UnknownProducer


def known(producers: int) -> ProducerIdentities:
    ids = ProducerIdentities()
    for _ in range(producers):
        ids.apply(ids.next())
    return ids


@pytest.mark.parametrize("epoch", [1, 2, (1 << 64) - 1])
def test_an_epoch_that_was_never_given_out_is_refused(epoch):
    ids = known(1)
    for question in (ids.check, ids.bump):
        with pytest.raises(UnknownProducer, match=f"never given epoch {epoch}"):
            question(1, epoch)
    ids.check(1, 0)


def test_only_the_newest_epoch_is_good():
    ids = known(2)
    ids.apply(ids.bump(1, 0))
    ids.apply(ids.bump(1, 1))
    ids.check(1, 2)
    with pytest.raises(ProducerFenced):
        ids.check(1, 1)
    with pytest.raises(UnknownProducer):
        ids.check(1, 3)
    with pytest.raises(UnknownProducer):
        ids.check(2, 1)


def test_a_producer_whose_epoch_was_forgotten_goes_on(monkeypatch):
    monkeypatch.setattr(identities, "EPOCHS_REMEMBERED", 2)
    ids = known(4)
    for number in (1, 2, 3):
        ids.apply(ids.bump(number, 0))
    again = ProducerIdentities()
    again.restore(ids.snapshot())
    for one in (ids, again):
        one.check(1, 1)
        one.check(3, 1)
        with pytest.raises(UnknownProducer):
            one.check(3, 2)
