"""Hooks of schemathesis: texts of the formats that the OpenAPI document names, and requests that get somewhere.

Only what keeps to the document is changed, and it keeps to it afterwards.
"""

import os
from typing import Any

import schemathesis
from hypothesis import strategies as st

from goqueue.model.topic import MOST_PARTITIONS

__all__ = ["TOPIC"]

TOPIC = "CONTRACT_TOPIC"
"""In the environment: the topic that requests are to be about."""

schemathesis.openapi.format("cron", st.sampled_from(["0 9 * * MON-FRI", "*/5 * * * *", "0 0 1 1,7 *", "30 6 L * *"]))
schemathesis.openapi.format("time-zone", st.sampled_from(["UTC", "Europe/Berlin", "Asia/Kolkata"]))
schemathesis.openapi.format("topic-pattern", st.sampled_from(["orders", "orders.*", "(a|b)[0-9]+"]))


@schemathesis.hook
def before_call(context: Any, case: Any, kwargs: Any) -> None:
    if case.meta is None or not case.meta.generation.mode.is_positive:
        return
    if case.path.endswith("/poll"):
        case.query = {**(case.query or {}), "timeout": "20ms"}
    params = case.path_parameters or {}
    if TOPIC in os.environ and "topic" in params:
        params["topic"] = os.environ[TOPIC]
        if "partition" in params:
            params["partition"] = int(params["partition"]) % 2
    # Ten thousand partitions are as right as four, and take seconds to make.
    if isinstance(case.body, dict) and isinstance(partitions := case.body.get("num_partitions"), int):
        case.body["num_partitions"] = min(partitions, 4) if partitions <= MOST_PARTITIONS else partitions
