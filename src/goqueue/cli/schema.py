"""`goqueue schema`: list, register, show, check, compare and delete schemas, and what subjects allow."""

from typing import TYPE_CHECKING, Annotated

import typer

from goqueue.cli.consent import YesOption, require_consent
from goqueue.cli.failures import PROBLEM, Refused
from goqueue.cli.output import Output, OutputOption, print_answer
from goqueue.cli.schema_input import (
    DEFAULT_REGISTRY,
    FileOption,
    NormalizeOption,
    OptionalSubject,
    ReferenceOption,
    RegistryOption,
    SubjectArgument,
    TypeOption,
    VersionOption,
    given_schema,
    number_of,
    opened,
)
from goqueue.cli.schema_overview import references, stats
from goqueue.cli.schema_policies import config, mode

if TYPE_CHECKING:
    from goqueue.client.schemas.sync import Registry, Version

__all__ = ["app"]

PAGE = 1000

app = typer.Typer(
    help="List, register, check, compare and delete schemas.\n\n"
    "Example: goqueue schema check orders-value --file order.avsc",
    rich_markup_mode=None,
    add_completion=False,
)

VersionArgument = Annotated[
    str | None, typer.Argument(metavar="VERSION", help="A number, or latest.", show_default=False)
]


@app.command("list", short_help="List subjects with their latest versions.")
def list_subjects(
    prefix: Annotated[str, typer.Option(help="Only subjects that begin with this.", show_default=False)] = "",
    deleted: Annotated[bool, typer.Option("--deleted", help="Deleted ones, too.")] = False,
    registry: RegistryOption = DEFAULT_REGISTRY,
    output: OutputOption = Output.TABLE,
) -> None:
    """List subjects with their latest versions.

    Example: goqueue schema list --prefix orders
    """
    from goqueue.cli.schema_views import list_facts, print_list

    source = opened(registry)
    live = _all_latest(source, prefix, deleted=False)
    found = list_facts(_all_latest(source, prefix, deleted=True) if deleted else live, live)
    print_answer(found, output, lambda: print_list(found, prefix=prefix))


def _all_latest(source: "Registry", prefix: str, *, deleted: bool) -> list["Version"]:
    found = page = source.latest(prefix=prefix, deleted=deleted, limit=PAGE)
    while len(page) == PAGE:
        page = source.latest(prefix=prefix, deleted=deleted, offset=len(found), limit=PAGE)
        found = found + page
    return found


@app.command(short_help="Register a schema under a subject.")
def register(
    subject: SubjectArgument,
    file: FileOption,
    kind: TypeOption = None,
    reference: ReferenceOption = [],  # noqa: B006
    normalize: NormalizeOption = False,
    registry: RegistryOption = DEFAULT_REGISTRY,
    output: OutputOption = Output.TABLE,
) -> None:
    """Register a schema under a subject, unless it is there; prints its version and its id.

    Example: goqueue schema register orders-value --file order.avsc --reference shop.Money=money-value:1
    """
    source, schema = opened(registry), given_schema(file, kind, reference)
    schema_id = source.register(subject, schema, normalize=normalize)
    version = source.look_up(subject, schema, normalize=normalize).version
    facts = {"subject": subject, "version": version, "id": schema_id}
    print_answer(facts, output, lambda: print(f"{subject} version {version} has id {schema_id}"))


@app.command(short_help="Show a version of a subject, or the schema with an id.")
def show(
    subject: OptionalSubject = None,
    version: VersionArgument = None,
    schema_id: Annotated[int | None, typer.Option("--id", min=1, help="By its id.", show_default=False)] = None,
    text: Annotated[bool, typer.Option("--text", help="The text alone, as it was registered.")] = False,
    deleted: Annotated[bool, typer.Option("--deleted", help="Also if it is deleted.")] = False,
    registry: RegistryOption = DEFAULT_REGISTRY,
    output: OutputOption = Output.TABLE,
) -> None:
    """Show a version of a subject, the latest unless one is named; or the schema with an id, and who has it.

    Example: goqueue schema show orders-value 3 --text > order.avsc
    """
    import msgspec

    from goqueue.cli.schema_diff import pretty
    from goqueue.cli.schema_views import Facts, print_version, version_facts

    if (subject is None) == (schema_id is None):
        raise Refused("what to show is not clear", hint="name a subject, or an id with --id")
    source = opened(registry)
    facts: Facts
    if subject is not None:
        found = source.version(subject, number_of(version), deleted=deleted)
        schema, facts = found.schema, version_facts(found)
    else:
        assert schema_id is not None
        schema = source.schema(schema_id)
        places = [f"{name} version {number}" for name, number in source.places(schema_id)]
        references = [msgspec.structs.asdict(one) for one in schema.references]
        facts = {"id": schema_id, "type": schema.type, "references": references, "used": ", ".join(places) or "nowhere"}
        facts["schema"] = schema.text
    if text:
        print(schema.text)
        return
    print_answer(facts, output, lambda: print_version(facts, pretty(schema)))


@app.command(short_help="Check whether a schema may follow those of a subject.")
def check(
    subject: SubjectArgument,
    file: FileOption,
    kind: TypeOption = None,
    reference: ReferenceOption = [],  # noqa: B006
    version: VersionOption = None,
    normalize: NormalizeOption = False,
    registry: RegistryOption = DEFAULT_REGISTRY,
    output: OutputOption = Output.TABLE,
) -> None:
    """Check whether a schema could be registered under a subject now; nothing is changed. Made for pipelines.

    Exit codes: 0 compatible; 1 not compatible, with the reasons; 2 it is no schema, or wrong usage; 4 no answer.
    With --version it is compared as if that were the only one.

    Example: goqueue schema check orders-value --file order.avsc
    """
    source, schema = opened(registry), given_schema(file, kind, reference)
    wanted = source.version(subject).version if version == "latest" else number_of(version)
    found = source.check(subject, schema, version=wanted, normalize=normalize)
    level = source.config(subject)["compatibility"]

    def as_text() -> None:
        print(f"{subject}: {'compatible' if found.is_compatible else 'NOT compatible'} at {level}")
        for reason in found.messages:
            print(f"  {reason}")

    facts = {"subject": subject, "level": level, "compatible": found.is_compatible, "reasons": list(found.messages)}
    print_answer(facts, output, as_text)
    if not found.is_compatible:
        raise typer.Exit(PROBLEM)


@app.command(short_help="Compare two versions, or a version with a file.")
def diff(
    subject: SubjectArgument,
    old: Annotated[
        str | None, typer.Argument(metavar="OLD", help="Default: the one before.", show_default=False)
    ] = None,
    new: Annotated[str | None, typer.Argument(metavar="NEW", help="Default: the latest.", show_default=False)] = None,
    file: Annotated[
        str | None,
        typer.Option(
            "--file", "-f", metavar="PATH", help="Compare with this; - is standard input.", show_default=False
        ),
    ] = None,
    kind: TypeOption = None,
    reference: ReferenceOption = [],  # noqa: B006
    registry: RegistryOption = DEFAULT_REGISTRY,
    output: OutputOption = Output.TABLE,
) -> None:
    """Compare two versions of a subject, or one, by default the latest, with a file: what changed, and what it breaks.

    Example: goqueue schema diff orders-value 1 2
    """
    import msgspec

    from goqueue.cli.schema_diff import Side, compared, print_difference

    source = opened(registry)

    def side(wanted: str | None) -> Side:
        found = source.version(subject, number_of(wanted))
        return Side(f"version {found.version}", found.schema)

    if file is not None:
        if new is not None:
            raise Refused("there are three sides to compare", hint="leave out the second version, or the file")
        older, newer = side(old), Side("the file", given_schema(file, kind, reference))
    else:
        newer = side(new)
        older = side(old if old is not None else _before(source.versions(subject), newer.name))
    found = compared(source, older, newer)
    print_answer(msgspec.structs.asdict(found) | {"levels": found.levels}, output, lambda: print_difference(found))


def _before(versions: list[int], name: str) -> str:
    earlier = [number for number in versions if f"version {number}" != name]
    if not earlier:
        raise Refused("there is only one version", hint="compare it with a file: --file order.avsc")
    return str(earlier[-1])


@app.command(short_help="Delete a version, or a subject with all its versions.")
def delete(
    subject: SubjectArgument,
    version: VersionOption = None,
    permanent: Annotated[bool, typer.Option("--permanent", help="For good, after it has been deleted.")] = False,
    yes: YesOption = False,
    registry: RegistryOption = DEFAULT_REGISTRY,
    output: OutputOption = Output.TABLE,
) -> None:
    """Delete a version, or a subject with all its versions: it cannot be used for new records any more.

    Records that were written with it can still be read, until it is deleted once more with --permanent.

    Example: goqueue schema delete orders-value --version 3 --yes
    """
    source = opened(registry)
    versions = source.versions(subject, deleted=permanent)
    wanted = None if version is None else source.version(subject, number_of(version), deleted=permanent).version
    what = f"version {wanted} of {subject}" if wanted else f"{subject} with {_count(versions)}"
    warning = "for good; records that were written with it cannot be read any more" if permanent else ""
    require_consent(f"Delete {what}{' ' if warning else ''}{warning}?", yes=yes)
    gone = source.delete(subject, wanted, permanent=permanent)
    facts = {"subject": subject, "versions": gone, "permanent": permanent}
    print_answer(facts, output, lambda: print(f"deleted {what}{' for good' if permanent else ''}"))


def _count(versions: list[int]) -> str:
    return f"{len(versions)} version{'' if len(versions) == 1 else 's'}"


app.command(short_help="Show which schemas refer to a version.")(references)
app.command(short_help="Show how much there is in the registry.")(stats)
app.command(short_help="Show or set which changes a subject allows.")(config)
app.command(short_help="Show or set whether schemas can be registered.")(mode)
