"""Examples in docstrings: found, and made to end so that they can be run."""

import ast
import asyncio
import inspect
import textwrap
from collections.abc import Iterator
from typing import Any

__all__ = ["example_of", "public_members", "run"]

MARK = "Example:"
STOP_SOON = "__import__('threading').Timer(1, __import__('os').kill, (__import__('os').getpid(), 15)).start()"
CLIENTS = {"Admin", "Consumer", "Producer", "Publisher", "Worker"}


def example_of(documented: object) -> str | None:
    """The indented lines behind the mark."""
    _, mark, rest = (inspect.getdoc(documented) or "").partition(f"{MARK}\n\n")
    if not mark:
        return None
    lines = []
    for line in rest.splitlines():
        if line and not line.startswith("    "):
            break
        lines.append(line)
    return textwrap.dedent("\n".join(lines)).strip() or None


def public_members(kind: type) -> Iterator[tuple[str, Any]]:
    """Methods and properties that users call, but not what every tuple, struct or enumeration has."""
    for name in dir(kind):
        found = inspect.getattr_static(kind, name)
        of_ours = isinstance(found, property) or callable(getattr(found, "__func__", found))
        if not name.startswith("_") and of_ours and inspect.getmodule(_function(found)) is not None:
            module = getattr(_function(found), "__module__", "") or ""
            if module.startswith("goqueue."):
                yield name, _function(found)


def _function(found: Any) -> Any:
    return found.fget if isinstance(found, property) else getattr(found, "__func__", found)


def run(code: str, bootstrap: str) -> None:
    """As a program with that broker; loops over what never ends are left after the first round."""
    tree = _Ending(bootstrap).visit(ast.parse(code))
    is_async = any(isinstance(node, ast.Await | ast.AsyncFor | ast.AsyncWith) for node in ast.walk(tree))
    names: dict[str, Any] = {"__name__": "example"}
    flags = ast.PyCF_ALLOW_TOP_LEVEL_AWAIT if is_async else 0
    done = eval(compile(ast.fix_missing_locations(tree), "<example>", "exec", flags=flags), names)
    if is_async:
        asyncio.run(_await(done))


async def _await(done: Any) -> None:
    await done


class _Ending(ast.NodeTransformer):
    def __init__(self, bootstrap: str) -> None:
        self._bootstrap = bootstrap

    def visit_Call(self, node: ast.Call) -> ast.AST:
        self.generic_visit(node)
        if isinstance(node.func, ast.Name) and node.func.id in CLIENTS:
            node.keywords.append(ast.keyword("bootstrap", ast.Constant(self._bootstrap)))
        return node

    def visit_For(self, node: ast.For) -> ast.AST:
        return self._once(node)

    def visit_AsyncFor(self, node: ast.AsyncFor) -> ast.AST:
        return self._once(node)

    def visit_With(self, node: ast.With) -> ast.AST:
        return self._stopped(node)

    def visit_AsyncWith(self, node: ast.AsyncWith) -> ast.AST:
        return self._stopped(node)

    def _stopped(self, node: Any) -> Any:
        """A run that never ends is ended as an operator does it."""
        self.generic_visit(node)
        last = ast.unparse(node.body[-1])
        if ".run(handle," in last:
            node.body.insert(-1, ast.parse(STOP_SOON).body[0])
        return node

    def _once(self, node: Any) -> Any:
        self.generic_visit(node)
        if isinstance(node.iter, ast.Name):
            node.body.append(ast.Break())
        return node
