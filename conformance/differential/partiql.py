"""Random PartiQL statements, with literals and with parameters."""

from . import values


def literal(given):
    """An attribute value as a PartiQL literal; None if there is no literal for it."""
    (kind, inner), = given.items()
    if kind == "S":
        return "'" + inner.replace("'", "''") + "'" if "\u0000" not in inner else None
    if kind == "N":
        return inner if "e" not in inner.lower() else None
    if kind == "BOOL":
        return "true" if inner else "false"
    if kind == "NULL":
        return "null"
    if kind == "L":
        return listed("[", [literal(element) for element in inner], "]")
    if kind == "M":
        return mapped(inner)
    if kind in ("SS", "NS"):
        return listed("<<", [literal({kind[0]: element}) for element in inner], ">>")
    return None


def listed(opening, parts, closing):
    return None if None in parts else opening + ", ".join(parts) + closing


def mapped(members):
    parts = [(name, literal(given)) for name, given in members.items()]
    if any(text is None for _, text in parts):
        return None
    return "{" + ", ".join(f"'{name}': {text}" for name, text in parts) + "}"


class Statement:
    """A statement under construction: its text and its parameters."""

    def __init__(self, random):
        self.random = random
        self.parameters = []

    def value(self, given):
        text = literal(given) if self.random.random() < 0.5 else None
        if text is None:
            self.parameters.append(given)
            return "?"
        return text

    def request(self, text):
        return {"Statement": text, **({"Parameters": self.parameters} if self.parameters else {})}


def whole_key(parts, table):
    return " AND ".join(
        f"{name} = {parts.value(values.key_value(parts.random, kind))}" for name, kind in table.key
    )


def insert(random, table, parts):
    members = ", ".join(f"'{name}': {parts.value(given)}" for name, given in values.item(random, table).items())
    return f"INSERT INTO \"{table.name}\" VALUE {{{members}}}"


def update(random, table, parts):
    sets = " ".join(f"SET {name} = {parts.value(values.attribute_value(random, name))}" for name in values.distinct(random, ["a", "b", "c"], 2))
    remove = " REMOVE l" if random.random() < 0.3 else ""
    returning = random.choice(["", " RETURNING ALL NEW *", " RETURNING ALL OLD *", " RETURNING MODIFIED NEW *"])
    return f"UPDATE \"{table.name}\" {sets}{remove} WHERE {whole_key(parts, table)}{returning}"


def delete(random, table, parts):
    return f"DELETE FROM \"{table.name}\" WHERE {whole_key(parts, table)}{random.choice(['', ' RETURNING ALL OLD *'])}"


def select(random, table, parts):
    columns = random.choice(["*", "*", "a, b", "pk, m"])
    where = whole_key(parts, table)
    roll = random.random()
    if roll < 0.3:
        name, kind = table.key[0]
        where = f"{name} = {parts.value(values.key_value(random, kind))}"
    elif roll < 0.5:
        where = f"a {random.choice(['=', '>', '<'])} {parts.value({'N': random.choice(['0', '1', '10'])})}"
    if random.random() < 0.2:
        where += f" AND {random.choice(['b IS MISSING', 'attribute_type(c, ' + chr(39) + 'S' + chr(39) + ')', 'NOT a = 1'])}"
    return f"SELECT {columns} FROM \"{table.name}\" WHERE {where}"


def statement(random, table):
    parts = Statement(random)
    make = random.choices([insert, update, delete, select], [3, 3, 2, 4])[0]
    return "ExecuteStatement", parts.request(make(random, table, parts))
