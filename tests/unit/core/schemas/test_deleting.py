"""Deleting in two steps, what cannot be deleted, and what is left of it."""

import pytest

from goqueue.core.schemas import subjects
from goqueue.core.schemas.policies import Config, Level, Mode
from goqueue.core.schemas.schema import LATEST
from goqueue.errors import (
    CompatibilityNotSet,
    InvalidSchema,
    ModeNotSet,
    OperationNotPermitted,
    ReferenceExists,
    SubjectNotSoftDeleted,
    SubjectSoftDeleted,
    UnknownSchema,
    UnknownSubject,
    UnknownVersion,
    VersionNotSoftDeleted,
    VersionSoftDeleted,
)
from tests.unit.core.schemas.scene import OTHER, V1, V2, Scene

CAR = {"type": "record", "name": "Car", "fields": [{"name": "order", "type": "Order"}]}


def two_versions():
    scene = Scene()
    scene.register("a", V1)
    scene.register("a", V2)
    return scene


def test_a_deleted_version_is_hidden_but_its_id_is_still_there():
    scene = two_versions()
    assert scene.delete("a", 1) == 1
    view = scene.registry.view
    assert (view.versions("a"), view.versions("a", deleted=True)) == ([2], [1, 2])
    assert view.versions("a", deleted_only=True) == [1]
    assert view.version("a", 1, deleted=True).is_deleted
    assert "Order" in view.schema(1).text
    assert (view.places(1), view.places(1, deleted=True)) == ([], [("a", 1)])
    with pytest.raises(UnknownVersion):
        view.version("a", 1)
    with pytest.raises(VersionSoftDeleted):
        scene.delete("a", 1)


def test_the_latest_version_can_be_deleted_by_that_name():
    scene = two_versions()
    assert scene.delete("a", LATEST) == 2
    assert scene.delete("a", LATEST) == 1
    with pytest.raises(UnknownVersion):
        scene.delete("a", LATEST)
    assert scene.registry.view.subjects() == []
    assert scene.registry.view.subjects(deleted=True) == scene.registry.view.subjects(deleted_only=True) == ["a"]
    with pytest.raises(UnknownSubject):
        scene.registry.view.version("a", LATEST)


def test_only_what_is_deleted_can_be_deleted_for_good():
    scene = two_versions()
    with pytest.raises(VersionNotSoftDeleted):
        scene.delete("a", 1, permanent=True)
    with pytest.raises(SubjectNotSoftDeleted):
        scene.delete("a", permanent=True)
    assert scene.delete("a") == [1, 2]
    with pytest.raises(SubjectSoftDeleted):
        scene.delete("a")
    assert scene.delete("a", permanent=True) == [1, 2]
    for permanent in (False, True):
        with pytest.raises(UnknownSubject):
            scene.delete("a", permanent=permanent)
        with pytest.raises(UnknownSubject):
            scene.delete("a", 1, permanent=permanent)
    with pytest.raises(UnknownSchema):
        scene.registry.view.schema(1)


def test_neither_ids_nor_versions_are_used_again():
    scene = two_versions()
    scene.delete("a")
    scene.delete("a", permanent=True)
    assert scene.register("a", V1) == (3, 3)
    assert scene.restored().register("b", scene.registry.view.schema(3)).id == 3
    scene.delete("a", 3)
    scene.delete("a", 3, permanent=True)
    assert scene.register("b", OTHER) == (4, 1)
    assert scene.register("a", V1) == (5, 4)


def test_versions_are_not_used_again_when_too_many_subjects_are_gone_to_remember(monkeypatch):
    monkeypatch.setattr(subjects, "MOST_RETIRED", 1)
    scene = two_versions()
    scene.register("b", V1)
    for subject in ("a", "b"):
        scene.delete(subject)
        scene.delete(subject, permanent=True)
    assert scene.register("a", V1)[1] == 3
    assert scene.register("b", V1)[1] == 2
    assert scene.register("new", V1)[1] == 3


def test_a_deleted_schema_that_comes_again_is_a_new_version_with_its_old_id():
    scene = two_versions()
    scene.delete("a", 1)
    scene.do(scene.registry.policies.set_config("a", Config(Level.NONE)))
    assert scene.register("a", V1) == (1, 3)
    assert scene.registry.view.versions("a", deleted=True) == [2, 3]


def test_a_deleted_version_does_not_count_for_compatibility():
    scene = Scene()
    scene.register("a", V1)
    scene.delete("a", 1)
    assert scene.register("a", OTHER) == (2, 2)


def test_what_others_refer_to_stays():
    scene = two_versions()
    scene.register("car", CAR, ("Order", "a", 1))
    for attempt in (lambda: scene.delete("a", 1), lambda: scene.delete("a")):
        with pytest.raises(ReferenceExists):
            attempt()
    scene.delete("a", 2)
    scene.delete("car")
    scene.delete("a", 1)
    with pytest.raises(ReferenceExists):
        scene.delete("a", permanent=True)
    with pytest.raises(ReferenceExists):
        scene.delete("a", 1, permanent=True)
    scene.delete("car", permanent=True)
    assert scene.delete("a", permanent=True) == [1, 2]


def test_a_schema_cannot_come_back_without_what_it_refers_to():
    scene = two_versions()
    scene.register("car", CAR, ("Order", "a", 1))
    scene.delete("car")
    scene.delete("a")
    assert scene.registry.parsed(3)
    with pytest.raises(InvalidSchema, match="has been deleted"):
        scene.register("car", CAR, ("Order", "a", 1))


def test_versions_of_a_subject_that_refer_to_each_other_go_together():
    scene = two_versions()
    scene.do(scene.registry.policies.set_config("a", Config(Level.NONE)))
    scene.register("a", CAR, ("Order", "a", 2))
    assert scene.delete("a") == [1, 2, 3]
    assert scene.delete("a", permanent=True) == [1, 2, 3]
    assert scene.registry.snapshot().subjects.schemas == ()


def test_settings_of_a_subject_go_with_it():
    scene = two_versions()
    scene.do(scene.registry.policies.set_config("a", Config(Level.FULL)))
    scene.mode("a", Mode.READWRITE)
    scene.delete("a")
    assert scene.registry.policies.level("a") is Level.FULL
    scene.delete("a", permanent=True)
    with pytest.raises(CompatibilityNotSet):
        scene.registry.policies.config("a")
    with pytest.raises(ModeNotSet):
        scene.registry.policies.mode("a")


def test_nothing_is_deleted_in_read_only_mode():
    scene = two_versions()
    scene.mode("a", Mode.READONLY)
    for attempt in (lambda: scene.delete("a", 1), lambda: scene.delete("a")):
        with pytest.raises(OperationNotPermitted):
            attempt()
