"""Changes of Protobuf schemas are judged as `buf breaking` judges them on the wire, except where it is meant otherwise.

`buf` asks more than whether data can be read: it also keeps fields from being forgotten. Each way in which the two
differ on purpose is written down below with its reason, and each has to occur.
"""

import itertools
import json
import re
import subprocess
import sysconfig
from collections import defaultdict
from collections.abc import Callable
from pathlib import Path

import msgspec
import pytest
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st

from goqueue.adapters.schemas.protoc import compile_files
from goqueue.core.schemas.protobuf.format import ProtobufFormat

PROTOBUF = ProtobufFormat(compile_files)
BUF = Path(sysconfig.get_path("scripts")) / "buf"
RULES = json.dumps({"version": "v2", "breaking": {"use": ["WIRE"]}})

INTEGERS = ("int32", "int64", "uint32", "uint64", "bool")
TEXTS = ("string", "bytes")
OTHERS = ("sint32", "sint64", "fixed32", "sfixed32", "fixed64", "sfixed64", "float", "double")
ENUMS, MESSAGES = ("E1", "E2"), ("X", "Y")
MAPS = ("map<string, int32>", "map<string, string>", "map<int64, int64>", "map<string, X>")
NUMBERS = (*INTEGERS, *OTHERS, *ENUMS)
PARTS = """
enum E1 { A = 0; B = 1; }
enum E2 { C = 0; D = 1; F = 2; }
message X { optional int32 a = 1; }
message Y { optional int32 a = 1; }
"""


class Field(msgspec.Struct, frozen=True):
    """A type of None stands for a field that is not there; `oneof` may be empty."""

    type: str | None = None
    label: str = ""
    oneof: str = ""
    default: int | None = None

    def __bool__(self) -> bool:
        return self.type is not None


class Change(msgspec.Struct, frozen=True):
    """What happened to one field, and to the message around it."""

    old: Field
    new: Field
    all_old: tuple[Field, ...]
    all_new: tuple[Field, ...]

    @property
    def types(self) -> tuple[str | None, str | None]:
        return self.old.type, self.new.type


class Difference(msgspec.Struct, frozen=True):
    rule: str
    applies: Callable[[Change], bool]
    reason: str


def always(change):
    return True


def both(kinds):
    return lambda change: set(change.types) <= set(kinds)


ONLY_BUF_REFUSES = {
    "fields may be removed": Difference(
        "FIELD_NO_DELETE_UNLESS_NUMBER_RESERVED", always, "a reader skips fields that it does not know"
    ),
    "reservations are looked at apart": Difference(
        "RESERVED_MESSAGE_NO_DELETE", always, "which schema is older matters there, and not here"
    ),
    "texts and messages may become repeated": Difference(
        "FIELD_WIRE_COMPATIBLE_CARDINALITY",
        lambda change: set(change.types) <= {*TEXTS, *MESSAGES},
        "they are written alike: of several, a reader that wants one takes the last, or merges them",
    ),
    "bytes may become string": Difference(
        "FIELD_WIRE_COMPATIBLE_TYPE",
        lambda change: change.types in (("bytes", "string"), (MAPS[1], MAPS[1])),
        "written alike; that bytes are no text is not known from a schema",
    ),
    "enums are numbers": Difference(
        "FIELD_WIRE_COMPATIBLE_TYPE",
        both((*INTEGERS, *ENUMS)),
        "an enum is written as an int32, and unknown numbers are kept",
    ),
    "a oneof is not on the wire": Difference(
        "FIELD_SAME_ONEOF", always, "only fields that exclude each other anew, or are lost from a oneof, lose data"
    ),
    "defaults are not on the wire": Difference("FIELD_SAME_DEFAULT", always, "they are not part of what is written"),
    "what was required may become optional": Difference(
        "MESSAGE_SAME_REQUIRED_FIELDS",
        lambda change: change.old.label == "required" and bool(change.new) and change.old.type in TEXTS + MESSAGES,
        "a text or message that was always written can be read as one that may be missing",
    ),
}


def lost_from_oneof(change):
    """The field was an alternative, and its oneof, or another field of it, is still there."""
    if not change.old.oneof or change.new:
        return False
    others = [new for old, new in zip(change.all_old, change.all_new, strict=True) if old.oneof == change.old.oneof]
    kept = any(field.oneof == change.old.oneof for field in change.all_new)
    return kept or any(others)


def exclude_each_other_anew(change):
    """Fields of a new oneof come from more than one place where they could be written together."""
    moves = list(enumerate(zip(change.all_old, change.all_new, strict=True)))
    return any(
        len({old.oneof or at for at, (old, new) in moves if new.oneof == oneof and old}) > 1 for oneof in ("o", "p")
    )


ONLY_GOQUEUE_REFUSES = {
    "an alternative is lost": Difference(
        "ONEOF_FIELD_REMOVED", lost_from_oneof, "a reader could not tell that something had been chosen"
    ),
    "several fields become alternatives": Difference(
        "MULTIPLE_FIELDS_MOVED_TO_ONEOF", exclude_each_other_anew, "of fields written together, all but one are lost"
    ),
    "a field becomes an alternative to others": Difference(
        "FIELD_MOVED_TO_EXISTING_ONEOF", exclude_each_other_anew, "of fields written together, all but one are lost"
    ),
}


def fields(syntax):
    labels = st.sampled_from(
        ["", "optional", "repeated"] if syntax == "proto3" else ["optional", "repeated", "required"]
    )
    plain = st.builds(Field, st.sampled_from((*NUMBERS, *TEXTS, *MESSAGES)), labels)
    texts = st.builds(Field, st.sampled_from((*TEXTS, *INTEGERS)), labels)
    alternatives = st.builds(
        Field, st.sampled_from((*NUMBERS, *TEXTS, *MESSAGES)), st.just(""), st.sampled_from(["o", "p"])
    )
    maps = st.builds(Field, st.sampled_from(MAPS))
    defaults = st.builds(Field, st.just("int32"), st.just("optional"), st.just(""), st.integers(0, 2))
    some = [plain, texts, alternatives, maps, st.just(Field())]
    return st.one_of(*some, defaults) if syntax == "proto2" else st.one_of(*some)


def pairs(syntax):
    """Three fields before and after; a third of them stay as they are."""
    field = fields(syntax)
    change = st.one_of(st.tuples(field, field), field.map(lambda same: (same, same)))
    return st.lists(change, min_size=3, max_size=3).map(lambda changes: tuple(zip(*changes, strict=True)))


def message(name, members, reserved):
    lines, oneofs = [], defaultdict(list)
    for number, field in enumerate(members, 1):
        if not field:
            continue
        end = "" if field.default is None else f" [default = {field.default}]"
        # The name makes the type of a map's entries tell where they belong: M5x2Entry.
        line = f"{field.label} {field.type} {name.lower()}x{number} = {number}{end};"
        (oneofs[field.oneof] if field.oneof else lines).append(line)
    lines.extend(f"oneof {oneof} {{ {' '.join(inner)} }}" for oneof, inner in oneofs.items())
    return f"message {name} {{ {' '.join(lines)} {'reserved 9;' if reserved else ''} }}\n"


def compiled(syntax, messages):
    text = f'syntax = "{syntax}";\n{PARTS}{"".join(messages)}'
    return compile_files("s.proto", {"s.proto": text}), PROTOBUF.parse(text, {})


def refused_by_buf(old, new, folder):
    """The rules broken, by message and number of the field; number 0 is the message itself."""
    (folder / "old.binpb").write_bytes(old)
    (folder / "new.binpb").write_bytes(new)
    command = [BUF, "breaking", "new.binpb", "--against", "old.binpb", "--config", RULES, "--error-format", "json"]
    done = subprocess.run(
        command, cwd=folder, env={"HOME": str(folder)}, capture_output=True, text=True, check=False, timeout=60
    )
    assert done.returncode in (0, 100), done.stderr
    found = defaultdict(set)
    for line in done.stdout.splitlines():
        problem = json.loads(line)
        name = re.search(r'[Mm]essage "(M\d+)(?:x(\d+)Entry)?"', problem["message"])
        assert name is not None, problem["message"]
        number = name[2] or (re.search(r'[Ff]ields? "(\d+)"', problem["message"]) or [0, 0])[1]
        found[name[1], int(number)].add(problem["type"])
    return found


def refused_by_goqueue(old, new):
    found = defaultdict(set)
    for reason in PROTOBUF.incompatibilities(reader=new, writer=old):
        match = re.match(r"#/(M\d+)(?:/[op])?(?:/(\d+))?", reason.path)
        assert match is not None, reason
        found[match[1], int(match[2] or 0)].add(reason.kind)
    return found


def unexplained(rules, differences, change, used):
    """Rules that no difference accounts for."""
    left = set()
    for rule in rules:
        names = [name for name, each in differences.items() if each.rule == rule and each.applies(change)]
        used.update(names)
        if not names:
            left.add(rule)
    return left


def check(changes, syntax, folder, used):
    old = compiled(syntax, [message(f"M{at}", before, at % 3 == 0) for at, (before, _) in enumerate(changes)])
    new = compiled(syntax, [message(f"M{at}", after, at % 2 == 0) for at, (_, after) in enumerate(changes)])
    by_buf, ours = refused_by_buf(old[0], new[0], folder), refused_by_goqueue(old[1], new[1])
    for at, (before, after) in enumerate(changes):
        for number in range(len(before) + 1):
            place = (f"M{at}", number)
            shown = (before[number - 1], after[number - 1]) if number else (Field(), Field())
            change = Change(*shown, before, after)
            theirs = unexplained(by_buf[place], ONLY_BUF_REFUSES, change, used)
            own = unexplained(ours[place], ONLY_GOQUEUE_REFUSES, change, used)
            assert bool(theirs) == bool(own), (change, by_buf[place], ours[place])


def every_pair(types, labels):
    """All changes of one field from a type and a label to another."""
    each = [Field(name, "" if name in MAPS else label) for name, label in itertools.product(types, labels)]
    return [((old,), (new,)) for old, new in itertools.product(each, each)]


def every_move(length=3):
    """All ways in which fields can be alone, in one oneof, in another, or not there, before and after."""
    states = [Field(), Field("string", "optional"), Field("string", "", "o"), Field("string", "", "p")]
    messages = list(itertools.product(states, repeat=length))
    return list(itertools.product(messages, messages))


def in_parts(changes, size=90):
    # Not more reasons at once than are given, which are a hundred.
    return [changes[at : at + size] for at in range(0, len(changes), size)]


@pytest.mark.parametrize("syntax", ["proto3", "proto2"])
def test_changes_are_judged_as_buf_does_except_where_it_is_meant_otherwise(syntax, tmp_path):
    @settings(
        max_examples=10,
        deadline=None,
        derandomize=True,
        database=None,
        phases=[Phase.generate],
        suppress_health_check=list(HealthCheck),
    )
    @given(st.lists(pairs(syntax), min_size=25, max_size=25))
    def judge(changes):
        check(changes, syntax, tmp_path, set())

    judge()


def test_every_difference_from_buf_occurs(tmp_path):
    used = set()
    labels = ("optional", "repeated", "required")
    for part in in_parts(every_pair((*NUMBERS, *TEXTS, *MESSAGES, *MAPS), ["optional"])):
        check(part, "proto3", tmp_path, used)
    for part in in_parts(every_pair(("int32", "string", "X", "E1"), labels)):
        check(part, "proto2", tmp_path, used)
    for part in in_parts(every_move(2)):
        check(part, "proto3", tmp_path, used)
    defaults = [Field("int32", "optional", "", number) for number in (1, 2)]
    check([((defaults[0],), (defaults[1],))], "proto2", tmp_path, used)
    assert used == ONLY_BUF_REFUSES.keys() | ONLY_GOQUEUE_REFUSES.keys()


def test_a_message_may_not_be_removed_though_buf_does_not_mind(tmp_path):
    old, new = compiled("proto3", ["message M1 {}\n", "message M2 {}\n"]), compiled("proto3", ["message M1 {}\n"])
    assert not refused_by_buf(old[0], new[0], tmp_path)
    assert refused_by_goqueue(old[1], new[1]) == {("M2", 0): {"MESSAGE_REMOVED"}}
