"""Mistakes that can be made over gRPC and over HTTP: what is asked on the one, and the same on the other."""

from typing import Any, NamedTuple

from goqueue.wire.grpc.v1 import offsets_pb2

__all__ = ["KNOWN", "MISTAKES", "NOTHING_TO_GET_WRONG", "NOT_OVER_HTTP", "Mistake"]

KNOWN = "mistakes"
"""The one topic there is."""
TRACE = "0" * 31 + "1"
REF = {"transaction": 77, "producer_id": 77, "epoch": 0}
FAR = 2**40


class Mistake(NamedTuple):
    """Over gRPC, and the same over HTTP."""

    method: str
    fields: dict[str, Any]
    verb: str
    path: str
    body: Any = None


def mistake(method: str, fields: dict[str, Any], route: str, body: Any = None) -> Mistake:
    verb, path = route.split(" ", 1)
    return Mistake(method, fields, verb, path, body)


MISTAKES: dict[str, list[Mistake]] = {
    "TopicService": [
        mistake("CreateTopic", {"name": "../esc"}, "POST /topics", {"name": "../esc"}),
        mistake("CreateTopic", {"name": KNOWN}, "POST /topics", {"name": KNOWN}),
        mistake("CreateTopic", {"name": "__own"}, "POST /topics", {"name": "__own"}),
        mistake("CreateTopic", {"name": "x", "partitions": 0}, "POST /topics", {"name": "x", "num_partitions": 0}),
        mistake(
            "CreateTopic",
            {"name": "x", "settings": {"max_attempts": 0}},
            "POST /topics",
            {"name": "x", "max_attempts": 0},
        ),
        mistake("GetTopic", {"name": "nowhere"}, "GET /topics/nowhere"),
        mistake("UpdateTopic", {"name": "nowhere"}, "PATCH /topics/nowhere", {}),
        mistake(
            "UpdateTopic",
            {"name": KNOWN, "settings": {"lane_weights": [1, 2]}},
            f"PATCH /topics/{KNOWN}",
            {"lane_weights": [1, 2]},
        ),
        mistake(
            "UpdateTopic",
            {"name": KNOWN, "settings": {"cleared": ["cleanup"]}},
            f"PATCH /topics/{KNOWN}",
            {"cleanup": None},
        ),
        mistake("UpdateTopic", {"name": KNOWN, "settings": {"cleanup": 9}}, f"PATCH /topics/{KNOWN}", {"cleanup": "9"}),
        mistake("DeleteTopic", {"name": "nowhere"}, "DELETE /topics/nowhere"),
        mistake("CompactTopic", {"name": "nowhere"}, "POST /admin/topics/nowhere/compact"),
        mistake("CompactTopic", {"name": KNOWN}, f"POST /admin/topics/{KNOWN}/compact"),
        mistake("BrowseRecords", {"topic": "nowhere"}, "GET /topics/nowhere/messages"),
        mistake("BrowseRecords", {"topic": KNOWN, "limit": 0}, f"GET /topics/{KNOWN}/messages?limit=0"),
        mistake("BrowseRecords", {"topic": KNOWN, "cursor": "x"}, f"GET /topics/{KNOWN}/messages?cursor=x"),
        mistake("BrowseRecords", {"topic": KNOWN, "partition": 7}, f"GET /topics/{KNOWN}/messages?partition=7"),
        mistake("BrowseRecords", {"topic": KNOWN, "offset": -1}, f"GET /topics/{KNOWN}/messages?offset=-1"),
    ],
    "QueueService": [
        mistake("Poll", {"group": "g", "topics": ["nowhere"]}, "GET /groups/g/poll?topics=nowhere&timeout=0"),
        mistake("Poll", {"group": "fresh"}, "GET /groups/fresh/poll?timeout=0"),
        mistake(
            "Poll", {"group": "g", "topics": [KNOWN], "limit": 1001}, f"GET /groups/g/poll?topics={KNOWN}&limit=1001"
        ),
        mistake(
            "Poll",
            {"group": "g", "topics": [KNOWN], "wait_ms": FAR},
            f"GET /groups/g/poll?topics={KNOWN}&timeout={FAR}",
        ),
        mistake(
            "Poll",
            {"group": "g", "topics": [KNOWN], "visibility_ms": 0},
            f"GET /groups/g/poll?topics={KNOWN}&timeout=0&visibility=0",
        ),
        mistake("Poll", {"group": "nobody", "generation": 1}, "GET /groups/nobody/poll?member_id=x&generation=1"),
        mistake("Ack", {}, "POST /messages/ack", {"receipt_handles": []}),
        mistake("Nack", {}, "POST /messages/nack", {"receipt_handles": []}),
        mistake(
            "Nack",
            {"records": {"receipts": ["x"]}, "reason": "x" * 1001},
            "POST /messages/nack",
            {"receipt_handle": "x", "reason": "x" * 1001},
        ),
        mistake("Reject", {}, "POST /messages/reject", {"receipt_handles": []}),
        mistake("Extend", {}, "POST /messages/visibility", {"receipt_handles": [], "extension_seconds": 1}),
    ],
    "GroupService": [
        mistake("JoinGroup", {"group": "a/b", "topics": [KNOWN]}, "POST /groups/a%2Fb/join", {"topics": [KNOWN]}),
        mistake("JoinGroup", {"group": "g", "topics": ["a/b"]}, "POST /groups/g/join", {"topics": ["a/b"]}),
        mistake("JoinGroup", {"group": "g"}, "POST /groups/g/join", {}),
        mistake("JoinGroup", {"group": "g", "pattern": "("}, "POST /groups/g/join", {"pattern": "("}),
        mistake(
            "JoinGroup",
            {"group": "g", "topics": [KNOWN], "session_ms": 1},
            "POST /groups/g/join",
            {"topics": [KNOWN], "session": 1},
        ),
        mistake(
            "Heartbeat",
            {"group": "nobody", "member_id": "x"},
            "POST /groups/nobody/heartbeat",
            {"member_id": "x", "generation": 0},
        ),
        mistake(
            "RevokePartitions",
            {"group": "nobody", "member_id": "x"},
            "POST /groups/nobody/revoke",
            {"member_id": "x", "generation": 0, "partitions": {}},
        ),
        mistake("LeaveGroup", {"group": "nobody"}, "POST /groups/nobody/leave", {"member_id": "x"}),
        mistake("GetAssignment", {"group": "nobody"}, "GET /groups/nobody/assignment?member_id=x"),
        mistake("GetGroup", {"group": "nobody"}, "GET /groups/nobody"),
        mistake("DeleteGroup", {"group": "nobody"}, "DELETE /groups/nobody"),
        mistake("PauseGroup", {"group": "nobody"}, "POST /groups/nobody/pause"),
        mistake("ResumeGroup", {"group": "nobody"}, "POST /groups/nobody/resume"),
        mistake("GetGroupPolicy", {"group": "nobody"}, "GET /groups/nobody/policy"),
        mistake(
            "SetGroupPolicy",
            {"group": "nobody", "policy": {"max_attempts": 0}},
            "PUT /groups/nobody/policy",
            {"max_attempts": 0},
        ),
        mistake("ListRebalances", {"group": "nobody"}, "GET /groups/nobody/rebalance/stats"),
    ],
    "OffsetService": [
        mistake(
            "CommitOffsets",
            {"group": "g", "offsets": [{"topic": KNOWN, "offset": FAR}]},
            "POST /groups/g/offsets",
            {"offsets": {KNOWN: {"0": FAR}}},
        ),
        mistake(
            "CommitOffsets",
            {"group": "g", "offsets": [{"topic": KNOWN, "partition": 7}]},
            "POST /groups/g/offsets",
            {"offsets": {KNOWN: {"7": 0}}},
        ),
        mistake("FetchOffsets", {"group": "a/b"}, "GET /groups/a%2Fb/offsets"),
        mistake("ResetOffsets", {"group": "g"}, "POST /groups/g/offsets/reset", {}),
        mistake(
            "ResetOffsets",
            {"group": "g", "to": offsets_pb2.OFFSET_POINT_OFFSET},
            "POST /groups/g/offsets/reset",
            {"to": "offset"},
        ),
        mistake(
            "ResetOffsets",
            {"group": "g", "to": offsets_pb2.OFFSET_POINT_TIMESTAMP},
            "POST /groups/g/offsets/reset",
            {"to": "timestamp"},
        ),
        mistake(
            "ResetOffsets",
            {"group": "g", "to": offsets_pb2.OFFSET_POINT_LATEST, "topics": ["nowhere"]},
            "POST /groups/g/offsets/reset",
            {"to": "latest", "topics": ["nowhere"]},
        ),
        mistake(
            "ListOffsets",
            {"questions": [{"topic": "nowhere", "at": offsets_pb2.OFFSET_POINT_LATEST}]},
            "GET /topics/nowhere",
        ),
    ],
    "TransactionService": [
        mistake("InitTransactions", {"transactional_id": ""}, "POST /producers/init", {"transactional_id": ""}),
        mistake(
            "InitTransactions",
            {"transactional_id": "t", "transaction_timeout_ms": FAR},
            "POST /producers/init",
            {"transactional_id": "t", "transaction_timeout_ms": FAR},
        ),
        mistake("CheckProducer", {"producer_id": 77}, "POST /producers/77/heartbeat", {"epoch": 0}),
        mistake("BeginTransaction", {"producer_id": 77}, "POST /transactions/begin", {"producer_id": 77, "epoch": 0}),
        mistake("AddAcks", {"transaction": REF}, "POST /transactions/add-acks", {**REF, "receipts": ["x"]}),
        mistake(
            "AddOffsets",
            {"transaction": REF, "group": "g", "offsets": [{"topic": KNOWN, "partition": 0, "offset": 1}]},
            "POST /transactions/add-offsets",
            {**REF, "group": "g", "offsets": {KNOWN: {"0": 1}}},
        ),
        mistake("CommitTransaction", {"transaction": REF}, "POST /transactions/commit", REF),
        mistake("AbortTransaction", {"transaction": REF}, "POST /transactions/abort", REF),
        mistake("BeginPart", {"key": ""}, "POST /transactions/parts/begin", {"key": ""}),
        mistake(
            "BeginPart",
            {"key": "k", "timeout_ms": FAR},
            "POST /transactions/parts/begin",
            {"key": "k", "timeout_ms": FAR},
        ),
        mistake("PreparePart", {"transaction": REF}, "POST /transactions/parts/prepare", REF),
        mistake(
            "DecideParts",
            {"key": "k", "transactions": [77]},
            "POST /transactions/decide",
            {"key": "k", "transactions": [77]},
        ),
        mistake("ListTransactions", {"limit": 0}, "GET /transactions?limit=0"),
        mistake("GetTransaction", {"transaction": 77}, "GET /transactions/77"),
        mistake("ForceAbortTransaction", {"transaction": 77}, "POST /transactions/77/abort"),
    ],
    "DeadLetterService": [
        mistake("ListDeadLetters", {"topic": "nowhere"}, "GET /dlq/nowhere"),
        mistake("ListDeadLetters", {"topic": KNOWN, "limit": 1001}, f"GET /dlq/{KNOWN}?limit=1001"),
        mistake("ListDeadLetters", {"topic": KNOWN, "cursor": "x"}, f"GET /dlq/{KNOWN}?cursor=x"),
        mistake("GetDeadLetter", {"topic": KNOWN}, f"GET /dlq/{KNOWN}/0/0"),
        mistake("GetDeadLetterStats", {"topic": "a/b"}, "GET /dlq/a%2Fb/stats"),
        mistake("RedriveDeadLetters", {"topic": KNOWN}, f"POST /dlq/{KNOWN}/redrive", {"select": {}}),
        mistake(
            "RedriveDeadLetters",
            {"topic": KNOWN, "select": {"all": True, "reason": "x"}},
            f"POST /dlq/{KNOWN}/redrive",
            {"select": {"all": True, "reason": "x"}},
        ),
        mistake(
            "RedriveDeadLetters",
            {"topic": KNOWN, "select": {"all": True}, "rate": 0.0},
            f"POST /dlq/{KNOWN}/redrive",
            {"select": {"all": True}, "rate": 0},
        ),
        mistake(
            "RedriveDeadLetters",
            {"topic": KNOWN, "select": {"all": True}, "edit": {"topic": "nowhere"}},
            f"POST /dlq/{KNOWN}/redrive",
            {"select": {"all": True}, "edit": {"topic": "nowhere"}},
        ),
        mistake("PurgeDeadLetters", {"topic": KNOWN}, f"DELETE /dlq/{KNOWN}", {"select": {}}),
    ],
    "DelayService": [
        mistake("ListDelayed", {"topic": "nowhere"}, "GET /topics/nowhere/delayed"),
        mistake("ListDelayed", {"topic": KNOWN, "skip": -1}, f"GET /topics/{KNOWN}/delayed?skip=-1"),
        mistake("GetDelayed", {"topic": KNOWN}, f"GET /topics/{KNOWN}/delayed/0/0"),
        mistake("GetDelayed", {"topic": KNOWN, "partition": 7}, f"GET /topics/{KNOWN}/delayed/7/0"),
        mistake("RescheduleDelayed", {"topic": KNOWN}, f"PATCH /topics/{KNOWN}/delayed/0/0", {}),
        mistake(
            "RescheduleDelayed", {"topic": KNOWN, "delay_ms": 5}, f"PATCH /topics/{KNOWN}/delayed/0/0", {"delay": 5}
        ),
        mistake("CancelDelayed", {"topic": KNOWN}, f"POST /topics/{KNOWN}/delayed/cancel", {"records": []}),
        mistake(
            "CancelDelayed",
            {"topic": "nowhere", "records": [{"offset": 0}]},
            "POST /topics/nowhere/delayed/cancel",
            {"records": [{"partition": 0, "offset": 0}]},
        ),
    ],
    "ScheduleService": [
        mistake("CreateSchedule", {"id": "s"}, "POST /schedules", {"id": "s"}),
        mistake("CreateSchedule", {"id": "s", "settings": {"topic": KNOWN}}, "POST /schedules", {"topic": KNOWN}),
        mistake(
            "CreateSchedule",
            {"id": "a/b", "settings": {"topic": KNOWN, "every_s": 1, "value": b""}},
            "POST /schedules",
            {"id": "a/b", "topic": KNOWN, "every": 1000, "value": ""},
        ),
        mistake(
            "CreateSchedule",
            {"id": "s", "settings": {"topic": "nowhere", "every_s": 1, "value": b""}},
            "POST /schedules",
            {"id": "s", "topic": "nowhere", "every": 1000, "value": ""},
        ),
        mistake(
            "CreateSchedule",
            {"id": "s", "settings": {"topic": KNOWN, "cron": "x", "value": b""}},
            "POST /schedules",
            {"id": "s", "topic": KNOWN, "cron": "x", "value": ""},
        ),
        mistake("GetSchedule", {"id": "none"}, "GET /schedules/none"),
        mistake("UpdateSchedule", {"id": "none"}, "PATCH /schedules/none", {}),
        mistake(
            "UpdateSchedule",
            {"id": "none", "settings": {"misfire": 9}},
            "PATCH /schedules/none",
            {"misfire": "9"},
        ),
        mistake("PauseSchedule", {"id": "none"}, "PATCH /schedules/none", {"paused": True}),
        mistake("ResumeSchedule", {"id": "none"}, "PATCH /schedules/none", {"paused": False}),
        mistake("DeleteSchedule", {"id": "none"}, "DELETE /schedules/none"),
    ],
    "SchemaService": [
        mistake("RegisterSchema", {"subject": "s"}, "POST /schemas/subjects/s/versions", {"schema": ""}),
        mistake(
            "RegisterSchema",
            {"subject": "s", "schema": {"schema": "{"}},
            "POST /schemas/subjects/s/versions",
            {"schema": "{"},
        ),
        mistake(
            "RegisterSchema",
            {"subject": "s", "schema": {"schema": '"int"', "schema_type": "XML"}},
            "POST /schemas/subjects/s/versions",
            {"schema": '"int"', "schemaType": "XML"},
        ),
        mistake(
            "RegisterSchema",
            {"subject": "x" * 250, "schema": {"schema": '"int"'}},
            f"POST /schemas/subjects/{'x' * 250}/versions",
            {"schema": '"int"'},
        ),
        mistake(
            "LookUpSchema",
            {"subject": "none", "schema": {"schema": '"int"'}},
            "POST /schemas/subjects/none",
            {"schema": '"int"'},
        ),
        mistake("GetSchema", {"id": 7_777_777}, "GET /schemas/schemas/ids/7777777"),
        mistake("GetSchemaVersion", {"subject": "none", "version": 1}, "GET /schemas/subjects/none/versions/1"),
        mistake("GetSchemaVersion", {"subject": "none"}, "GET /schemas/subjects/none/versions/0"),
        mistake("ListSchemaVersions", {"subject": "none"}, "GET /schemas/subjects/none/versions"),
        mistake("ListSchemaUses", {"id": 7_777_777}, "GET /schemas/schemas/ids/7777777/versions"),
        mistake(
            "ListSchemaReferrers",
            {"subject": "none", "version": 1},
            "GET /schemas/subjects/none/versions/1/referencedby",
        ),
        mistake(
            "CheckCompatibility",
            {"subject": "none", "schema": {"schema": '"int"'}, "version": 1},
            "POST /schemas/compatibility/subjects/none/versions/1",
            {"schema": '"int"'},
        ),
        mistake("DeleteSubject", {"subject": "none"}, "DELETE /schemas/subjects/none"),
        mistake("DeleteSchemaVersion", {"subject": "none"}, "DELETE /schemas/subjects/none/versions/0"),
        mistake("GetSchemaConfig", {"subject": "none"}, "GET /schemas/config/none"),
        mistake("SetSchemaConfig", {"config": {"compatibility": "x"}}, "PUT /schemas/config", {"compatibility": "x"}),
        mistake("DeleteSchemaConfig", {"subject": "none"}, "DELETE /schemas/config/none"),
        mistake("GetSchemaMode", {"subject": "none"}, "GET /schemas/mode/none"),
        mistake("SetSchemaMode", {"mode": "x"}, "PUT /schemas/mode", {"mode": "x"}),
        mistake("DeleteSchemaMode", {"subject": "none"}, "DELETE /schemas/mode/none"),
    ],
    "TraceService": [
        mistake("ListTraces", {"limit": 0}, "GET /traces?limit=0"),
        mistake("GetTrace", {"trace_id": "x"}, "GET /traces/x"),
        mistake("GetTrace", {"trace_id": TRACE}, f"GET /traces/{TRACE}"),
        mistake("SearchSpans", {"limit": 1001}, "GET /traces/search?limit=1001"),
        mistake("SearchSpans", {"topic": "a/b"}, "GET /traces/search?topic=a/b"),
        mistake("GetJourney", {"topic": "nowhere", "id": "x"}, "GET /traces/journey?topic=nowhere&id=x"),
        mistake("GetJourney", {"topic": KNOWN}, f"GET /traces/journey?topic={KNOWN}"),
        mistake("GetJourney", {"topic": KNOWN, "offset": 0}, f"GET /traces/journey?topic={KNOWN}&offset=0"),
        mistake("GetJourney", {"topic": KNOWN, "key": b"x"}, f"GET /traces/journey?topic={KNOWN}&key=x"),
    ],
}
NOTHING_TO_GET_WRONG = {
    "ListTopics",
    "ListGroups",
    "ListSchedules",
    "ListSubjects",
    "ListSchemas",
    "GetDeliveryStats",
    "GetLaneStats",
    "GetTransactionStats",
    "GetDelayStats",
    "GetSchemaStats",
    "GetTraceStats",
    "GetBrokerInfo",
    "GetBrokerStats",
    "CheckReadiness",
}
"""They take nothing, or nothing that could be wrong."""
NOT_OVER_HTTP = {"Work", "Release"}
"""Their mistakes are those of Poll and Ack."""
