"""Hooks of schemathesis: texts of the formats that the OpenAPI document names, and polls that do not wait."""

from typing import Any

import schemathesis
from hypothesis import strategies as st

from goqueue.model.topic import MOST_PARTITIONS

schemathesis.openapi.format("cron", st.sampled_from(["0 9 * * MON-FRI", "*/5 * * * *", "0 0 1 1,7 *", "30 6 L * *"]))
schemathesis.openapi.format("time-zone", st.sampled_from(["UTC", "Europe/Berlin", "Asia/Kolkata"]))
schemathesis.openapi.format("topic-pattern", st.sampled_from(["orders", "orders.*", "(a|b)[0-9]+"]))


@schemathesis.hook
def before_call(context: Any, case: Any, kwargs: Any) -> None:
    if case.path.endswith("/poll") and case.meta is not None and case.meta.generation.mode.is_positive:
        case.query = {**(case.query or {}), "timeout": "20ms"}
    # Ten thousand partitions are as right as four, and take seconds to make.
    if isinstance(case.body, dict) and isinstance(partitions := case.body.get("num_partitions"), int):
        case.body["num_partitions"] = min(partitions, 4) if partitions <= MOST_PARTITIONS else partitions
