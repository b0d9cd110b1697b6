"""Compatibility levels and modes: what holds where, and importing schemas with their ids."""

import pytest

from goqueue.core.schemas import policies
from goqueue.core.schemas.policies import Config, Level, Mode
from goqueue.errors import (
    CompatibilityNotSet,
    InvalidCompatibilityLevel,
    InvalidMode,
    InvalidRequest,
    InvalidSchema,
    InvalidSubject,
    InvalidVersion,
    ModeNotSet,
    OperationNotPermitted,
    ReferenceExists,
    SchemaIdMismatch,
    UnknownSubject,
)
from tests.unit.core.schemas.scene import OTHER, V1, V2, Scene


def test_without_settings_schemas_are_backward_compatible_and_can_be_written():
    known = Scene().registry.policies
    assert known.config(None) == Config(Level.BACKWARD, False)
    assert known.level("a") is Level.BACKWARD
    assert known.mode(None) is known.mode_in_effect("a") is Mode.READWRITE


def test_a_subject_has_its_own_settings_over_the_global_ones():
    scene = Scene()
    known = scene.registry.policies
    scene.do(known.set_config(None, Config(Level.FULL, True)))
    scene.do(known.set_config("a", Config(Level.NONE)))
    assert known.config("a") == Config(Level.NONE, None)
    assert known.config_in_effect("a") == Config(Level.NONE, True)
    assert known.config_in_effect("b") == Config(Level.FULL, True)
    scene.do(known.set_config("a", Config(normalize=False)))
    assert known.config_in_effect("a") == Config(Level.NONE, False)
    scene.do(known.remove_config("a"))
    assert known.config_in_effect("a") == Config(Level.FULL, True)
    scene.do(known.remove_config(None))
    assert known.config(None) == Config(Level.BACKWARD, False)


def test_settings_that_were_not_made_cannot_be_shown_or_removed():
    known = Scene().registry.policies
    with pytest.raises(CompatibilityNotSet):
        known.config("a")
    with pytest.raises(ModeNotSet):
        known.mode("a")
    with pytest.raises(UnknownSubject):
        known.remove_config("a")
    with pytest.raises(UnknownSubject):
        known.remove_mode("a")


def test_levels_and_modes_have_names():
    assert Level.named("full_transitive") is Level.FULL_TRANSITIVE
    assert Mode.named("readonly") is Mode.READONLY
    with pytest.raises(InvalidCompatibilityLevel) as refused:
        Level.named("BACKWARDS")
    assert "FORWARD_TRANSITIVE" in refused.value.hint
    with pytest.raises(InvalidMode):
        Mode.named("")


def test_settings_are_bounded(monkeypatch):
    monkeypatch.setattr(policies, "MOST_POLICIES", 1)
    scene = Scene()
    known = scene.registry.policies
    scene.do(known.set_config("a", Config(Level.NONE)))
    scene.do(known.set_config("a", Config(Level.FULL)))
    with pytest.raises(InvalidRequest, match="can be no more"):
        known.set_config("b", Config(Level.NONE))
    with pytest.raises(InvalidSubject):
        known.set_config("", Config(Level.NONE))


@pytest.mark.parametrize("mode", [Mode.READONLY, Mode.READONLY_OVERRIDE])
def test_read_only_takes_nothing_new_but_still_knows_what_is_there(mode):
    scene = Scene()
    scene.register("a", V1)
    scene.mode(None, mode)
    assert scene.register("a", V1) == (1, 1)
    assert scene.registry.incompatibilities("a", scene.registry.view.schema(1)) == []
    with pytest.raises(OperationNotPermitted):
        scene.register("a", V2)
    with pytest.raises(OperationNotPermitted):
        scene.registry.policies.set_config("a", Config(Level.NONE))


def test_a_subject_can_be_written_in_a_read_only_registry_unless_that_overrides_it():
    scene = Scene()
    scene.mode(None, Mode.READONLY)
    scene.mode("a", Mode.READWRITE)
    assert scene.register("a", V1) == (1, 1)
    scene.mode(None, Mode.READONLY_OVERRIDE)
    with pytest.raises(OperationNotPermitted):
        scene.register("a", V2)
    scene.do(scene.registry.policies.remove_mode(None))
    assert scene.register("a", V2) == (2, 2)


def test_schemas_are_imported_with_their_ids_and_versions_whatever_the_order():
    scene = Scene()
    scene.mode(None, Mode.IMPORT)
    assert scene.register("a", OTHER, schema_id=70, version=5) == (70, 5)
    assert scene.register("a", V1, schema_id=9, version=2) == (9, 2)
    assert scene.register("a", V1, schema_id=9, version=2) == (9, 2)
    assert scene.register("a", V1, schema_id=9, version=7) == (9, 7)
    assert scene.register("a", V1, schema_id=9, version=2) == (9, 2)
    assert scene.register("b", V1, schema_id=9) == (9, 1)
    scene.mode(None, Mode.READWRITE)
    assert scene.registry.view.versions("a") == [2, 5, 7]
    assert scene.register("a", V2) == (71, 8)


def test_an_import_does_not_overwrite():
    scene = Scene()
    scene.mode(None, Mode.IMPORT)
    scene.register("a", V1, schema_id=9, version=2)
    with pytest.raises(OperationNotPermitted, match="belongs to another"):
        scene.register("b", V2, schema_id=9)
    with pytest.raises(SchemaIdMismatch):
        scene.register("b", V1, schema_id=10)
    with pytest.raises(OperationNotPermitted, match="version 2"):
        scene.register("a", V2, schema_id=10, version=2)
    with pytest.raises(OperationNotPermitted, match="no id"):
        scene.register("a", V2)


@pytest.mark.parametrize("number", [0, -1, 2**31])
def test_ids_and_versions_are_positive_numbers_of_32_bits(number):
    with pytest.raises(InvalidRequest):
        Scene().register("a", V1, schema_id=number)
    with pytest.raises(InvalidVersion):
        Scene().register("a", V1, version=number)


def test_outside_import_mode_no_id_is_given_and_the_version_is_the_next():
    scene = Scene()
    with pytest.raises(OperationNotPermitted, match="not in import mode"):
        scene.register("a", V1, schema_id=5)
    with pytest.raises(InvalidSchema, match="not the next"):
        scene.register("a", V1, version=2)
    assert scene.register("a", V1, version=1) == (1, 1)
    assert scene.register("a", V1, version=1, schema_id=1) == (1, 1)


def test_import_mode_needs_an_empty_place_or_force():
    scene = Scene()
    scene.register("a", V1)
    scene.register("b", V1)
    for subject in (None, "a"):
        with pytest.raises(OperationNotPermitted):
            scene.mode(subject, Mode.IMPORT)
    scene.delete("a")
    scene.mode("a", Mode.IMPORT)
    assert scene.registry.view.subjects(deleted=True) == ["b"]
    assert scene.register("a", V2, schema_id=50, version=1) == (50, 1)
    scene.mode(None, Mode.IMPORT, force=True)
    assert scene.registry.view.subjects() == ["a", "b"]


def test_what_is_referred_to_is_not_thrown_away_for_an_import():
    scene = Scene()
    scene.register("a", V1)
    scene.register("b", {"type": "array", "items": "Order"}, ("Order", "a", 1))
    scene.delete("b")
    scene.delete("a")
    with pytest.raises(ReferenceExists):
        scene.mode("a", Mode.IMPORT)
    scene.mode(None, Mode.IMPORT)
    assert scene.registry.view.subjects(deleted=True) == []
