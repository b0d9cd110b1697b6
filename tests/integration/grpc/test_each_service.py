"""Every call of every service, but for those of the queue, does what it is for."""

import time

from goqueue.wire.grpc.v1 import (
    delays_pb2,
    groups_pb2,
    offsets_pb2,
    records_pb2,
    schedules_pb2,
    topics_pb2,
    traces_pb2,
    transactions_pb2,
)
from tests.behaviour.serving import eventually
from tests.integration.grpc.calling import every_method, service_of
from tests.integration.grpc.talking import WITHIN_S, batch_request, records_request

TYPED = records_pb2.RECORD_FORM_TYPED
HOUR_MS = 3_600_000
SCHEMA = '{"type":"record","name":"Order","fields":[{"name":"id","type":"long"}]}'
WIDER = SCHEMA.replace("]}", ',{"name":"note","type":"string","default":""}]}')
STRICTER = SCHEMA.replace("]}", ',{"name":"note","type":"string"}]}')


def published(stubs, topic, *values):
    stubs.publish.Publish(records_request(topic, *values), timeout=WITHIN_S)


def taken(stubs, topic, group):
    """Records with their receipts."""
    found = service_of(stubs, "QueueService").Poll(group=group, topics=[topic], form=TYPED, visibility_ms=HOUR_MS)
    return [one for lease in found.leases for one in lease.typed]


def test_topics(stubs, topic):
    name = f"{topic}-made"
    with every_method(stubs, "TopicService") as topics:
        settings = {
            "cleanup": topics_pb2.CLEANUP_COMPACT_DELETE,
            "retention_ms": HOUR_MS,
            "lane_weights": [5, 4, 3, 2, 1],
            "trace_rate": 0.5,
            "cleared": ["retention_bytes"],
        }
        made = topics.CreateTopic(name=name, partitions=2, settings=settings).topic
        assert (made.settings.cleanup, made.settings.retention_ms) == (topics_pb2.CLEANUP_COMPACT_DELETE, HOUR_MS)
        assert made.settings.durability == records_pb2.DURABILITY_FSYNC
        assert list(made.settings.lane_weights) == [5, 4, 3, 2, 1]
        assert made.created_ns > 0
        assert [(one.range_start, one.range_stop) for one in made.partitions] == [(0, 2**31), (2**31, 2**32)]
        assert topics.GetTopic(name=name).topic == made
        assert made in topics.ListTopics().topics

        changed = topics.UpdateTopic(name=name, settings={"max_attempts": 7, "cleared": ["retention_ms", "trace_rate"]})
        left = changed.topic.settings
        assert (left.max_attempts, left.HasField("retention_ms"), left.HasField("trace_rate")) == (7, False, False)
        assert left.cleanup == topics_pb2.CLEANUP_COMPACT_DELETE

        records = [records_pb2.Record(key=b"%d" % (number % 2), value=b"%d" % number) for number in range(6)]
        request = records_request(name)
        request.records.extend(records)
        stubs.publish.Publish(request, timeout=WITHIN_S)
        page = topics.BrowseRecords(topic=name, key=b"1", limit=2)
        rest = topics.BrowseRecords(topic=name, key=b"1", limit=2, cursor=page.next_cursor)
        assert [one.value for one in (*page.records, *rest.records)] == [b"1", b"3", b"5"]
        assert rest.next_cursor == ""

        compacted = topics.CompactTopic(name=name).partitions
        assert [one.partition for one in compacted] == [0, 1]
        topics.DeleteTopic(name=name)
        assert topics.refusal("GetTopic", name=name) == "unknown_topic"


def test_groups(stubs, wide_topic):
    name = wide_topic
    with every_method(stubs, "GroupService") as groups:
        first = groups.JoinGroup(group=name, topics=[name], client_id="one", session_ms=300_000)
        assert (len(first.partitions), list(first.members)) == (4, [first.member_id])
        second = groups.JoinGroup(group=name, topics=[name], client_id="two", session_ms=300_000)
        who = {"group": name, "member_id": first.member_id}

        told = groups.Heartbeat(**who, generation=first.generation).assignment
        assert (len(told.partitions), len(told.revoke)) == (2, 2)
        assert told.state == groups_pb2.GROUP_STATE_REBALANCING
        told = groups.RevokePartitions(**who, generation=told.generation, partitions=told.revoke).assignment
        assert not told.revoke
        kept = groups.Heartbeat(**who, generation=told.generation, owned={"partitions": told.partitions}).assignment
        assert groups.GetAssignment(**who).assignment == kept
        theirs = groups.Heartbeat(group=name, member_id=second.member_id, generation=second.generation).assignment
        assert len(theirs.partitions) == 2

        found = groups.GetGroup(group=name).group
        assert (found.state, found.leader_id) == (groups_pb2.GROUP_STATE_STABLE, first.member_id)
        assert found.protocol == groups_pb2.GROUP_PROTOCOL_COOPERATIVE
        assert found.assignor == groups_pb2.ASSIGNOR_STICKY
        assert [one.client_id for one in found.members] == ["one", "two"]
        assert [one.lag for one in found.partitions] == [0] * 4
        (summary,) = [one for one in groups.ListGroups().groups if one.group == name]
        assert (summary.members, summary.lag) == (2, 0)
        (rebalances,) = groups.ListRebalances(group=name).groups
        assert rebalances.count > 0
        assert rebalances in groups.ListRebalances().groups

        groups.PauseGroup(group=name)
        assert groups.GetGroup(group=name).group.paused
        groups.ResumeGroup(group=name)
        assert not groups.GetGroup(group=name).group.paused
        policy = groups.SetGroupPolicy(group=name, policy={"max_attempts": 9, "retry_jitter": 0.0}).policy
        assert (policy.max_attempts, policy.retry_jitter) == (9, 0.0)
        assert not policy.HasField("retry_backoff_ms")
        assert groups.GetGroupPolicy(group=name).policy == policy

        assert groups.refusal("DeleteGroup", group=name) == "group_not_empty"
        for member in (first, second):
            groups.LeaveGroup(group=name, member_id=member.member_id)
        groups.DeleteGroup(group=name)
        assert groups.refusal("GetGroup", group=name) == "unknown_group"


def test_offsets(stubs, topic):
    published(stubs, topic, b"0", b"1", b"2")
    with every_method(stubs, "OffsetService") as offsets:
        offsets.CommitOffsets(group=topic, offsets=[{"topic": topic, "offset": 2, "metadata": "half"}])
        (kept,) = offsets.FetchOffsets(group=topic, topics=[topic]).offsets
        assert (kept.offset, kept.metadata) == (2, "half")
        assert not offsets.FetchOffsets(group=topic, topics=["another"]).offsets
        assert not offsets.FetchOffsets(group=f"{topic}-unknown").offsets

        earliest = {"group": topic, "to": offsets_pb2.OFFSET_POINT_EARLIEST}
        (change,) = offsets.ResetOffsets(**earliest, dry_run=True).changes
        assert (change.before, change.after) == (2, 0)
        assert offsets.FetchOffsets(group=topic).offsets[0].offset == 2
        offsets.ResetOffsets(**earliest)
        assert offsets.FetchOffsets(group=topic).offsets[0].offset == 0

        points = {
            offsets_pb2.OFFSET_POINT_EARLIEST: {},
            offsets_pb2.OFFSET_POINT_LATEST: {},
            offsets_pb2.OFFSET_POINT_TIMESTAMP: {"timestamp_ns": time.time_ns() + 10**12},
        }
        questions = [{"topic": topic, "at": at, **more} for at, more in points.items()]
        assert [one.offset for one in offsets.ListOffsets(questions=questions).offsets] == [0, 3, 3]


def test_transactions(stubs, topic):
    published(stubs, topic, b"input")
    with every_method(stubs, "TransactionService") as transactions:
        who = transactions.InitTransactions(transactional_id=topic, transaction_timeout_ms=900_000)
        producer = {"producer_id": who.producer_id, "epoch": who.epoch}
        begun = transactions.BeginTransaction(**producer)
        ref = begun.transaction
        assert (begun.timeout_ms, ref.producer_id) == (900_000, who.producer_id)
        assert transactions.CheckProducer(**producer).transaction == ref.transaction

        request = batch_request(topic, b"output")
        request.producer.producer_id, request.producer.epoch = who.producer_id, who.epoch
        request.transaction = ref.transaction
        stubs.publish.Publish(request, timeout=WITHIN_S)
        (record,) = taken(stubs, topic, topic)
        added = transactions.AddAcks(transaction=ref, records={"receipts": [record.receipt]})
        assert (added.records, added.dead_letters) == (1, 0)
        transactions.AddOffsets(transaction=ref, group=f"{topic}-other", offsets=[{"topic": topic, "offset": 1}])
        live = transactions.GetTransaction(transaction=ref.transaction).transaction
        assert live.state == transactions_pb2.TRANSACTION_STATE_OPEN
        assert [(one.records, one.first_offset) for one in live.partitions] == [(1, 1)]
        assert [(one.action, one.records) for one in live.pledges] == [(transactions_pb2.SETTLE_ACTION_ACK, 1)]
        assert [(one.group, one.offset) for one in live.offsets] == [(f"{topic}-other", 1)]
        assert ref.transaction in [one.number for one in transactions.ListTransactions().transactions]
        assert [one.value for one in stubs.fetch_all(topic)] == [b"input"]
        transactions.CommitTransaction(transaction=ref)
        assert [one.value for one in stubs.fetch_all(topic)] == [b"input", b"output"]
        assert not [one for one in taken(stubs, topic, topic) if one.record.value == b"input"]

        aborted = transactions.BeginTransaction(**producer).transaction
        transactions.AbortTransaction(transaction=aborted)
        ended = transactions.GetTransaction(transaction=aborted.transaction).transaction
        assert ended.state == transactions_pb2.TRANSACTION_STATE_ABORTED
        stuck = transactions.BeginTransaction(**producer).transaction
        forced = transactions.ForceAbortTransaction(transaction=stuck.transaction).transaction
        assert (forced.state, bool(forced.why)) == (transactions_pb2.TRANSACTION_STATE_ABORTED, True)

        parts = [transactions.BeginPart(key=topic, timeout_ms=900_000).transaction for _ in range(2)]
        for part in parts:
            transactions.PreparePart(transaction=part)
        decided = transactions.DecideParts(key=topic, transactions=[parts[1].transaction])
        assert list(decided.committed) == [parts[1].transaction]
        assert list(decided.aborted) == [parts[0].transaction]
        stats = transactions.GetTransactionStats()
        assert stats.committed >= 2
        assert stats.aborted >= 3

        newer = transactions.InitTransactions(transactional_id=topic, **producer, instance="again")
        assert newer.epoch == who.epoch + 1
        assert transactions.refusal("BeginTransaction", **producer) == "producer_fenced"


def test_dead_letters(stubs, topic):
    published(stubs, topic, b"0", b"1", b"2")
    receipts = [one.receipt for one in taken(stubs, topic, topic)]
    service_of(stubs, "QueueService").Reject(records={"receipts": receipts}, reason="broken")
    with every_method(stubs, "DeadLetterService") as letters:
        page = letters.ListDeadLetters(topic=topic, select={"reason": "BROKEN"}, limit=2)
        rest = letters.ListDeadLetters(topic=topic, select={"reason": "BROKEN"}, cursor=page.next_cursor)
        found = [*page.letters, *rest.letters]
        assert page.dead_letter_topic == f"{topic}.dlq"
        assert [one.record.value for one in found] == [b"0", b"1", b"2"]
        origin = found[1].origin
        assert (origin.topic, origin.offset, origin.group, origin.cause) == (topic, 1, topic, "rejected")
        assert letters.GetDeadLetter(topic=topic, partition=0, offset=1).letter == found[1]
        stats = letters.GetDeadLetterStats(topic=topic)
        assert (stats.count, dict(stats.by_reason)) == (3, {"broken": 3})

        chosen = {"places": [{"partition": 0, "offset": 0}, {"partition": 0, "offset": 77}]}
        edit = {"value": b"mended", "without_key": True, "headers": {"headers": [{"name": "h", "value": b"v"}]}}
        told = letters.RedriveDeadLetters(topic=topic, select=chosen, edit=edit, dry_run=True)
        assert (told.matched, told.redriven, told.missing) == (1, 1, 1)
        assert len(stubs.fetch_all(topic)) == 3
        done = letters.RedriveDeadLetters(topic=topic, select=chosen, edit=edit, rate=1000.0)
        (move,) = done.moves
        assert (move.offset, move.topic, move.target_offset) == (0, topic, 3)
        mended = stubs.fetch_all(topic)[3]
        assert (mended.value, mended.HasField("key"), mended.headers[0].name) == (b"mended", False, "h")
        assert letters.refusal("PurgeDeadLetters", topic=topic) == "invalid_request"
        assert letters.PurgeDeadLetters(topic=topic, select={"all": True}, dry_run=True).purged == 2
        assert letters.PurgeDeadLetters(topic=topic, select={"all": True}).purged == 2
        assert letters.GetDeadLetterStats(topic=topic).count == 0


def test_delays(stubs, topic):
    request = records_request(topic)
    request.records.extend(records_pb2.Record(value=b"%d" % number, delay_ms=HOUR_MS) for number in range(3))
    stubs.publish.Publish(request, timeout=WITHIN_S)
    with every_method(stubs, "DelayService") as delays:
        page = delays.ListDelayed(topic=topic, limit=2, skip=1)
        assert ([one.offset for one in page.delayed], page.total) == ([1, 2], 3)
        found = delays.GetDelayed(topic=topic, partition=0, offset=1)
        assert (found.delay, found.record.value) == (page.delayed[0], b"1")
        sooner = delays.RescheduleDelayed(topic=topic, partition=0, offset=1, delay_ms=HOUR_MS // 2).delay
        assert sooner.deliver_at_ns < found.delay.deliver_at_ns
        assert [one.offset for one in delays.ListDelayed(topic=topic).delayed] == [1, 0, 2]
        delays.RescheduleDelayed(topic=topic, partition=0, offset=2, delay_ms=0)
        eventually(lambda: [one.value for one in stubs.fetch_all(topic)] == [b"2"], within_s=WITHIN_S)
        places = [{"partition": 0, "offset": offset} for offset in (0, 2, 77)]
        ended = delays.CancelDelayed(topic=topic, records=places)
        assert [one.offset for one in ended.cancelled] == [0]
        codes = {one.offset: one.error.code for one in ended.not_cancelled}
        assert codes == {2: "delay_is_over", 77: "unknown_delay"}
        state = delays.GetDelayed(topic=topic, partition=0, offset=0).delay.state
        assert state == delays_pb2.DELAY_STATE_CANCELLED
        (stats,) = [one for one in delays.GetDelayStats().topics if one.topic == topic]
        assert (stats.pending, stats.delivered, stats.cancelled) == (1, 1, 1)


def test_schedules(stubs, topic):
    with every_method(stubs, "ScheduleService") as schedules:
        settings = {
            "topic": topic,
            "value": b"tick",
            "key": b"k",
            "headers": [{"name": "h", "value": b""}],
            "every_s": 1,
            "misfire": schedules_pb2.MISFIRE_SKIP,
            "max_firings": 1,
        }
        made = schedules.CreateSchedule(id=topic, settings=settings).schedule
        assert made.status == schedules_pb2.SCHEDULE_STATUS_ACTIVE
        assert (made.settings.misfire, made.settings.zone) == (schedules_pb2.MISFIRE_SKIP, "UTC")
        eventually(lambda: schedules.GetSchedule(id=topic).schedule.fired == 1, within_s=WITHIN_S, every_s=0.1)
        (record,) = stubs.fetch_all(topic)
        assert (record.key, record.value, record.headers[0].name) == (b"k", b"tick", "h")
        fired = schedules.GetSchedule(id=topic).schedule
        assert fired.status == schedules_pb2.SCHEDULE_STATUS_ENDED
        (firing,) = fired.history
        assert (firing.outcome, firing.offset) == (schedules_pb2.FIRING_OUTCOME_FIRED, 0)

        changes = {"cron": "0 9 * * MON-FRI", "description": "daily", "cleared": ["max_firings", "key", "headers"]}
        changed = schedules.UpdateSchedule(id=topic, settings=changes).schedule.settings
        assert (changed.cron, changed.HasField("every_s")) == ("0 9 * * MON-FRI", False)
        assert (changed.HasField("max_firings"), changed.HasField("key"), len(changed.headers)) == (False, False, 0)
        paused = schedules.PauseSchedule(id=topic).schedule
        assert paused.status == schedules_pb2.SCHEDULE_STATUS_PAUSED
        resumed = schedules.ResumeSchedule(id=topic).schedule
        assert (resumed.status, resumed.next_due_ns > time.time_ns()) == (schedules_pb2.SCHEDULE_STATUS_ACTIVE, True)
        assert resumed in schedules.ListSchedules().schedules
        schedules.DeleteSchedule(id=topic)
        assert schedules.refusal("GetSchedule", id=topic) == "unknown_schedule"
        named = schedules.CreateSchedule(settings={"topic": topic, "value": b"", "every_s": 3600}).schedule
        assert named.id
        schedules.DeleteSchedule(id=named.id)


def test_schemas(stubs, topic):
    subject, other = f"{topic}-value", f"{topic}-other"
    with every_method(stubs, "SchemaService") as schemas:
        first = schemas.RegisterSchema(subject=subject, schema={"schema": SCHEMA})
        assert schemas.RegisterSchema(subject=subject, schema={"schema": SCHEMA}) == first
        second = schemas.RegisterSchema(subject=subject, schema={"schema": WIDER})
        assert (first.version, second.version) == (1, 2)
        known = schemas.LookUpSchema(subject=subject, schema={"schema": SCHEMA}).version
        assert (known.version, known.id) == (1, first.id)
        assert (known.schema.schema, known.schema.schema_type) == (SCHEMA, "AVRO")
        by_id = schemas.GetSchema(id=second.id)
        assert by_id.schema.schema == WIDER
        assert by_id.highest_id >= second.id
        assert schemas.GetSchemaVersion(subject=subject, version=-1).version.id == second.id
        assert subject in schemas.ListSubjects(prefix=topic, limit=10).subjects
        assert list(schemas.ListSchemaVersions(subject=subject).versions) == [1, 2]
        assert [one.id for one in schemas.ListSchemas(prefix=subject, latest_only=True).versions] == [second.id]
        (use,) = schemas.ListSchemaUses(id=first.id, subject=subject).uses
        assert (use.subject, use.version) == (subject, 1)

        reference = {"name": "Order", "subject": subject, "version": 1}
        refers = {"schema": '{"type": "array", "items": "Order"}', "references": [reference]}
        third = schemas.RegisterSchema(subject=other, schema=refers)
        assert list(schemas.ListSchemaReferrers(subject=subject, version=1).ids) == [third.id]
        kept = schemas.GetSchemaVersion(subject=other, version=1).version.schema.references
        assert [(one.name, one.subject, one.version) for one in kept] == [("Order", subject, 1)]

        assert schemas.CheckCompatibility(subject=subject, schema={"schema": WIDER}).is_compatible
        refused = schemas.CheckCompatibility(subject=subject, schema={"schema": STRICTER}, version=1)
        assert (refused.is_compatible, len(refused.reasons)) == (False, 1)
        config = schemas.SetSchemaConfig(subject=subject, config={"compatibility": "none"}).config
        assert (config.compatibility, config.HasField("normalize")) == ("NONE", False)
        assert schemas.GetSchemaConfig(subject=subject).config == config
        assert schemas.DeleteSchemaConfig(subject=subject).config == config
        assert schemas.GetSchemaConfig(subject=subject, default_to_global=True).config.compatibility == "BACKWARD"
        assert schemas.SetSchemaMode(subject=subject, mode="READONLY").mode == "READONLY"
        assert schemas.GetSchemaMode(subject=subject).mode == "READONLY"
        assert schemas.DeleteSchemaMode(subject=subject).mode == "READONLY"

        assert list(schemas.DeleteSubject(subject=other).versions) == [1]
        assert schemas.DeleteSchemaVersion(subject=subject, version=2).version == 2
        assert list(schemas.ListSchemaVersions(subject=subject, deleted=True).versions) == [1, 2]
        stats = schemas.GetSchemaStats()
        assert stats.subjects >= 2
        assert list(stats.types) == ["AVRO", "JSON", "PROTOBUF"]


def test_traces(stubs, topic):
    service_of(stubs, "TopicService").UpdateTopic(name=topic, settings={"trace_rate": 1.0})
    request = records_request(topic)
    request.records.extend([records_pb2.Record(value=b"v", key=b"key", id="order-1")])
    stubs.publish.Publish(request, timeout=WITHIN_S)
    (record,) = taken(stubs, topic, topic)
    service_of(stubs, "QueueService").Nack(records={"receipts": [record.receipt]}, reason="busy", delay_ms=HOUR_MS)
    with every_method(stubs, "TraceService") as traces:
        journey = traces.GetJourney(topic=topic, partition=0, offset=0)
        assert (journey.found, journey.record.key) == (traces_pb2.RECORD_FOUND_THERE, b"key")
        assert (journey.record.HasField("value"), journey.is_traced, journey.transaction) == (False, True, "none")
        (stand,) = journey.groups
        assert (stand.state, stand.failures, stand.last_failure) == ("retrying", 1, "busy")
        assert traces.GetJourney(topic=topic, id="order-1").trace_id == journey.trace_id
        assert traces.GetJourney(topic=topic, key=b"key").trace_id == journey.trace_id
        spans = traces.GetTrace(trace_id=journey.trace_id).spans
        operations = [one.operation for one in spans]
        assert operations == [
            traces_pb2.SPAN_OPERATION_PUBLISH,
            traces_pb2.SPAN_OPERATION_CONSUME,
            traces_pb2.SPAN_OPERATION_NACK,
        ]
        assert [one.parent_id for one in spans][:2] == ["", spans[0].span_id]
        (failed,) = traces.SearchSpans(topic=topic, is_error=True).spans
        assert (failed.operation, failed.error, failed.group) == (traces_pb2.SPAN_OPERATION_NACK, "busy", topic)
        assert not traces.SearchSpans(topic=topic, operation=traces_pb2.SPAN_OPERATION_ACK).spans
        (summary,) = [one for one in traces.ListTraces().traces if one.trace_id == journey.trace_id]
        assert (summary.spans, summary.errors, summary.first) == (3, 1, spans[0])
        stats = traces.GetTraceStats()
        assert stats.enabled
        assert stats.recorded >= 3
        assert traces_pb2.SPAN_OPERATION_NACK in [one.operation for one in stats.operations]


def test_the_broker_itself(stubs, topic):
    published(stubs, topic, b"0")
    with every_method(stubs, "AdminService") as admin:
        info = admin.GetBrokerInfo()
        assert info.version
        assert info.codec in ("compiled", "python")
        assert (info.max_poll_records, info.max_wait_ms) == (1000, 60_000)
        stats = admin.GetBrokerStats()
        assert min(stats.topics, stats.partitions, stats.records, stats.bytes, stats.journal_bytes) > 0
        ready = admin.CheckReadiness()
        assert (ready.ready, dict(ready.checks)) == (True, {"storage": "ok", "disk": "ok"})
