import pytest

from goqueue.core.delivery.policy import RetryPolicy

NOW = 1_700_000_000_000_000_000


def pause_ms(policy, failures, offset=0):
    return (policy.visible_at(offset, failures, NOW) - NOW) / 1_000_000


def test_the_pause_is_a_second_and_doubles_up_to_a_minute():
    pauses = [pause_ms(RetryPolicy(), failures) for failures in range(1, 11)]
    assert pauses == [1000, 2000, 4000, 8000, 16_000, 32_000, 60_000, 60_000, 60_000, 60_000]


def test_no_number_of_failures_is_too_large_for_the_pause():
    assert pause_ms(RetryPolicy(), 1_000_000) == 60_000


def test_three_failures_are_too_many_unless_said_otherwise():
    assert [RetryPolicy().is_exhausted(failures) for failures in (0, 1, 2, 3, 4)] == [False, False, False, True, True]
    assert RetryPolicy(max_attempts=1).is_exhausted(1)


@pytest.mark.parametrize("jitter", [0.1, 0.5, 1.0])
def test_chance_takes_no_more_than_its_share_of_the_pause_and_adds_nothing(jitter):
    policy = RetryPolicy(jitter=jitter)
    pauses = [pause_ms(policy, 3, offset) for offset in range(1000)]
    assert all(4000 * (1 - jitter) <= pause <= 4000 for pause in pauses)
    # Spread over the whole share, so that what failed together does not come back together.
    assert min(pauses) < 4000 * (1 - 0.95 * jitter)
    assert max(pauses) > 4000 * (1 - 0.05 * jitter)
    assert len(set(pauses)) > 990


def test_a_decision_taken_twice_is_the_same_decision():
    policy = RetryPolicy(jitter=0.5)
    assert policy.visible_at(7, 2, NOW) == policy.visible_at(7, 2, NOW)
    assert pause_ms(policy, 2, 7) != pause_ms(policy, 2, 8)


def test_without_a_pause_a_record_is_there_at_once():
    assert pause_ms(RetryPolicy(backoff_ms=0), 5) == 0
