from pyroaring import BitMap64

from goqueue.core.delivery.grants import Grant, Grants


def grants_of(*given):
    grants = Grants()
    for number, consumer, deadline, offsets in given:
        grants.add(Grant(number, consumer, 0, deadline, BitMap64(offsets)))
    return grants


def found(overdue):
    return {grant.number: offsets for grant, offsets in overdue}


def test_the_next_deadline_is_the_earliest_there_is():
    grants = grants_of((1, "a", 300, [1]), (2, "b", 100, [2]), (3, "c", 200, [3]))
    assert grants.next_deadline() == 100
    grants.take_back(2, BitMap64([2]))
    assert grants.next_deadline() == 200
    grants.take_back(3, BitMap64([3]))
    grants.take_back(1, BitMap64([1]))
    assert grants.next_deadline() is None


def test_a_grant_keeps_its_deadline_until_its_last_record_is_taken_back():
    grants = grants_of((1, "a", 100, [1, 2, 3]))
    grants.take_back(1, BitMap64([1, 3]))
    assert (grants.next_deadline(), len(grants), grants.get(1).records) == (100, 1, BitMap64([2]))
    grants.take_back(1, BitMap64([2]))
    assert grants.get(1) is None


def test_records_are_overdue_at_their_deadline_and_stay_so_until_taken_back():
    grants = grants_of((1, "a", 100, [1, 2]), (2, "b", 200, [3]))
    assert found(grants.overdue(99, 10)) == {}
    assert found(grants.overdue(100, 10)) == {1: [1, 2]}
    assert found(grants.overdue(200, 10)) == {1: [1, 2], 2: [3]}
    grants.take_back(1, BitMap64([1]))
    assert found(grants.overdue(200, 10)) == {1: [2], 2: [3]}


def test_about_as_many_as_asked_for_are_found_at_once():
    grants = grants_of(*((number, "a", number, range(10 * number, 10 * number + 10)) for number in range(1, 6)))
    assert list(found(grants.overdue(100, 15))) == [1, 2]


def test_an_extended_record_has_a_deadline_of_its_own_later_or_earlier():
    grants = grants_of((1, "a", 100, [1, 2, 3]))
    grants.extend(1, [2], 300)
    grants.extend(1, [3], 50)
    assert [grants.get(1).deadline_of(offset) for offset in (1, 2, 3)] == [100, 300, 50]
    assert found(grants.overdue(99, 10)) == {1: [3]}
    assert found(grants.overdue(100, 10)) == {1: [1, 3]}
    assert found(grants.overdue(300, 10)) == {1: [1, 2, 3]}


def test_when_all_are_extended_the_first_deadline_counts_no_more():
    grants = grants_of((1, "a", 100, [1, 2]))
    grants.extend(1, [1, 2], 300)
    assert grants.next_deadline() == 300
    grants.extend(1, [1], 200)
    assert (grants.next_deadline(), found(grants.overdue(299, 10))) == (200, {1: [1]})


def test_extending_for_ever_does_not_fill_the_heap():
    grants = grants_of((1, "a", 100, range(10)), (2, "b", 100, [99]))
    for step in range(10_000):
        grants.extend(1, range(10), 200 + step)
    assert len(grants._heap) <= 2 * (2 + 11) + 64 + 10
    assert grants.next_deadline() == 100
    grants.take_back(2, BitMap64([99]))
    assert grants.next_deadline() == 200 + 9_999


def test_what_a_consumer_has_is_counted_and_forgotten_when_it_has_nothing():
    grants = grants_of((1, "a", 100, [1, 2]), (2, "a", 100, [3]), (3, "b", 100, [4]))
    assert (grants.in_flight("a"), grants.in_flight("b"), grants.in_flight("c")) == (3, 1, 0)
    assert [grant.number for grant in grants.of_consumer("a")] == [1, 2]
    grants.take_back(1, BitMap64([1, 2, 4]))
    assert (grants.in_flight("a"), grants.in_flight("b")) == (1, 1)
    grants.take_back(2, BitMap64([3]))
    grants.take_back(3, BitMap64([4]))
    assert grants._in_flight == {}


def test_deadlines_are_the_same_after_a_restart():
    grants = grants_of((3, "a", 100, [1, 2]), (7, "b", 400, [5]))
    grants.extend(3, [2], 250)
    again = Grants()
    again.restore(grants.snapshot())
    assert again.snapshot() == grants.snapshot()
    assert found(again.overdue(250, 10)) == found(grants.overdue(250, 10)) == {3: [1, 2]}
    assert again.leased == BitMap64([1, 2, 5])


def test_a_record_extended_to_the_same_deadline_again_is_overdue_once():
    grants = grants_of((1, "a", 100, [1]))
    for deadline in (300, 400, 300, 300):
        grants.extend(1, [1], deadline)
    assert found(grants.overdue(500, 10)) == {1: [1]}
