"""State changes in one way: events are applied by the state log and by recovery, and nowhere else."""

import ast
from pathlib import Path

SOURCES = Path(__file__).resolve().parents[2] / "src/goqueue"
MAY_APPLY = {
    "engine/state_log.py": "events that were written",
    "engine/streams.py": "events that recovery finds in the journal",
    "engine/queue/states.py": "the owner of a queue hands its events on, and counts them",
}


def appliers(folder: str) -> set[str]:
    found = set()
    for path in (SOURCES / folder).rglob("*.py"):
        for node in ast.walk(ast.parse(path.read_text())):
            if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr == "apply":
                found.add(path.relative_to(SOURCES).as_posix())
    return found


def test_only_the_state_log_and_recovery_apply_events() -> None:
    assert appliers("engine") == MAY_APPLY.keys()
    assert appliers("gateways") == appliers("app") == set()
