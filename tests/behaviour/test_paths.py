"""What each path can do is written down: a path that loses an ability fails here instead of being skipped."""

from tests.behaviour.path import Ability
from tests.behaviour.paths import PATHS


def test_every_path_can_do_what_it_is_for():
    everything = set(Ability)
    assert {name: everything - kind.abilities for name, kind in PATHS.items()} == {
        # The raw protocol has no consumer and no worker: that is what the clients make of it.
        "native": {Ability.CONSUMING, Ability.QUEUE, Ability.RELEASE},
        # A consumer joins and goes on from the nearest offset by itself.
        "asyncio": {Ability.MEMBERS, Ability.READ_ERRORS},
        "sync": {Ability.MEMBERS, Ability.READ_ERRORS},
        # Nothing is taken ahead there that would have to go back.
        "http": {Ability.RELEASE},
        "grpc": set(),
    }


def test_every_ability_is_on_at_least_two_paths():
    for ability in Ability:
        assert sum(ability in kind.abilities for kind in PATHS.values()) >= 2, ability
