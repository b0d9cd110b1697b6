"""Writes docs/reference/python.md from the public names of the Python packages, as their sources declare them.

The sources are read and not imported, so the page is the same whether modules are compiled or not. Only the values of
defaults that the sources name by a constant are looked up in the modules.
"""

import ast
import importlib
import inspect
import re
from collections.abc import Iterable, Iterator
from functools import cache
from typing import NamedTuple

import griffe

from scripts.references import DOCS, code, one_line, table

__all__ = ["PAGE", "page"]

PAGE = DOCS / "reference" / "python.md"
HEAD = """# Python API

Every public name of the Python packages, with its signature. The [Python guide](../guides/python.md) shows how they are
used. This page is generated from the code (`make references`).

| Package | |
|---|---|
| [`goqueue`](#goqueue) | the blocking clients by their short names: `from goqueue import Producer` |
| [`goqueue.client.sync`](#goqueueclientsync) | clients whose calls block |
| [`goqueue.client`](#goqueueclient) | the same clients for asyncio |
| [`goqueue.client.direct`](#goqueueclientdirect) | a publisher without a thread or event loop |
| [`goqueue.spark`](#goqueuespark) | the connector for Spark |
| [`goqueue.testing`](#goqueuetesting) | stand-ins for tests |

All errors are classes of `goqueue.errors`: see [errors](errors.md). A name that begins with an underscore is not public
and may change at any time.
"""
SHORT, SYNC, AIO = "goqueue", "goqueue.client.sync", "goqueue.client"
ALONE = ("goqueue.client.direct", "goqueue.spark", "goqueue.testing")
OPTIONS = re.compile(r"^Unpack\[(\w+)\]$")
FIELDS_OF = {"msgspec.Struct", "Struct", "NamedTuple", "typing.NamedTuple"}
ENUMS = {"StrEnum", "IntEnum", "Enum", "enum.StrEnum", "enum.IntEnum"}
SPECIAL = {
    "__iter__": "`for` over it yields each record as it arrives, and waits for more until it is closed.",
    "__aiter__": "`async for` over it yields each record as it arrives, and waits for more until it is closed.",
    "__await__": "`await` it to wait until the record is written.",
}
CALLED_BY_SPARK = {"GoQueueDataSource"}
MADE_BY = {"Delivery": "Producer.send", "Part": "Admin.part", "Transaction": "Producer.transaction"}
"""Classes that a program does not construct itself, and the call that returns them."""
EXPLAINED = re.compile(r"`(?P<name>\w+)`(?: \((?P<default>[^)]*)\))?(?P<end>[:,]) ")
"""A setting in the list of a docstring; those before a comma share the words of the next one."""
CODE = re.compile(r"^((async )?(with|for|def) .*:|(from|import|await) .*|\w+ = .*)$", re.MULTILINE)
LINE = 88

Member = griffe.Object | griffe.Alias


class Settings(NamedTuple):
    """The keyword settings of a call: a `TypedDict`, and where its defaults are."""

    options: griffe.Class
    defaults: dict[str, str]


@cache
def package() -> griffe.Object | griffe.Alias:
    return griffe.load("goqueue", search_paths=["src"], allow_inspection=False, resolve_aliases=True)


def page() -> str:
    return "\n".join(_lines()).rstrip() + "\n"


def _lines() -> Iterator[str]:
    yield HEAD
    yield from _module(SHORT, _links_to_sync())
    yield from _module(SYNC, _documented(_public(SYNC)))
    yield from _module(AIO, _asyncio())
    for name in ALONE:
        yield from _module(name, _documented(_public(name)))
    yield from _replies()


def _module(name: str, lines: Iterable[str]) -> Iterator[str]:
    yield f"## {name}"
    yield ""
    words = inspect.cleandoc(importlib.import_module(name).__doc__ or "")
    yield from _prose(words)
    yield from lines


def _links_to_sync() -> Iterator[str]:
    known = _public(SYNC)
    names = [name for name in importlib.import_module(SHORT).__all__ if name in known]
    if names:
        yield ", ".join(f"[`{name}`](#{_anchor(name)})" for name in names) + " are those of `goqueue.client.sync`."
        yield ""


def _public(module: str) -> dict[str, Member]:
    """The public names of a module, in alphabetical order, as what they lead to."""
    found = package()[module.removeprefix("goqueue.")]
    return {str(name): _target(found[str(name)]) for name in sorted(map(str, found.exports or ()))}


def _target(member: Member) -> Member:
    return member.final_target if isinstance(member, griffe.Alias) else member


# Classes and functions.


def _documented(members: dict[str, Member]) -> Iterator[str]:
    """Clients first, then the types of what they take and return."""
    for name, member in sorted(members.items(), key=lambda item: (_is_value(item[1]), item[0])):
        yield from _one(name, member)


def _one(name: str, member: Member) -> Iterator[str]:
    yield f"### {name}"
    yield ""
    if isinstance(member, griffe.Function):
        yield from _signature(name, member)
        yield from _prose(_docstring(member))
        return
    if not isinstance(member, griffe.Class):
        yield from _prose(_docstring(member))
        return
    yield from _class(name, member)


def _class(name: str, member: griffe.Class) -> Iterator[str]:
    init = member.all_members.get("__init__")
    settings = None
    if name in MADE_BY:
        yield f"Returned by [`{MADE_BY[name]}`](#{_anchor(MADE_BY[name])})."
        yield ""
    elif isinstance(init := _target(init) if init is not None else None, griffe.Function) and not _is_value(member):
        settings = _settings_of(init)
        yield from _signature(name, init)
    words = _docstring(member)
    if settings is not None:
        words, explained = _without_settings(words)
        yield from _prose(words)
        yield from _settings_table(settings, explained)
    else:
        yield from _prose(words)
    if _is_value(member):
        yield from _fields(member)
    for method_name, method in _methods(member) if name not in CALLED_BY_SPARK else ():
        yield from _method(name, method_name, method)


def _method(owner: str, name: str, method: Member, suffix: str = "") -> Iterator[str]:
    yield f"#### {owner}.{name}{suffix}"
    yield ""
    if isinstance(method, griffe.Function):
        settings = _settings_of(method)
        for overload in method.overloads or [method]:
            yield from _signature(name, overload)
        yield from _prose(_docstring(method) or SPECIAL.get(name, ""))
        if settings is not None:
            yield from _settings_table(settings, _explained_by_class(settings.options.name))
        return
    assert isinstance(method, griffe.Attribute)
    if "property" in method.labels:
        yield from _code(f"{name}: {_annotation(method)}")
    else:
        yield f"The older name of `{owner}.{method.value}`."
        yield ""
    yield from _prose(_docstring(method))


def _methods(member: griffe.Class) -> list[tuple[str, Member]]:
    """Public methods, properties, and older names of methods, in the order of the source, the class's own first."""
    found: list[tuple[str, Member]] = []
    for name, one in member.all_members.items():
        target = _target(one)
        if name.startswith("_") and name not in SPECIAL:
            continue
        is_renamed = isinstance(target, griffe.Attribute) and str(target.value) in member.all_members
        if isinstance(target, griffe.Function) or "property" in target.labels or is_renamed:
            found.append((name, target))
    return found


# What there is for asyncio beside what blocks.


def _asyncio() -> Iterator[str]:
    blocking = _public(SYNC)
    for name, member in _public(AIO).items():
        twin = blocking.get(name)
        if twin is None:
            yield from _one(name, member)
        elif twin.path != member.path and isinstance(member, griffe.Class) and isinstance(twin, griffe.Class):
            yield from _beside(name, member, twin)


def _beside(name: str, member: griffe.Class, twin: griffe.Class) -> Iterator[str]:
    """A client whose blocking twin is documented above: in full only where it differs."""
    suffix = " (asyncio)"
    yield f"### {name}{suffix}"
    yield ""
    yield from _prose(_without_settings(_docstring(member))[0])
    known = dict(_methods(twin))
    same, others = [], []
    for method_name, method in _methods(member):
        other = known.get(method_name)
        if other is not None and _takes(method) == _takes(other):
            same.append((method_name, method))
        else:
            others.append((method_name, method))
    if same:
        yield f"The arguments are those of the blocking [`{name}`](#{_anchor(name)})."
        yield ""
        rows = [
            (f"[`{_call(one, method)}`](#{_anchor(f'{name}.{one}')})", code(_returns(method))) for one, method in same
        ]
        yield from table(("Call", "Result"), rows)
    for method_name, method in others:
        yield from _method(name, method_name, method, suffix)


def _call(name: str, method: Member) -> str:
    if not isinstance(method, griffe.Function):
        return name
    return f"await {name}(…)" if "async" in method.labels else f"{name}(…)"


def _takes(method: Member) -> object:
    if not isinstance(method, griffe.Function):
        return str(getattr(method, "value", None))
    return [(one.name, str(one.kind), str(one.annotation), str(one.default)) for one in method.parameters]


def _returns(method: Member) -> str:
    return _type(method.returns, method) if isinstance(method, griffe.Function) else _annotation(method)


# Types of what calls take and return.


def _is_value(member: Member) -> bool:
    """A struct, a named tuple or an enumeration: its fields say what it is."""
    return isinstance(member, griffe.Class) and bool(_bases(member) & (FIELDS_OF | ENUMS))


def _bases(member: griffe.Class) -> set[str]:
    return {str(base) for one in [member, *member.mro()] for base in one.bases}


def _fields(member: griffe.Class) -> Iterator[str]:
    fields = [
        (name, target)
        for name, one in member.all_members.items()
        if isinstance(target := _target(one), griffe.Attribute) and not name.startswith("_")
        if "property" not in target.labels
    ]
    if _bases(member) & ENUMS:
        yield from table(("Name", "Value", "Meaning"), [(code(n), code(a.value), _docstring(a)) for n, a in fields])
        return
    rows = [(code(n), code(_annotation(a)), _default(a.module, a.value), _docstring(a)) for n, a in fields]
    yield from table(("Field", "Type", "Default", "Meaning"), rows)


def _replies() -> Iterator[str]:
    """Classes that are no public names, but that public calls return."""
    public = {member.path for module in (SYNC, AIO, *ALONE) for member in _public(module).values()}
    found: dict[str, griffe.Class] = {}
    waiting = [member for module in (SYNC, AIO, *ALONE) for member in _public(module).values()]
    while waiting:
        for target in _mentioned(waiting.pop()):
            if target.path not in public | found.keys() and not target.name.startswith("_"):
                found[target.path] = target
                waiting.append(target)
    yield "## Replies"
    yield ""
    yield "Classes that the calls above return or take, and that have no short name. Their modules are not public."
    yield ""
    for member in sorted(found.values(), key=lambda one: one.name):
        yield from _one(member.name, member)


def _mentioned(member: Member) -> Iterator[griffe.Class]:
    if not isinstance(member, griffe.Class):
        return
    if _is_value(member):
        places = [_target(one) for name, one in member.all_members.items() if not name.startswith("_")]
        annotations = [one.annotation for one in places if isinstance(one, griffe.Attribute)]
    else:
        annotations = [method.returns for _, method in _methods(member) if isinstance(method, griffe.Function)]
    for annotation in annotations:
        if not isinstance(annotation, griffe.Expr):
            continue
        for part in annotation.iterate(flat=True):
            target = _resolved(part)
            if target is not None and _is_value(target):
                yield target


def _resolved(part: object) -> griffe.Class | None:
    if not isinstance(part, griffe.ExprName) or not part.canonical_path.startswith("goqueue."):
        return None
    try:
        target = _target(package()[part.canonical_path.removeprefix("goqueue.")])
    except (KeyError, griffe.GriffeError):
        return None
    return target if isinstance(target, griffe.Class) else None


# Settings.


def _settings_of(function: griffe.Function) -> Settings | None:
    for parameter in function.parameters:
        options = OPTIONS.match(str(parameter.annotation or ""))
        if options is not None:
            found = _target(package()["client.options"][options[1]])
            assert isinstance(found, griffe.Class)
            return Settings(found, _defaults_of(found))
    return None


def _without_settings(words: str) -> tuple[str, dict[str, str]]:
    """The docstring without its list of settings, and what the list says of each."""
    before, mark, rest = words.partition("\nSettings:\n\n")
    listed, _, after = rest.partition("\n\n")
    explained: dict[str, str] = {}
    for item in re.split(r"^- ", listed, flags=re.MULTILINE)[1:]:
        found = list(EXPLAINED.finditer(one_line(item) + " "))
        ends = [one.start() for one in found[1:]] + [None]
        waiting: list[str] = []
        for one, end in zip(found, ends, strict=True):
            waiting.append(one["name"])
            if one["end"] == ":":
                text = one_line(item)[one.end() : end].strip()
                explained |= dict.fromkeys(waiting, text[:1].upper() + text[1:])
                waiting = []
        assert not waiting, f"the list of settings is not understood: {item}"
    return (before + "\n" + after if mark else words), explained


@cache
def _explained_by_class(options: str) -> dict[str, str]:
    """What the client with these settings says of them."""
    for member in _public(SYNC).values():
        if isinstance(member, griffe.Class) and isinstance(init := member.all_members.get("__init__"), griffe.Function):
            settings = _settings_of(init)
            if settings is not None and settings.options.name == options:
                return _without_settings(_docstring(member))[1]
    return {}


def _settings_table(settings: Settings, explained: dict[str, str]) -> Iterator[str]:
    """A setting in milliseconds and the same one as a `timedelta` are one row."""
    fields = {name: _target(one) for name, one in settings.options.all_members.items()}
    types = {name: _annotation(one) for name, one in fields.items() if isinstance(one, griffe.Attribute)}
    rows = []
    if "bootstrap" in explained:
        rows.append((code("bootstrap"), code("str | Sequence[str]"), code('"127.0.0.1:7171"'), explained["bootstrap"]))
    for name, kind in types.items():
        numbers = [f"{name}_ms", f"{name}_s"]
        if kind.startswith("timedelta") and any(number in types for number in numbers):
            continue
        twin = re.sub("_m?s$", "", name)
        names = code(name) + (f" or {code(twin)}" if twin != name and twin in types else "")
        kinds = code(kind) + (f" or {code('timedelta')}" if twin != name and twin in types else "")
        meaning = explained.get(name) or _docstring(fields[name])
        rows.append((names, kinds, settings.defaults.get(name, ""), meaning))
    yield from table(("Setting", "Type", "Default", "Meaning"), rows)


def _defaults_of(options: griffe.Class) -> dict[str, str]:
    """Of the struct that checks these settings: `ProducerSettings` for `ProducerOptions`."""
    wanted = options.name.replace("Options", "Settings")
    for module in package()["client"].modules.values():
        found = module.members.get(wanted)
        if isinstance(found, griffe.Class):
            fields = found.all_members.items()
            return {name: _default(one.module, one.value) for name, one in fields if isinstance(one, griffe.Attribute)}
    return {}


# Signatures.


def _signature(name: str, function: griffe.Function) -> Iterator[str]:
    asynchronous = "async " if "async" in function.labels else ""
    parameters = list(_parameters(function))
    is_class = function.name == "__init__"
    head = f"{name}" if is_class else f"{asynchronous}def {name}"
    tail = "" if is_class else f" -> {_type(function.returns, function)}"
    line = f"{head}({', '.join(parameters)}){tail}"
    if len(line) > LINE:
        line = f"{head}(\n    " + ",\n    ".join(parameters) + f",\n){tail}"
    yield from _code(line)


def _parameters(function: griffe.Function) -> Iterator[str]:
    is_keyword_only = False
    for one in function.parameters:
        if one.name in ("self", "cls"):
            continue
        if one.kind is griffe.ParameterKind.var_positional:
            is_keyword_only = True
            yield f"*{one.name}: {_type(one.annotation, function)}"
        elif one.kind is griffe.ParameterKind.var_keyword:
            yield f"**{one.name}: {one.annotation}"
        else:
            if one.kind is griffe.ParameterKind.keyword_only and not is_keyword_only:
                is_keyword_only = True
                yield "*"
            annotation = f": {_type(one.annotation, function)}" if one.annotation is not None else ""
            default = "" if one.default is None else f" = {_value(function.module, one.default)}"
            yield f"{one.name}{annotation}{default}"


def _default(module: griffe.Module, value: object) -> str:
    return "" if value is None else code(_value(module, value))


def _value(module: griffe.Module, expression: object) -> str:
    """What is computed from numbers and constants is shown as its value."""
    text = str(expression)
    if re.search(r"[A-Z]{3}|\d [*]", text) and not re.search(r"[.'\"]", text):
        value = eval(text, dict(vars(importlib.import_module(module.path))))
        text = repr(value) if isinstance(value, (int, float, str, tuple)) else text
    return text if '"' in text else text.replace("'", '"')


def _annotation(member: Member) -> str:
    return _type(getattr(member, "annotation", None) or getattr(member, "returns", None), member)


def _type(annotation: object, owner: Member) -> str:
    """As a reader sees it: without limits, names of modules and aliases."""
    if annotation is None:
        return "None"
    tree = ast.parse(str(annotation), mode="eval")
    return ast.unparse(_Plain(owner).visit(tree)).replace("'", '"')


class _Plain(ast.NodeTransformer):
    def __init__(self, owner: Member) -> None:
        self._owner = owner

    def visit_Attribute(self, node: ast.Attribute) -> ast.AST:
        return ast.Name(node.attr)

    def visit_Constant(self, node: ast.Constant) -> ast.AST:
        """A forward reference in quotes; the texts of `Literal` are never visited."""
        return ast.parse(node.value, mode="eval").body if isinstance(node.value, str) else node

    def visit_Subscript(self, node: ast.Subscript) -> ast.AST:
        outer = ast.unparse(node.value).rpartition(".")[2]
        if outer == "Annotated" and isinstance(node.slice, ast.Tuple):
            inner: ast.AST = self.visit(node.slice.elts[0])
            return inner
        if outer != "Literal":
            self.generic_visit(node)
        return node

    def visit_Name(self, node: ast.Name) -> ast.AST:
        try:
            target = _target(package()[self._owner.resolve(node.id).removeprefix("goqueue.")])
        except (KeyError, ValueError, griffe.GriffeError):
            return node
        if not isinstance(target, griffe.Attribute) or not isinstance(target.value, griffe.Expr):
            return node
        alias = ast.parse(str(target.value), mode="eval").body
        if not isinstance(alias, (ast.Subscript, ast.BinOp)):
            return node
        plain: ast.AST = _Plain(target).visit(alias)
        return plain


# Text.


def _docstring(member: Member) -> str:
    return member.docstring.value if member.docstring is not None else ""


def _prose(words: str) -> Iterator[str]:
    """Paragraphs as they are, and indented lines as code."""
    paragraphs = re.split(r"\n\s*\n", words.strip("\n")) if words.strip() else []
    block: list[str] = []
    for paragraph in paragraphs:
        if _is_code(paragraph):
            block.append(paragraph)
            continue
        yield from _example(block)
        block = []
        yield paragraph
        yield ""
    yield from _example(block)


def _is_code(paragraph: str) -> bool:
    lines = paragraph.splitlines()
    if all(line.startswith("    ") for line in lines):
        return True
    if not CODE.match(lines[0]):
        return False
    try:
        compile(paragraph, "docstring", "exec", flags=ast.PyCF_ONLY_AST | ast.PyCF_ALLOW_TOP_LEVEL_AWAIT)
    except SyntaxError:
        return False
    return True


def _example(block: list[str]) -> Iterator[str]:
    if block:
        yield from _code(inspect.cleandoc("\n" + "\n\n".join(block)))


def _code(text: str) -> Iterator[str]:
    yield f"```python\n{text}\n```"
    yield ""


def _anchor(title: str) -> str:
    """As the site makes it of a heading."""
    return re.sub(r"[^a-z0-9_\- ]", "", one_line(title).lower()).replace(" ", "-")
