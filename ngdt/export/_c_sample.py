"""Samples in C, and their encoding as features."""

import json
import re
from string import Template

from ngdt.export import _c_code as code
from ngdt.export._c_data import definition, literals, string
from ngdt.export._encoded_columns import CategoryColumn
from ngdt.export._parts import check_writable

# Words of C and C++, and macros of the headers and of compilers.
_RESERVED = re.compile("""
    alignas|alignof|and|and_eq|asm|auto|bitand|bitor|bool|break|case|catch|char|char(8|16|32)_t|
    class|co_await|co_return|co_yield|compl|concept|const|const_cast|consteval|constexpr|constinit|
    continue|decltype|default|delete|do|double|dynamic_cast|else|enum|errno|explicit|export|extern|
    false|float|for|friend|goto|i386|if|inline|int|linux|long|mutable|namespace|new|noexcept|not|
    not_eq|nullptr|operator|or|or_eq|private|protected|public|register|reinterpret_cast|requires|
    restrict|return|short|signed|sizeof|static|static_assert|static_cast|struct|switch|template|
    this|thread_local|throw|true|try|typedef|typeid|typename|typeof|typeof_unqual|union|unix|
    unsigned|using|virtual|void|volatile|wchar_t|while|xor|xor_eq|DOMAIN|HUGE|HUGE_VAL.*|INFINITY|
    MATH_.*|MAXFLOAT|NAN|NULL|OVERFLOW|PLOSS|SING|TLOSS|UNDERFLOW|X_TLOSS|(FP|M)_.*
""", re.VERBOSE)


class CSample:
    """Sample that the code of a model reads.

    Of a table with categories, it is a struct with a member for each column, else an array.

    Parameters
    ----------
    model : ExportedModel
    name : str
        Prefix of all names.
    dtype : {"double", "float"}

    Attributes
    ----------
    names : dict
        What templates are filled with.
    """

    def __init__(self, model, name, dtype):
        self._columns, self._name, self._dtype = model.columns, name, dtype
        self._is_encoded = model.is_encoded
        self._kinds = {each.is_text for each in self._columns if isinstance(each, CategoryColumn)}
        self.names = {
            "name": name, "real": dtype, "n_features": len(self._columns),
            "sample": f"{name}_real *x", "width": f"{name}_n_features", "n_encoded": "",
            "encode": "", "strings": "#include <string.h>\n" * (True in self._kinds)}
        if self._is_encoded:
            self.names |= {
                "sample": f"{name}_{'sample' if self._kinds else 'real'} *sample",
                "width": f"{name}_n_encoded",
                "n_encoded": f"    {name}_n_encoded = {model.n_features},\n",
                "encode": f"    {name}_real x[{name}_n_encoded];\n    {name}_encode(sample, x);\n"}

    def declaration(self):
        """The type of a sample, if it is a struct, or else the order of named columns."""
        if not self._kinds:
            names = [column.name for column in self._columns]
            if names == [f"x{j}" for j in range(len(names))]:
                return ""
            return self.filled(code.ORDER, columns="".join(
                f"    [{j}] {_comment(name)}\n" for j, name in enumerate(names)))
        members = []
        for column, member in zip(self._columns, _members(self._columns), strict=True):
            type_ = f"{self._name}_real "
            if isinstance(column, CategoryColumn):
                type_ = "const char *" if column.is_text else "double "
            note = "" if column.name == member else f"  /* {_comment(column.name)} */"
            members.append(f"    {type_}{member};{note}\n")
        return self.filled(code.SAMPLE, members="".join(members))

    def definitions(self):
        """The function that encodes a sample, and what it needs; empty if none is encoded."""
        if not self._is_encoded:
            return ""
        finders = [self.filled(code.FIND, **(code.OF_TEXTS if is_text else code.OF_NUMBERS))
                   for is_text in sorted(self._kinds)]
        categories = [self.filled(code.CATEGORY) + "\n"] * bool(self._kinds)
        arrays, statements = [], []
        values = [f"sample->{member}" for member in _members(self._columns)] if self._kinds else [
            f"sample[{j}]" for j in range(len(self._columns))]
        for j, (column, value) in enumerate(zip(self._columns, values, strict=True)):
            if isinstance(column, CategoryColumn):
                arrays += self._arrays(column, j)
                statements.append(self._category(column, j, value))
            else:
                statements += self._number(column, value)
        encoder = self.filled(code.ENCODER, statements="".join(
            f"    {statement};\n" for statement in statements))
        return "".join([*finders, *categories, *arrays, encoder])

    def _number(self, column, value):
        (fill,) = literals([column.fill], self._dtype)
        yield f"x[{column.feature}] = {value} != {value} ? {fill} : {value}"
        if column.gap is not None:
            yield f"x[{column.gap}] = {value} != {value}"

    def _arrays(self, column, j):
        """The categories of a column, sorted, their places, and the values of unknown ones."""
        if column.is_text:
            for category in column.places:
                check_writable(category, "C")
            items = sorted((category.encode(), place, string(category))
                           for category, place in column.places.items())
        else:
            items = [(number, place, *literals([number], "double"))
                     for number, place in sorted(column.doubles().items())]
        for type_, kind, texts in [
                ("char *const" if column.is_text else "double", "categories",
                 [text for _, _, text in items]),
                ("int", "places", [str(place) for _, place, _ in items]),
                (f"{self._name}_real", "unknown", literals(column.unknown, self._dtype))]:
            yield definition(type_, f"{self._name}_{kind}_{j}", "", texts)

    def _category(self, column, j, value):
        name, kind = self._name, "text" if column.is_text else "number"
        return (
            f"{name}_category(\n        {name}_find_{kind}({value}, {name}_categories_{j}, "
            f"{name}_places_{j}, {len(column.places)}, {column.missing_place}),\n"
            f"        {name}_unknown_{j}, {len(column.unknown)}, x + {column.first})")

    def filled(self, template, **more):
        """A template with the names, and more."""
        return Template(template).substitute(self.names | more)


def _members(columns):
    """Names of the members of a struct: the names of the columns, changed to identifiers."""
    taken, found = {column.name for column in columns}, []
    for name in [column.name for column in columns]:
        member = re.sub("[^A-Za-z0-9_]+", "_", name)
        if member != name:
            member = member.strip("_")
        if not re.match("[A-Za-z]", member):
            member = f"x{member}"
        while _RESERVED.fullmatch(member) or (member != name and member in taken):
            member = f"{member}_"
        taken.add(member)
        found.append(member)
    return found


def _comment(name):
    """A name within a comment, which it must not end; ``??/`` is a backslash in C99."""
    return re.sub(r"(?<=[*?])/|(?<=/)\*", r" \g<0>", json.dumps(name)[1:-1])
