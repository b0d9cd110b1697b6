"""What somebody does with each noun of the command line, so that every command and every option is used once."""

from tests.integration.cli.walk import Step

__all__ = ["STORIES"]

TAKE = {"receipt": "0.receipt_handle"}
BEGUN = {"handle": "handle", "number": "transaction"}

STORIES: dict[str, list[Step]] = {
    "topic": [
        Step(
            "topic create t-topic -p 2 --retention 7d --retention-bytes 10GiB --cleanup compact --durability memory "
            "--max-value 1MiB --delete-retention 1d --dedup-window 1h --set max_attempts=5",
            "created t-topic with 2 partitions",
        ),
        Step("topic create t-topic --if-not-exists -o json", '"created": false'),
        Step("topic list --all", "t-topic"),
        Step("topic list -o yaml", "name: t-topic"),
        Step("topic describe t-topic -o json", '"max_attempts": 5'),
        Step(
            "topic alter t-topic --retention 14d --retention-bytes none --cleanup compact,delete --durability fsync "
            "--max-value 2MiB --delete-retention 2d --dedup-window 2h --set max_attempts=6 -o json",
            '"setting": "max_attempts"',
        ),
        Step("produce t-topic v1 --key k1"),
        Step(
            "topic records t-topic --partition $partition --offset 0 --from 1h --to $soon --key k1 --priority 2 "
            "--uncommitted --limit 5 -o json",
            '"value": "v1"',
        ),
        Step("topic records t-topic", "v1"),
        Step("topic compact t-topic -o json", '"size_before"'),
        Step("topic alter t-topic --partitions 4", code=2),
        Step("topic export t-topic --file $definitions"),
        Step("topic export", '"name": "t-topic"'),
        Step("topic import $definitions --alter --dry-run -o json", '"executed": false'),
        Step("topic import $definitions", "kept t-topic"),
        Step("topic delete t-topic --yes -o json", '"t-topic"'),
    ],
    "queue": [
        Step("topic create t-queue -p 1"),
        Step("produce t-queue a b c d"),
        Step(
            "queue take t-queue -g q --limit 1 --wait 30s --visibility 1m --consumer me -o json",
            '"value": "a"',
            TAKE,
        ),
        Step("queue extend $receipt --by 1m", "yours until"),
        Step("queue extend $receipt -o json", '"new_deadline"'),
        Step("queue ack $receipt -o json", '"success": true'),
        Step("queue ack nonsense", code=1),
        Step("queue take t-queue -g q --wait 30s -o json", '"receipt_handle"', TAKE),
        Step("queue nack $receipt --reason busy --delay 1h -o json", '"action": "requeued"'),
        Step("queue take t-queue -g q --wait 30s -o json", '"receipt_handle"', TAKE),
        Step("queue reject $receipt --reason poison -o json", '"dlq_topic"'),
        Step("queue take t-queue -g late --latest --key-order --wait 0s", "nothing was ready in time"),
        Step("queue lanes -g q -t t-queue", "normal"),
        Step("queue lanes -o json", '"lanes"'),
        Step("queue stats", "t-queue"),
        Step("queue stats -o json", '"dead_lettered": 1'),
    ],
    "produce": [
        Step("topic create t-in -p 1"),
        Step(
            "produce t-in a --key k --header h=1 --partition 0 --priority 1 --acks all --durability memory "
            "--compression zstd --timeout 60s -o json",
            '"written": 1',
        ),
        Step("produce t-in --file $lines --key-separator = --rate 1000/s --quiet"),
        Step("produce t-in --file $jsonl --format jsonl"),
        Step("produce t-in later --delay 1h"),
        Step("produce t-in later --deliver-at $soon"),
        Step("consume t-in", "from-jsonl"),
    ],
    "consume": [
        Step("topic create t-out -p 1"),
        Step("produce t-out one two --key k"),
        Step(
            "consume t-out --from earliest --no-follow --count 1 --partition 0 --format text --show key,offset "
            "--separator ,",
            "0,k,one",
        ),
        Step("consume t-out --template '%t/%p/%o %k=%s%%' --count 1", "t-out/0/0 k=one%"),
        Step("consume t-out --group t-out-group --format jsonl", '"value":'),
        Step("group describe t-out-group", "t-out"),
    ],
    "group": [
        Step("topic create t-group -p 1"),
        Step("produce t-group one two"),
        Step("consume t-group --group g"),
        Step("group list -o json", '"g"'),
        Step("group describe g -o json", '"t-group"'),
        Step("group offsets g", "t-group"),
        Step("group offsets g -o json", '"0": 2'),
        Step("group commit-offsets g t-group/0=1 -o json", '"0": 1'),
        Step("group reset-offsets g --to earliest --topic t-group --execute -o json", '"executed": true'),
        Step("group pause g -o json", '"paused": true'),
        Step("group resume g -o json", '"paused": false'),
        Step(
            "group policy g --visibility 2m --max-attempts 5 --backoff 1s --backoff-max 1m --jitter 0.2 --reset "
            "--offsets-retention 3d "
            "-o json",
            '"max_attempts": 5',
        ),
        Step("group rebalances g -o json", '"group": "g"'),
        Step("group rebalances", "g"),
        Step("group delete g --yes -o json", '"g"'),
    ],
    "schedule": [
        Step("topic create t-schedule -p 1"),
        Step(
            "schedule create s1 t-schedule --every 1h --value go --key k --priority 1 --start $soon --end $later "
            "--misfire skip --jitter 1s --max-firings 3 --description hourly -o json",
            '"description": "hourly"',
        ),
        Step(
            "schedule create s2 t-schedule --cron '0 9 * * *' --zone Europe/Berlin --dst-gap skip --dst-overlap second "
            "--value go",
            "0 9 * * *",
        ),
        Step("schedule list -o json", '"s2"'),
        Step("schedule show s1 -o json", '"s1"'),
        Step(
            "schedule change s1 --topic t-schedule --every 2h --value gone --key k2 --priority 2 --start $soon "
            "--end $later --misfire all --jitter 2s --max-firings 4 --description slow -o json",
            '"slow"',
        ),
        Step("schedule change s2 --cron '30 8 * * *' --zone UTC --dst-gap shift --dst-overlap first", "30 8"),
        Step("schedule pause s1 -o json", '"paused": true'),
        Step("schedule resume s1 -o json", '"paused": false'),
        Step("schedule delete s1 --yes -o json", '"s1"'),
        Step("schedule delete s2 --yes", "deleted s2"),
    ],
    "delay": [
        Step("topic create t-delay -p 1"),
        Step("produce t-delay later --delay 1h"),
        Step("delay list t-delay --limit 5 --skip 0 -o json", '"pending": 1'),
        Step("delay show t-delay 0 0 -o json", "pending"),
        Step("delay reschedule t-delay 0 0 --delay 2h -o json", '"pending"'),
        Step("delay reschedule t-delay 0 0 --deliver-at $soon", "is delivered at"),
        Step("delay stats -o json", '"t-delay"'),
        Step("delay cancel t-delay 0/0 --yes -o json", "0"),
    ],
    "txn": [
        Step("topic create t-txn -p 1"),
        Step("produce t-txn work"),
        Step("queue take t-txn -g t-txn-group --wait 30s -o json", "work", TAKE),
        Step("txn begin walk-1 --timeout 2m -o json", '"handle"', BEGUN),
        Step("txn publish $handle t-txn a b --key k -o json", '"offset"'),
        Step("txn settle $handle $receipt --action nack --reason busy --delay 1s -o json", '"records": 1'),
        Step("txn offsets $handle t-txn/0=0 -g t-txn-reader -o json", '"success": true'),
        Step("txn list --limit 5 --after 0 -o json", '"transactions"'),
        Step("txn list --hanging", "no"),
        Step("txn describe $number -o json", '"open"'),
        Step("txn commit $handle -o json", '"committed"'),
        Step("txn begin walk-1 -o json", "", BEGUN),
        Step("txn rollback $handle -o json", '"aborted"'),
        Step("txn begin walk/1 --part -o json", "", BEGUN),
        Step("txn publish $handle t-txn c"),
        Step("txn prepare $handle -o json", '"prepared"'),
        Step("txn decide walk/1 $number -o json", '"committed"'),
        Step("txn begin walk-1 -o json", "", BEGUN),
        Step("txn abort $number --yes -o json", '"aborted"'),
        Step("txn stats -o json", '"committed"'),
    ],
    "schema": [
        Step("schema register money-value --file $money -o json", '"version": 1'),
        Step(
            "schema register order-value --file $order --type avro --reference shop.Money=money-value:1 --normalize "
            "-o json",
            '"id"',
            {"id": "id"},
        ),
        Step("schema list --prefix order --deleted -o json", "order-value"),
        Step("schema show order-value 1 -o json", "shop.Money"),
        Step("schema show order-value --deleted --text", "shop"),
        Step("schema show --id $id", "order-value"),
        Step(
            "schema check order-value --file $order --type avro --reference shop.Money=money-value:1 --version latest "
            "--normalize -o json",
            '"compatible": true',
        ),
        Step(
            "schema diff order-value 1 --file $order --type avro --reference shop.Money=money-value:1 -o json",
            '"levels"',
        ),
        Step("schema references money-value 1 -o json", '"order-value"'),
        Step("schema references order-value", "nothing refers to"),
        Step("schema stats -o json", "subjects"),
        Step("schema config order-value --compatibility FULL --normalize -o json", '"FULL"'),
        Step("schema config order-value --reset", "BACKWARD"),
        Step("schema mode order-value --set READWRITE --force -o json", '"READWRITE"'),
        Step("schema mode order-value --reset", "READWRITE"),
        Step("schema delete order-value --version 1 --yes -o json", '"versions"'),
        Step("schema delete order-value --permanent --yes", "for good"),
    ],
    "dlq": [
        Step("topic create t-dlq -p 1"),
        Step("produce t-dlq bad worse --key k"),
        Step("queue take t-dlq -g d --wait 30s -o json", "bad", TAKE),
        Step("queue reject $receipt --reason poison"),
        Step("queue take t-dlq -g d --wait 30s -o json", "worse", TAKE),
        Step("queue reject $receipt --reason poison"),
        Step(
            "dlq list t-dlq --reason poison --cause rejected --key k --group d --from 1h --to $soon --limit 5 -o json",
            "poison",
        ),
        Step("dlq show t-dlq 0 0 -o json", "poison"),
        Step("dlq stats t-dlq -o json", '"count": 2'),
        Step(
            "dlq redrive t-dlq --reason poison --cause rejected --key k --group d --from 1h --to $soon --limit 1 "
            "--rate 50/s --into t-dlq --new-value v --new-key k2 --new-header a=1 --dry-run -o json",
            '"redriven": 1',
        ),
        Step("dlq redrive t-dlq --offset 0/0", "1 dead letter redriven"),
        Step("dlq redrive t-dlq --all --dry-run", "would be redriven"),
        Step(
            "dlq purge t-dlq --reason poison --cause rejected --key k --group d --from 1h --to $soon --limit 1 "
            "--dry-run -o json",
            '"purged": 1',
        ),
        Step("dlq purge t-dlq --offset 0/1 --dry-run", "would be purged"),
        Step("dlq purge t-dlq --all --yes", "1 dead letter purged"),
    ],
    "trace": [
        Step("topic create t-trace -p 1"),
        Step("produce t-trace --file $jsonl --format jsonl"),
        Step("trace list -n 5 -o json", '"traces"', {"trace": "traces.0.trace_id"}),
        Step("trace get $trace -o json", '"spans"'),
        Step(
            "trace search --topic t-trace --partition 0 --operation publish --status ok --key k --id walk-1 --from 1h "
            "--to $soon --limit 5 -o json",
            '"spans"',
        ),
        Step("trace search --group nobody", "no"),
        Step("trace journey t-trace 0/0 -o json", '"found": "there"'),
        Step("trace journey t-trace --key k", "t-trace"),
        Step("trace journey t-trace --id walk-1", "t-trace"),
        Step("trace stats -o json", '"operations"'),
    ],
    "broker": [
        Step("broker health", "ready"),
        Step("broker health -o json", '"checks"'),
        Step("broker info", "journal"),
        Step("broker info -o yaml", "disk_used_share:"),
        Step("broker metrics --name broker_topics", "goqueue_broker_topics "),
        Step("broker api", '"/topics/{topic}/messages"'),
        Step("broker request GET /topics", '"topics"'),
        Step("""broker request POST /topics --data '{"name": "t-broker"}'""", "t-broker"),
        Step("broker request GET /topics/nowhere", "unknown_topic", code=1),
    ],
    "storage": [
        Step("storage inspect $sound -o json", '"inspection"'),
        Step("storage verify $sound -o json", '"clean": true'),
        Step("storage repair $sound --dry-run --yes -o json"),
        Step(
            "storage dump $sound orders/0 --from-offset 0 --to-offset 5 --from-time 1970-01-01T00:00:00Z --limit 2 "
            "--format json --values hex"
        ),
    ],
    "top": [
        Step("top --once --interval 0.1 --sort lag", "Topics"),
        Step("top -i 0.1 -o json", '"in_per_s"'),
    ],
    "bench": [
        Step("topic create t-bench -p 1"),
        Step(
            "bench publish --topic t-bench --partitions 1 --size 64 --batch 10 --workers 2 --connections 2 "
            "--rate 1000/s --seconds 20 --records 50 --durability memory --keep -o json",
            '"records": 50',
        ),
        Step("bench all --seconds 20 -n 100 --batch 20", "latency"),
        Step("topic list", "t-bench"),
    ],
    "doctor": [Step("doctor --data $data --config $settings --no-measure -o json", '"problem": 0')],
    "completion": [Step("completion bash", "_goqueue_completion")],
    "version": [Step("version -o json", '"codec"')],
    "config": [
        Step("config set-context a --server broker.example:1 --http broker.example:2 -o json", '"current": true'),
        Step("config set-context b --server other.example:7171", "HTTP other.example:8080"),
        Step("config get-contexts -o json", '"other.example:7171"'),
        Step("config get-contexts", "broker.example:1"),
        Step("config use-context b -o json", '"b"'),
        Step("config current-context -o json", '"b"'),
        Step("config rename-context b c -o json", '"c"'),
        Step("config current-context", "c"),
        Step("config delete-context c --yes -o json", '"c"'),
        Step("config current-context", code=2),
        Step(
            "config show --data d --http 127.0.0.1:1 --native 127.0.0.1:2 --grpc 127.0.0.1:4 --schemas 127.0.0.1:3 "
            "--config $settings --log-level error --log-format json -o json",
            '"listen.http": "flag"',
        ),
    ],
}
