"""Dashboards and alert rules: they name only what a broker exports, and do what they say."""

import json
import re
import shutil
import subprocess
from pathlib import Path

import pytest
import yaml

from deploy.grafana.build import files
from goqueue.adapters.telemetry.metrics import FAMILIES
from tests.promql import named

ROOT = Path(__file__).parents[2]
RULES = ROOT / "deploy" / "prometheus" / "alerts.yml"
RULE_TESTS = ROOT / "deploy" / "prometheus" / "alerts_test.yml"
EXAMPLE = ROOT / "deploy" / "prometheus" / "prometheus.yml"
MONITORING = ROOT / "docs" / "operations" / "monitoring.md"
DASHBOARDS = sorted((ROOT / "deploy" / "grafana").glob("*.json"))
OF_PROMETHEUS = {"instance", "job"}
OF_THE_PROCESS = {"process_start_time_seconds", "process_cpu_seconds_total", "process_resident_memory_bytes", "up"}

needs_promtool = pytest.mark.skipif(shutil.which("promtool") is None, reason="needs promtool (Debian: prometheus)")


def labels_by_series() -> dict[str, set[str]]:
    found = dict.fromkeys(OF_THE_PROCESS, OF_PROMETHEUS)
    for family in FAMILIES:
        labels = OF_PROMETHEUS | set(family.labels)
        if family.kind == "histogram":
            found[f"{family.name}_bucket"] = labels | {"le"}
            found |= {f"{family.name}_{part}": labels for part in ("sum", "count")}
        else:
            found[family.exported] = labels
    return found


KNOWN = labels_by_series()


def rules() -> list[dict]:
    return [rule for group in yaml.safe_load(RULES.read_text())["groups"] for rule in group["rules"]]


def panels_of(path: Path) -> list[dict]:
    return [panel for panel in json.loads(path.read_text())["panels"] if panel["type"] != "row"]


def expressions_of(path: Path) -> list[str]:
    dashboard = json.loads(path.read_text())
    shown = [target["expr"] for panel in panels_of(path) for target in panel["targets"]]
    chosen = [one["query"] for one in dashboard["templating"]["list"] if one["type"] == "query"]
    metrics = [re.fullmatch(r"label_values\((\w+), (\w+)\)", query) for query in chosen]
    assert all(metrics)
    return shown + [f"{one[1]}{{{one[2]}=~'.*'}}" for one in metrics if one]


def check(expression: str) -> None:
    found = named(expression)
    assert found.metrics, expression
    for metric, labels in found.metrics.items():
        assert metric in KNOWN, f"{metric} is not exported: {expression}"
        assert labels <= KNOWN[metric], f"{metric} has no {labels - KNOWN[metric]}: {expression}"
    possible = set().union(*(KNOWN[metric] for metric in found.metrics))
    assert found.grouped <= possible, f"nothing has {found.grouped - possible}: {expression}"


# The little reader of PromQL itself.


@pytest.mark.parametrize(
    ("expression", "metrics", "grouped"),
    [
        ("up", {"up": set()}, set()),
        ('sum by (a, b) (rate(x_total{c="d{}", e=~"f"}[5m])) > 0.5', {"x_total": {"c", "e"}}, {"a", "b"}),
        ("(x > 0) and on (a) (y == 0) unless on (a) z", {"x": set(), "y": set(), "z": set()}, {"a"}),
        ("predict_linear(x[1h], 4 * 3600) or deriv(y[30m])", {"x": set(), "y": set()}, set()),
    ],
)
def test_metrics_and_labels_of_an_expression_are_found(expression, metrics, grouped):
    assert named(expression) == (metrics, grouped)


@pytest.mark.parametrize(
    "expression",
    [
        "goqueue_broker_topcis",
        'goqueue_broker_topics{topic="orders"}',
        "sum by (topic) (goqueue_broker_topics)",
        "sum(goqueue_broker_topics",
        "up ? 1",
    ],
)
def test_an_expression_about_what_is_not_exported_is_found_out(expression):
    with pytest.raises(AssertionError):
        check(expression)


# Dashboards.


def test_the_dashboards_are_what_the_code_says():
    assert {path: path.read_text() for path in DASHBOARDS} == files(), "run `make dashboards`"
    assert len(DASHBOARDS) == 5


@pytest.mark.parametrize("path", DASHBOARDS, ids=lambda path: path.stem)
def test_every_expression_of_a_dashboard_names_what_is_exported(path):
    for expression in expressions_of(path):
        check(expression)


@pytest.mark.parametrize("path", DASHBOARDS, ids=lambda path: path.stem)
def test_panels_do_not_overlap_and_have_names_of_their_own(path):
    taken: set[tuple[int, int]] = set()
    panels = json.loads(path.read_text())["panels"]
    for panel in panels:
        place = panel["gridPos"]
        cells = {
            (x, y)
            for x in range(place["x"], place["x"] + place["w"])
            for y in range(place["y"], place["y"] + place["h"])
        }
        assert not cells & taken and place["x"] + place["w"] <= 24, panel["title"]
        taken |= cells
    assert len({panel["id"] for panel in panels}) == len(panels)


def test_every_metric_is_on_a_dashboard():
    shown = {
        metric for path in DASHBOARDS for expression in expressions_of(path) for metric in named(expression).metrics
    }
    names = {re.sub(r"_(bucket|sum|count)$", "", metric) for metric in shown} | shown
    assert {family.exported for family in FAMILIES} - names <= {"goqueue_broker_partitions"}


@needs_promtool
def test_prometheus_can_read_every_expression_of_the_dashboards(tmp_path):
    """As rules, for which promtool has a check."""
    found = [expression.replace("$__rate_interval", "5m") for path in DASHBOARDS for expression in expressions_of(path)]
    as_rules = [{"record": f"shown:{number}", "expr": expression} for number, expression in enumerate(found)]
    (tmp_path / "rules.yml").write_text(yaml.safe_dump({"groups": [{"name": "all", "rules": as_rules}]}))
    promtool("check", "rules", "--lint=none", str(tmp_path / "rules.yml"))


# Alert rules.


def promtool(*arguments: str) -> str:
    done = subprocess.run(["promtool", *arguments], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


@pytest.mark.parametrize("rule", rules(), ids=lambda rule: rule["alert"])
def test_every_expression_of_a_rule_names_what_is_exported(rule):
    check(rule["expr"])


@pytest.mark.parametrize("rule", rules(), ids=lambda rule: rule["alert"])
def test_every_rule_says_what_is_wrong_and_where_to_read_on(rule):
    assert rule["labels"]["severity"] in {"warning", "critical"}
    assert rule["annotations"]["summary"] and rule["annotations"]["description"]
    page, _, anchor = rule["annotations"]["runbook_url"].partition("#")
    assert ROOT / page == MONITORING
    headings = {line.lstrip("# ").lower() for line in MONITORING.read_text().splitlines() if line.startswith("#")}
    assert anchor == rule["alert"].lower() and anchor in headings


def test_every_rule_is_tested_to_fire_and_to_stay_quiet():
    tests = RULE_TESTS.read_text()
    for rule in rules():
        assert len(re.findall(rf'alertname="{rule["alert"]}"', tests)) == 2, rule["alert"]


@needs_promtool
def test_promtool_accepts_the_rules_and_the_example():
    assert "SUCCESS" in promtool("check", "rules", str(RULES))
    promtool("check", "config", str(EXAMPLE))


@needs_promtool
def test_the_rules_fire_when_they_should_and_only_then():
    assert "SUCCESS" in promtool("test", "rules", str(RULE_TESTS))
