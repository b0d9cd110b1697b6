"""Which changes of a JSON schema registries call compatible, in which direction, and what the reason is called."""

import json

import pytest

from goqueue.core.schemas.json_schema.format import JsonSchemaFormat
from tests.unit.core.schemas.json_schema.cases import CASES

JSON = JsonSchemaFormat()


def kinds(reader, writer):
    parsed = [JSON.parse(json.dumps(schema), {}) for schema in (reader, writer)]
    return tuple(dict.fromkeys(reason.kind for reason in JSON.incompatibilities(*parsed)))


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_a_new_schema_reads_old_data_or_says_why_not(case):
    assert kinds(reader=case.new, writer=case.old) == case.backward


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_an_old_schema_reads_new_data_or_says_why_not(case):
    assert kinds(reader=case.old, writer=case.new) == case.forward


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_a_schema_reads_its_own_data_however_it_is_written(case):
    assert kinds(case.old, {"title": "the same", **case.old} if isinstance(case.old, dict) else case.old) == ()


def test_there_is_one_case_for_each_name():
    assert len({case.name for case in CASES}) == len(CASES) >= 60
