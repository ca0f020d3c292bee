"""Types: built-in, subtypes, equivalences, unions and records, and which of them is part of which.

The rules are Soufflé's: a subtype may stand where its base is asked for, not the other way round; two types agree on
their greatest common subtypes; a constant fits every subtype of its kind.
"""

from __future__ import annotations

from collections.abc import Mapping

from whence.lang import syntax
from whence.lang.diagnostics import Report, did_you_mean
from whence.lang.program import Kind, Type

BUILT_IN: Mapping[str, Type] = {
    "number": Type("number", "number"),
    "unsigned": Type("unsigned", "unsigned"),
    "float": Type("float", "float"),
    "symbol": Type("symbol", "symbol"),
}


class TypeEnvironment:
    """The types of a program. Names that are equivalences are looked through by `canonical`."""

    def __init__(self, types: Mapping[str, Type], aliases: dict[str, str] | None = None) -> None:
        self.types = types
        self.aliases = {} if aliases is None else aliases
        self.bases: dict[str, str] = {}
        self.members: dict[str, tuple[str, ...]] = {}
        self._leaves: dict[str, frozenset[str]] = {}

    def canonical(self, name: str) -> str:
        passed: list[str] = []
        while name in self.aliases:
            passed.append(name)
            name = self.aliases[name]
        for alias in passed:
            self.aliases[alias] = name
        return name

    def kind(self, name: str) -> Kind:
        return self.types[name].kind

    def fields(self, name: str) -> tuple[tuple[str, str], ...] | None:
        return self.types[name].fields

    def is_subtype(self, part: str, whole: str) -> bool:
        wholes = self.leaves(whole)
        return all(self.reaches(leaf, wholes) for leaf in self.leaves(part))

    def common_subtypes(self, left: frozenset[str], right: frozenset[str]) -> frozenset[str]:
        """The largest types that are part of some type on the left and of some type on the right."""
        found: set[str] = set()
        for one in left:
            for other in right:
                if self.is_subtype(one, other):
                    found.add(one)
                elif self.is_subtype(other, one):
                    found.add(other)
                else:
                    ones, others = self.leaves(one), self.leaves(other)
                    found.update(leaf for leaf in ones if self.reaches(leaf, others))
                    found.update(leaf for leaf in others if self.reaches(leaf, ones))
        return frozenset(found)

    def leaves(self, name: str) -> frozenset[str]:
        """The types a union is made of, the members of its members included; of any other type, itself."""
        name = self.canonical(name)
        if name not in self.members:
            return frozenset((name,))
        if name not in self._leaves:
            found: set[str] = set()
            seen = {name}
            waiting = [name]
            while waiting:
                for member in map(self.canonical, self.members[waiting.pop()]):
                    if member not in self.members:
                        found.add(member)
                    elif member not in seen:
                        seen.add(member)
                        waiting.append(member)
            self._leaves[name] = frozenset(found)
        return self._leaves[name]

    def reaches(self, leaf: str, wholes: frozenset[str]) -> bool:
        """Whether a type, or one of those it is a subtype of, is among `wholes`."""
        while leaf not in wholes:
            if leaf not in self.bases:
                return False
            leaf = self.canonical(self.bases[leaf])
        return True


def declare_types(
    declarations: tuple[syntax.TypeDeclaration, ...], broken: frozenset[str], report: Report
) -> TypeEnvironment:
    """Checks type declarations and puts the sound ones in an environment."""
    return _Declarations(declarations, broken, report).environment()


class _Declarations:
    def __init__(
        self, declarations: tuple[syntax.TypeDeclaration, ...], broken: frozenset[str], report: Report
    ) -> None:
        self.report = report
        self.broken = broken
        self.declared: dict[str, syntax.TypeDeclaration] = {}
        self.kinds: dict[str, Kind | None] = {name: type.kind for name, type in BUILT_IN.items()}
        for declaration in declarations:
            self.add(declaration)

    def add(self, declaration: syntax.TypeDeclaration) -> None:
        name, start, end = declaration.name, declaration.start, declaration.end
        if name in BUILT_IN:
            self.report.error(start, end, f"`{name}` is a built-in type", "choose another name")
        elif name in self.declared:
            first = self.declared[name]
            note = self.report.note(first.start, first.end, f"`{name}` is first declared here")
            self.report.error(start, end, f"the type `{name}` is declared twice", "remove one of them", (note,))
        else:
            self.declared[name] = declaration

    def environment(self) -> TypeEnvironment:
        for name in self.declared:
            self.resolve(name)
        types = dict(BUILT_IN)
        aliases: dict[str, str] = {}
        environment = TypeEnvironment(types, aliases)
        for name, declaration in self.declared.items():
            kind = self.kinds[name]
            if kind is None:
                continue
            types[name] = Type(name, kind)
            match declaration.form:
                case "=":
                    aliases[name] = declaration.parts[0].name
                case "<:":
                    environment.bases[name] = declaration.parts[0].name
                case "|":
                    environment.members[name] = tuple(
                        part.name for part in declaration.parts if self.kinds.get(part.name) == kind
                    )
        for name, declaration in self.declared.items():
            if declaration.form == "[]":
                fields = self.record_fields(declaration, environment)
                if fields is not None:
                    types[name] = Type(name, "record", fields)
                else:
                    del types[name]
        _drop_unsound(types, environment)
        for name in aliases:
            target = types.get(environment.canonical(name))
            if target is None:
                del types[name]
            else:
                types[name] = Type(name, target.kind, target.fields)
        return environment

    def resolve(self, start_name: str) -> None:
        """Finds the kind of a type through the types it is made of, without recursion."""
        path = [start_name]
        on_path = {start_name}
        while path:
            name = path[-1]
            if name in self.kinds:
                on_path.discard(path.pop())
                continue
            declaration = self.declared[name]
            if declaration.form == "[]":
                self.kinds[name] = "record"
                continue
            waiting = [part for part in declaration.parts if part.name in self.declared and part.name not in self.kinds]
            if not waiting:
                self.kinds[name] = self.kind_of(declaration)
            elif waiting[0].name in on_path:
                cycle = [*path[path.index(waiting[0].name) :], waiting[0].name]
                message = f"the type `{name}` is defined by itself: {' → '.join(cycle)}"
                self.report.error(declaration.start, declaration.end, message, "only a record may mention itself")
                for member in cycle:
                    self.kinds[member] = None
            else:
                path.append(waiting[0].name)
                on_path.add(waiting[0].name)

    def kind_of(self, declaration: syntax.TypeDeclaration) -> Kind | None:
        kinds: dict[Kind, syntax.TypeName] = {}
        for part in declaration.parts:
            if part.name not in self.kinds:
                self.unknown(part.name, part.start, part.end)
                return None
            kind = self.kinds[part.name]
            if kind is None:
                return None
            if kind == "record" and declaration.form != "=":
                what = "a subtype" if declaration.form == "<:" else "a union"
                message = f"`{declaration.name}` cannot be {what} of the record `{part.name}`"
                hint = f"an equivalent type is written `.type {declaration.name} = {part.name}`"
                self.report.error(part.start, part.end, message, hint)
                return None
            if declaration.form == "<:" and self.is_union(part.name):
                message = f"`{declaration.name}` cannot be a subtype of the union `{part.name}`"
                self.report.error(part.start, part.end, message, "make it a subtype of one of the union's members")
                return None
            kinds[kind] = part
        if len(kinds) > 1:
            (first, _), (second, part) = list(kinds.items())[:2]
            message = f"the union `{declaration.name}` mixes `{first}` and `{second}`"
            self.report.error(part.start, part.end, message, "the members of a union have one built-in type")
            return None
        return next(iter(kinds))

    def is_union(self, name: str) -> bool:
        declaration = self.declared.get(name)
        while declaration is not None and declaration.form == "=":
            declaration = self.declared.get(declaration.parts[0].name)
        return declaration is not None and declaration.form == "|"

    def record_fields(
        self, declaration: syntax.TypeDeclaration, environment: TypeEnvironment
    ) -> tuple[tuple[str, str], ...] | None:
        sound = True
        seen: dict[str, syntax.Attribute] = {}
        for field in declaration.fields:
            if field.name in seen:
                first = seen[field.name]
                note = self.report.note(first.start, first.end, "the first is here")
                message = f"the record `{declaration.name}` has two fields called `{field.name}`"
                self.report.error(field.start, field.start + len(field.name), message, "rename one of them", (note,))
            seen[field.name] = field
            if self.kinds.get(field.type) is None:
                sound = False
                if field.type not in self.declared:
                    self.unknown(field.type, field.type_start, field.type_end)
        return tuple((field.name, field.type) for field in declaration.fields) if sound else None

    def unknown(self, name: str, start: int, end: int) -> None:
        if name not in self.broken:
            unknown_type(self.report, name, start, end, [*BUILT_IN, *self.declared])


def _drop_unsound(types: dict[str, Type], environment: TypeEnvironment) -> None:
    """Take away the records that mention one whose declaration has an error, and those that mention them."""
    unsound = [""]
    while unsound:
        unsound = [
            name
            for name, type in types.items()
            if any(environment.canonical(field_type) not in types for _, field_type in type.fields or ())
        ]
        for name in unsound:
            del types[name]


def unknown_type(report: Report, name: str, start: int, end: int, known: list[str]) -> None:
    hint = None if report.full else did_you_mean(name, known, f"declare it: `.type {name} <: symbol`")
    report.error(start, end, f"unknown type `{name}`", hint)
