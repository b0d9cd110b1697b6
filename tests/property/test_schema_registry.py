"""The schema registry against a naive one that keeps a list of everything that ever happened."""

import json

import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, precondition, rule

from goqueue.core.schemas.events import Registered
from goqueue.core.schemas.policies import Config, Level, Mode
from goqueue.core.schemas.registering import Known
from goqueue.core.schemas.schema import LATEST, Reference, Schema
from goqueue.errors import GoQueueError, IncompatibleSchema, InvalidSchema, OperationNotPermitted
from tests.unit.core.schemas.scene import FORMATS, Scene


def order(*fields):
    return {"type": "record", "name": "Order", "fields": [{"name": n, "type": t, **more} for n, t, more in fields]}


A, B = ("a", "int", {}), ("b", "int", {})
PLAIN = [
    order(A),
    order(("a", "long", {})),
    order(A, B),
    order(A, ("b", "int", {"default": 0})),
    order(("a", "int", {"default": 1})),
    order(),
]
REFERRING = {"type": "array", "items": "Order"}
SUBJECTS = st.sampled_from(["orders", "bills", "x"])
SCHEMAS = st.sampled_from([*PLAIN, REFERRING, REFERRING])
LEVELS = [Level.NONE, Level.NONE, Level.BACKWARD, Level.FORWARD_TRANSITIVE, Level.FULL]


class Row:
    """A version that is or was there."""

    def __init__(self, subject, version, schema_id, schema):
        self.subject, self.version, self.id, self.schema = subject, version, schema_id, schema
        self.state = "there"


class RegistryMachine(RuleBasedStateMachine):
    def __init__(self):
        super().__init__()
        self.scene = Scene()
        self.rows = []
        self.levels = {}
        self.is_read_only = False

    # The naive registry

    def kept(self, subject=None, states=("there", "hidden")):
        rows = [row for row in self.rows if row.state in states and subject in (None, row.subject)]
        return sorted(rows, key=lambda row: (row.subject, row.version))

    def refers(self, row, states):
        return [
            other
            for other in self.kept(states=states)
            for reference in other.schema.references
            if (reference.subject, reference.version) == (row.subject, row.version)
        ]

    def parsed(self, schema):
        references = {}
        for reference in schema.references:
            (row,) = [r for r in self.kept(reference.subject) if r.version == reference.version]
            references[reference.name] = row.schema.text
        return FORMATS["AVRO"].parse(schema.text, references)

    def fits(self, subject, schema):
        level = self.levels.get(subject) or self.levels.get(None) or Level.BACKWARD
        earlier = self.kept(subject, ("there",))
        earlier = earlier if "TRANSITIVE" in level else earlier[-1:]
        new = self.parsed(schema)
        reads = FORMATS["AVRO"].incompatibilities
        for row in earlier if level is not Level.NONE else []:
            old = self.parsed(row.schema)
            if level.startswith(("BACKWARD", "FULL")) and reads(new, old):
                return False
            if level.startswith(("FORWARD", "FULL")) and reads(old, new):
                return False
        return True

    # What can happen

    @rule(subject=SUBJECTS, made=SCHEMAS, data=st.data())
    def register(self, subject, made, data):
        references = ()
        if made is REFERRING:
            targets = [row for row in self.kept() if "Order" in row.schema.text and not row.schema.references]
            if not targets:
                return
            row = data.draw(st.sampled_from(targets))
            references = (Reference("Order", row.subject, row.version),)
            if row.state == "hidden":
                self.refuse_hidden(subject, Schema("AVRO", json.dumps(made, separators=(",", ":")), references))
                return
        schema = Schema("AVRO", json.dumps(made, separators=(",", ":")), references)
        known = [row for row in self.kept(subject, ("there",)) if row.schema == schema]
        if known:
            decided = self.scene.registry.register(subject, schema)
            assert decided == Known(subject, known[-1].version, known[-1].id, schema)
        elif self.is_read_only:
            with pytest.raises(OperationNotPermitted):
                self.scene.registry.register(subject, schema)
        elif not self.fits(subject, schema):
            with pytest.raises(IncompatibleSchema):
                self.scene.registry.register(subject, schema)
        else:
            self.registered(self.scene.do(self.scene.registry.register(subject, schema)))

    def refuse_hidden(self, subject, schema):
        if not any(row.schema == schema for row in self.kept(subject, ("there",))):
            with pytest.raises(OperationNotPermitted if self.is_read_only else InvalidSchema):
                self.scene.registry.register(subject, schema)

    def registered(self, event):
        assert isinstance(event, Registered)
        same = {row.id for row in self.kept() if row.schema == event.schema}
        assert {event.id} == same if same else event.id not in {row.id for row in self.rows}
        assert event.version == 1 + max((row.version for row in self.rows if row.subject == event.subject), default=0)
        for row in self.kept(event.subject, ("hidden",)):
            if row.schema == event.schema and not self.refers(row, ("there", "hidden")):
                row.state = "gone"
        self.rows.append(Row(event.subject, event.version, event.id, event.schema))

    @rule(subject=SUBJECTS, version=st.integers(1, 6) | st.just(LATEST), permanent=st.booleans())
    def delete_version(self, subject, version, permanent):
        there = self.kept(subject, ("there",))
        rows = there[-1:] if version == LATEST else [row for row in self.kept(subject) if row.version == version]
        states = ("there", "hidden") if permanent else ("there",)
        is_possible = (
            rows
            and not self.is_read_only
            and rows[0].state == ("hidden" if permanent else "there")
            and not self.refers(rows[0], states)
        )
        if is_possible:
            assert self.scene.delete(subject, version, permanent=permanent) == rows[0].version
            self.deleted(subject, rows, permanent)
        else:
            with pytest.raises(GoQueueError):
                self.scene.delete(subject, version, permanent=permanent)

    @rule(subject=SUBJECTS, permanent=st.booleans())
    def delete_subject(self, subject, permanent):
        there = self.kept(subject, ("there",))
        rows = self.kept(subject) if permanent else there
        states = ("there", "hidden") if permanent else ("there",)
        others = [other for row in rows for other in self.refers(row, states) if other.subject != subject]
        if rows and not (permanent and there) and not others and not self.is_read_only:
            assert self.scene.delete(subject, permanent=permanent) == [row.version for row in rows]
            self.deleted(subject, rows, permanent)
        else:
            with pytest.raises(GoQueueError):
                self.scene.delete(subject, permanent=permanent)

    def deleted(self, subject, rows, permanent):
        for row in rows:
            row.state = "gone" if permanent else "hidden"
        if not self.kept(subject):
            self.levels.pop(subject, None)

    @precondition(lambda self: not self.is_read_only)
    @rule(subject=SUBJECTS | st.none(), level=st.sampled_from(LEVELS))
    def set_level(self, subject, level):
        self.scene.do(self.scene.registry.policies.set_config(subject, Config(level)))
        self.levels[subject] = level

    @rule()
    def turn_read_only(self):
        self.is_read_only = not self.is_read_only
        self.scene.mode(None, Mode.READONLY if self.is_read_only else Mode.READWRITE)

    @rule()
    def restart(self):
        before = self.scene.registry.snapshot()
        assert self.scene.replayed().snapshot() == before
        self.scene.registry = self.scene.restored()
        assert self.scene.registry.snapshot() == before

    # What is always true

    @invariant()
    def settings_stay_until_their_subject_is_gone(self):
        configs = dict(self.scene.registry.policies.snapshot().configs)
        assert {subject: config.compatibility for subject, config in configs.items()} == self.levels

    @invariant()
    def the_same_is_there(self):
        view = self.scene.registry.view
        for states, deleted in ((("there",), False), (("there", "hidden"), True)):
            rows = self.kept(states=states)
            seen = [(v.subject, v.version, v.id, v.schema) for v in view.schemas(deleted=deleted)]
            assert seen == [(row.subject, row.version, row.id, row.schema) for row in rows]
            for row in self.kept():
                places = [(other.subject, other.version) for other in rows if other.id == row.id]
                assert view.places(row.id, deleted=deleted) == places
                referrers = sorted({other.id for other in self.refers(row, states)})
                assert view.referrers(row.subject, row.version, deleted=deleted) == referrers

    @invariant()
    def everything_kept_can_be_parsed(self):
        for row in self.kept():
            assert self.scene.registry.parsed(row.id)[1] == self.parsed(row.schema)


RegistryMachine.TestCase.settings = settings(max_examples=60, stateful_step_count=30, deadline=None)
TestRegistry = RegistryMachine.TestCase
