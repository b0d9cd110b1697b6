"""What somebody does with each pipeline, so that every option of each of them is used once."""

from tests.integration.cli.walk import Step

__all__ = ["PIPELINE_STORIES"]

SPARK = "--master local[1] --conf spark.sql.shuffle.partitions=1"

PIPELINE_STORIES: dict[str, list[Step]] = {
    "audit": [
        Step("produce w-copy --file $orders --format jsonl"),
        Step("consume w-orders --group w-audit"),
        Step(
            "pipeline audit w-orders --from earliest --to latest --id field:n --sequence field:n --dense --copy w-copy "
            f"--map content --where true --group w-audit --strict --report $folder/audit {SPARK} -o json",
            '"verdict"',
            code=1,
        ),
    ],
    "compact": [
        Step(
            "pipeline compact w-orders --to $folder/table --at latest --schema 'n long' --overwrite "
            f"--registry $registry {SPARK} -o json",
            '"rows": 3',
        ),
        Step(f"pipeline compact w-orders --to $folder/table-2 --path $copy {SPARK}", "became 3 rows"),
    ],
    "dedup": [
        Step("topic create w-clean"),
        Step(
            "pipeline dedup w-orders --into w-clean --by field:n --keep last --from 0 --to latest --name once "
            f"{SPARK} -o json",
            '"dropped": 1',
        ),
        Step(
            "pipeline dedup w-orders --into $folder/clean --by field:n --checkpoint $folder/dedup --follow "
            f"--watermark 2h {SPARK}",
            "duplicates by field:n were dropped",
            until="dedup/**/commits/0",
        ),
    ],
    "dlq": [
        Step("queue take w-orders -g w-dlq --wait 30s -o json", "", {"receipt": "0.receipt_handle"}),
        Step("queue reject $receipt --reason poison"),
        Step(
            f"pipeline dlq w-orders --from earliest --to latest --report $folder/dlq {SPARK} -o json",
            '"letters": 1',
            {"cluster": "clusters.0.cluster"},
        ),
        Step(
            "pipeline dlq w-orders --redrive --where true --cluster $cluster --rate 50/s --dry-run "
            f"--report $folder/dlq {SPARK}",
            "1 would be sent back",
        ),
        Step(f"pipeline dlq w-orders --redrive --where true --yes --report $folder/dlq {SPARK}", "1 sent back"),
    ],
    "lake": [
        Step(
            "pipeline lake w-orders --to $folder/lake --load --compact --small 1MiB --target 2MiB --verify "
            f"--schema 'n long' --registry $registry --batch 100 {SPARK} -o json",
            '"verified"',
        ),
        Step(f"pipeline lake w-orders --to $folder/lake --no-load --verify {SPARK}", "files and rows agree"),
        Step(
            f"pipeline lake w-orders --to $folder/lake-2 --follow --every 1s {SPARK}",
            "w-orders",
            until="lake-2/w-orders/**/*.parquet",
        ),
    ],
    "quality": [
        Step("schema register w-orders-value --file $rules --type json"),
        Step(
            "pipeline quality w-orders --from earliest --to latest --subject w-orders-value --version 1 --strict "
            f"--report $folder/quality {SPARK} -o json",
            '"violating": 0',
        ),
        Step(f"pipeline quality w-orders --schema $rules --report $folder/quality-2 {SPARK}", "break schema"),
    ],
    "replay": [
        Step("topic create w-again"),
        Step(
            "pipeline replay w-orders --into w-again --from 0 --to latest --partition 0 --where 'offset < 2' "
            f"--rate 100/s --name r1 --checkpoint $folder/replay --within 5m {SPARK} -o json",
            '"records": 2',
        ),
        Step(f"pipeline replay w-orders --sandbox --dry-run {SPARK}", "nothing was written"),
    ],
    "traces": [
        Step("trace list -n 1 -o json", '"traces"', {"trace": "traces.0.trace_id"}),
        Step(
            f"pipeline traces $spans --slowest 5 --trace $trace --report $folder/traces {SPARK} -o json",
            '"critical_path"',
        ),
        Step("topic create w-spans"),
        Step("produce w-spans --file $lines"),
        Step(f"pipeline traces --topic w-spans --live --report $folder/traces-2 {SPARK}", "report: "),
        Step(
            f"pipeline traces --topic w-spans --follow --every 1s --report $folder/traces-3 {SPARK}",
            "report: ",
            until="traces-3/**/*.html",
        ),
    ],
    "windows": [
        Step("topic create w-sums"),
        Step(
            "pipeline windows w-orders --length 2m --slide 1m --late 1m --by field:n --sum n --at field:at "
            f"--into w-sums --checkpoint $folder/windows --updates {SPARK} -o json",
            '"watermark": "2026-01-01',
        ),
        Step(
            f"pipeline windows w-orders --to $folder/windows-2 --follow --every 1s {SPARK}",
            "records of w-orders in",
            until="windows-2/_checkpoint/commits/0",
        ),
    ],
}
