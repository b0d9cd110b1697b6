from goqueue.core.delivery.key_order import NO_KEY, KeyOrder


def test_a_key_is_busy_from_its_first_record_to_the_end_of_its_last():
    order = KeyOrder()
    assert order.is_free(7)
    order.begin(0, 7)
    order.defer(1, 7)
    assert not order.is_free(7)
    assert order.end([0]) == [1]
    assert not order.is_free(7)
    assert order.end([1]) == []
    assert order.is_free(7)


def test_turns_come_in_the_order_of_the_log():
    order = KeyOrder()
    order.begin(0, 7)
    for offset in (3, 5, 9):
        order.defer(offset, 7)
    assert [order.end([offset]) for offset in (0, 3, 5, 9)] == [[3], [5], [9], []]
    assert order.deferred_count == 0


def test_records_without_a_key_wait_for_nothing():
    order = KeyOrder()
    order.begin(0, NO_KEY)
    order.begin(1, NO_KEY)
    assert order.is_free(NO_KEY)
    assert order.end([0, 1]) == []


def test_keys_do_not_wait_for_each_other():
    order = KeyOrder()
    order.begin(0, 7)
    order.begin(1, 8)
    order.defer(2, 7)
    order.defer(3, 8)
    assert order.end([1]) == [3]
    assert not order.is_free(7)
    assert order.deferred() == [(2, 7)]


def test_several_that_end_together_each_give_a_turn():
    order = KeyOrder()
    order.begin(0, 7)
    order.begin(1, 8)
    order.defer(2, 7)
    order.defer(3, 8)
    assert sorted(order.end([0, 1])) == [2, 3]


def test_what_the_log_has_lost_waits_for_nobody_and_nobody_waits_for_it():
    order = KeyOrder()
    order.begin(0, 7)
    order.begin(1, 8)
    for offset, key in ((2, 7), (3, 8), (4, 8), (6, 7)):
        order.defer(offset, key)
    assert sorted(order.forget_below(4)) == [4, 6]
    assert order.deferred_count == 0
    assert order.under_way() == [(4, 8), (6, 7)]
    assert order.forget_below(10) == []
    assert order.is_free(7)
    assert order.is_free(8)


def test_a_restart_brings_back_who_waits_for_whom():
    order = KeyOrder()
    order.begin(0, 7)
    order.begin(1, 8)
    order.defer(2, 7)
    order.defer(5, 7)
    again = KeyOrder()
    again.restore(order.under_way(), order.deferred())
    assert (again.under_way(), again.deferred(), again.deferred_count) == (order.under_way(), order.deferred(), 2)
    assert [again.end([offset]) for offset in (0, 2, 5)] == [[2], [5], []]
