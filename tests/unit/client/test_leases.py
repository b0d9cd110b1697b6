"""How a worker names the jobs that it is done with: every one of them, no other, and in few bytes."""

import pytest

from goqueue.client.leases import Grant, leases_of
from goqueue.client.message import Message
from goqueue.client.worker import Job
from goqueue.model.log import LogId
from goqueue.model.runs import offsets_of
from goqueue.wire.native.packed_offsets import unpacked_offsets


def grant(number=7, partition=0, *, knows_packed=True):
    return Grant(LogId("orders", partition), number, f"token{number}", "billing", knows_packed)


def jobs(of, *offsets):
    return [Job(Message("orders", of.log.partition, offset, 1, None, b"", (), 2), 1, 0, 9, of) for offset in offsets]


def named(lease):
    return [*offsets_of(lease.runs), *unpacked_offsets(lease.packed)]


def test_no_job_is_no_lease():
    assert leases_of([]) == ()


@pytest.mark.parametrize("knows_packed", [True, False])
def test_what_lies_side_by_side_is_one_run_in_whatever_order_it_is_done(knows_packed):
    (lease,) = leases_of(jobs(grant(knows_packed=knows_packed), 7, 5, 6, 8))
    assert (lease.runs, lease.packed) == (((5, 4),), b"")
    assert (lease.topic, lease.partition, lease.grant, lease.token) == ("orders", 0, 7, "token7")


def test_what_lies_apart_is_packed():
    (lease,) = leases_of(jobs(grant(), 90, 1, 3, 4))
    assert lease.runs == ()
    assert sorted(named(lease)) == [1, 3, 4, 90]


def test_a_broker_that_does_not_know_packed_offsets_is_told_runs():
    (lease,) = leases_of(jobs(grant(knows_packed=False), 90, 1, 3, 4))
    assert (lease.runs, lease.packed) == (((1, 1), (3, 2), (90, 1)), b"")


@pytest.mark.parametrize("knows_packed", [True, False])
@pytest.mark.parametrize("offsets", [(1, 1, 3), (5, 5), (1, 2, 2, 4), (3, 1, 3, 1, 7)])
def test_a_job_that_is_named_twice_brings_no_other_with_it(knows_packed, offsets):
    (lease,) = leases_of(jobs(grant(knows_packed=knows_packed), *offsets))
    assert set(named(lease)) == set(offsets)


def test_jobs_of_several_grants_are_told_apart_however_they_are_mixed():
    first, second = grant(1, 0), grant(2, 1)
    mixed = [*jobs(first, 1), *jobs(second, 5), *jobs(first, 2), *jobs(second, 9)]
    assert {lease.grant: sorted(named(lease)) for lease in leases_of(mixed)} == {1: [1, 2], 2: [5, 9]}
