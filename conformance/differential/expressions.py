"""Random expressions with their names and values, mostly well formed."""

from . import values

COMPARATORS = ["=", "<>", "<", "<=", ">", ">="]


class Placeholders:
    """Collects the names and values to which an expression refers by `#name` and `:value`."""

    def __init__(self, random):
        self.random = random
        self.names = {}
        self.values = {}

    def name(self, attribute):
        if self.random.random() < 0.6:
            return attribute
        placeholder = f"#{attribute}"
        self.names[placeholder] = attribute
        return placeholder

    def value(self, given):
        placeholder = f":v{len(self.values)}"
        self.values[placeholder] = given
        return placeholder

    def into(self, request):
        if self.names:
            request["ExpressionAttributeNames"] = self.names
        if self.values:
            request["ExpressionAttributeValues"] = self.values


def path(random, holders, table=None):
    roll = random.random()
    if roll < 0.12:
        return f"{holders.name('m')}.{random.choice('xyz')}"
    if roll < 0.22:
        return f"{holders.name('l')}[{random.randint(0, 4)}]"
    if roll < 0.27:
        return f"{holders.name('m')}.x[{random.randint(0, 1)}].y"
    if table is not None and roll < 0.34:
        return holders.name(random.choice(table.key)[0])
    return holders.name(random.choice(values.ATTRIBUTES))


def operand(random, holders, table):
    roll = random.random()
    if roll < 0.55:
        return path(random, holders, table)
    if roll < 0.65:
        return f"size({path(random, holders, table)})"
    return holders.value(values.value(random, 1))


def simple_condition(random, holders, table):
    kind = random.randrange(9)
    where = path(random, holders, table)
    if kind == 0:
        return f"attribute_exists({where})"
    if kind == 1:
        return f"attribute_not_exists({where})"
    if kind == 2:
        return f"attribute_type({where}, {holders.value({'S': random.choice(['S', 'N', 'SS', 'M', 'NULL', 'X'])})})"
    if kind == 3:
        return f"begins_with({where}, {holders.value({'S': random.choice(values.STRINGS)})})"
    if kind == 4:
        return f"contains({where}, {holders.value(values.scalar(random))})"
    if kind == 5:
        options = ", ".join(holders.value(values.scalar(random)) for _ in range(random.randint(1, 3)))
        return f"{where} IN ({options})"
    if kind == 6:
        low, high = sorted(random.sample(["0", "1", "5", "99"], 2), key=float)
        return f"{where} BETWEEN {holders.value({'N': low})} AND {holders.value({'N': high})}"
    return f"{where} {random.choice(COMPARATORS)} {operand(random, holders, table)}"


def condition(random, holders, table, depth=2):
    roll = random.random()
    if depth == 0 or roll < 0.6:
        return simple_condition(random, holders, table)
    if roll < 0.7:
        return f"NOT {simple_condition(random, holders, table)}"
    left = condition(random, holders, table, depth - 1)
    right = condition(random, holders, table, depth - 1)
    joined = f"{left} {random.choice(['AND', 'OR'])} {right}"
    return f"({joined}) AND {simple_condition(random, holders, table)}" if roll > 0.93 else joined


def projection(random, holders, table):
    """Paths with different first attributes, so that they do not overlap. Spoiling adds some that overlap."""
    chosen = {}
    for _ in range(random.randint(1, 3)):
        found = path(random, holders, table)
        chosen.setdefault(found.lstrip("#").split(".")[0].split("[")[0], found)
    return ", ".join(sorted(chosen.values()))


def set_action(random, holders, target, attribute):
    roll = random.random()
    if roll < 0.5:
        right = holders.value(values.attribute_value(random, attribute))
    elif roll < 0.6:
        right = path(random, holders)
    elif roll < 0.75:
        right = f"{target} {random.choice('+-')} {holders.value({'N': random.choice(values.NUMBERS)})}"
    elif roll < 0.9:
        right = f"if_not_exists({target}, {holders.value(values.attribute_value(random, attribute))})"
    else:
        right = f"list_append({target}, {holders.value({'L': [values.scalar(random)]})})"
    return f"{target} = {right}"


def update(random, holders):
    """At most one clause changes each attribute, so that most updates are valid."""
    attributes = values.distinct(random, values.ATTRIBUTES, 4)
    clauses = {}
    for attribute in attributes:
        target = holders.name(attribute)
        nested = random.random() < 0.25
        if nested and attribute == "m":
            target += f".{random.choice('xyz')}"
        elif nested and attribute == "l":
            target += f"[{random.randint(0, 5)}]"
        add_action(random, holders, clauses, target, attribute)
    if not {"SET", "ADD"} & clauses.keys():
        # DynamoDB Local creates an item for an update that only removes, and AWS does not. After that the two
        # servers would have different items. The case is in cases/update_item_only_removes.json.
        spare = next(name for name in values.ATTRIBUTES if name not in attributes)
        clauses["SET"] = [f"{holders.name(spare)} = {holders.value(values.attribute_value(random, spare))}"]
    return " ".join(f"{clause} {', '.join(actions)}" for clause, actions in clauses.items())


def add_action(random, holders, clauses, target, attribute):
    roll = random.random()
    if roll < 0.2:
        clauses.setdefault("REMOVE", []).append(target)
    elif attribute in ("ss", "ns") and roll < 0.8:
        clause = random.choice(["ADD", "DELETE"])
        clauses.setdefault(clause, []).append(f"{target} {holders.value(values.attribute_value(random, attribute))}")
    elif attribute in ("a", "r") and roll < 0.4:
        clauses.setdefault("ADD", []).append(f"{target} {holders.value({'N': random.choice(values.NUMBERS)})}")
    else:
        clauses.setdefault("SET", []).append(set_action(random, holders, target, attribute))


def key_condition(random, holders, schema):
    (hash_name, hash_kind), *rest = schema
    text = f"{holders.name(hash_name)} = {holders.value(values.key_value(random, hash_kind))}"
    if not rest or random.random() < 0.3:
        return text
    name, kind = rest[0]
    where = holders.name(name)
    given = lambda: holders.value(values.key_value(random, kind))
    roll = random.random()
    if roll < 0.2 and kind != "N":
        return f"{text} AND begins_with({where}, {given()})"
    if roll < 0.4:
        return f"{text} AND {where} BETWEEN {given()} AND {given()}"
    return f"{text} AND {where} {random.choice(['=', '<', '<=', '>', '>='])} {given()}"
