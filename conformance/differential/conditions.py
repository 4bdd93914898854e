"""The conditions that an entry of known_differences.json may name in `when`, on a request and both answers.

A condition for two successes checks everything in which they differ.
"""

import json
import re
from collections import Counter

from . import values

CLAUSE = re.compile(r"\b(SET|REMOVE|ADD|DELETE)\b")
IN_PARENTHESES = re.compile(r"\([^()]*\)")
STEP = re.compile(r"\.(#?\w+)|\[(\d+)\]")
TYPES_TOLD = re.compile(r"Type mismatch for (?:key|Index Key) (\w+) [Ee]xpected: (\w+) [Aa]ctual: (\w+)")
HALF_UNIT = 0.5
# The partitions of a new table with on-demand capacity.
PARTITIONS = 4


def actions_of(request):
    """The paths that an update changes."""
    expression = IN_PARENTHESES.sub("", IN_PARENTHESES.sub("", str(request.get("UpdateExpression", ""))))
    words = CLAUSE.split(expression)
    return [
        re.match(r"[\w#.\[\]]*", action.strip())[0]
        for clause, actions in zip(words[1::2], words[2::2])
        for action in actions.split(",")
    ]


def several_actions(exchange):
    """An update that can have more than one fault that depends on the row."""
    return len(actions_of(exchange.request)) > 1


def capacity_unknown(exchange):
    """A ReturnConsumedCapacity with an unknown value."""
    return exchange.request.get("ReturnConsumedCapacity", "NONE") not in ("NONE", "TOTAL", "INDEXES")


def placeholders_empty(exchange):
    """ExpressionAttributeNames or ExpressionAttributeValues is present and empty."""
    return {} in (exchange.request.get("ExpressionAttributeNames"), exchange.request.get("ExpressionAttributeValues"))


def placeholders_pointless(exchange):
    """ExpressionAttributeNames or ExpressionAttributeValues is empty, or the request has no expression."""
    return placeholders_empty(exchange) or not any(name.endswith("Expression") for name in exchange.request)


def types_as_told(exchange):
    """The types in our server's message are true: the key has the expected type, and the request gives it a value of the actual one."""
    table = next((table for table in exchange.tables if table.name in json.dumps(exchange.request)), None)
    told = TYPES_TOLD.findall(exchange.ours.said())
    return table is not None and bool(told) and all(
        table.types.get(name) == expected and gives(exchange, name, actual) for name, expected, actual in told
    )


def gives(exchange, name, kind):
    """Whether the request gives an attribute a value of a type. Assumed for updates and statements, whose values have other forms."""
    items = [exchange.request.get("Item")]
    for writes in (exchange.request.get("RequestItems") or {}).values():
        items += [write.get("PutRequest", {}).get("Item") for write in writes]
    given = [item[name] for item in items if item and name in item]
    return any(kind in value for value in given) if any(items) else exchange.operation in ("UpdateItem", "ExecuteStatement")


def another_action_is_invalid(exchange):
    """A transaction that our server cancels because of an invalid value in exactly one action."""
    codes = [reason.get("Code") for reason in exchange.ours.reasons()]
    return codes.count("ValidationError") == 1 and codes.count("None") == len(codes) - 1


def all_but(members, exchange):
    """Whether both bodies are equal except for these members."""
    ours, theirs = exchange.ours.body, exchange.theirs.body
    return all(ours.get(name) == theirs.get(name) for name in ours.keys() | theirs.keys() if name not in members)


def nested_paths_alone(exchange):
    """UPDATED_OLD and UPDATED_NEW: our answer has only the nested paths of the update, the other one the whole attributes."""
    if exchange.request.get("ReturnValues") not in ("UPDATED_OLD", "UPDATED_NEW") or not all_but({"Attributes"}, exchange):
        return False
    names = exchange.request.get("ExpressionAttributeNames") or {}
    nested = {}
    for path in actions_of(exchange.request):
        head = re.match(r"#?\w+", path)[0] if re.match(r"#?\w+", path) else ""
        if head != path:
            nested.setdefault(names.get(head, head), []).append([names.get(name, name) or int(n) for name, n in STEP.findall(path[len(head) :])])
    ours, theirs = (answer.body.get("Attributes", {}) for answer in (exchange.ours, exchange.theirs))
    return all(
        ours.get(name) == theirs.get(name) or (name in nested and name in theirs and ours.get(name) == only_paths(theirs[name], nested[name]))
        for name in ours.keys() | theirs.keys()
    )


def only_paths(value, paths):
    """The parts of a value that are on the paths; None if there are none."""
    if [] in paths:
        return value
    (kind, inner), = value.items()
    wanted = {}
    for first, *rest in paths:
        wanted.setdefault(first, []).append(rest)
    if kind == "M":
        found = {name: only_paths(inner[name], wanted[name]) for name in wanted if name in inner}
        found = {name: part for name, part in found.items() if part is not None}
        return {"M": found} if found else None
    if kind == "L":
        found = [only_paths(inner[n], wanted[n]) for n in sorted(n for n in wanted if isinstance(n, int)) if n < len(inner)]
        found = [part for part in found if part is not None]
        return {"L": found} if found else None
    return None


def capacity_not_asked_for(exchange):
    """The other server returns a capacity that the request did not ask for."""
    asked = exchange.request.get("ReturnConsumedCapacity", "NONE") != "NONE"
    return not asked and "ConsumedCapacity" not in exchange.ours.body and all_but({"ConsumedCapacity"}, exchange)


def units(capacity, path=()):
    """The counts in a ConsumedCapacity, as {path: units}."""
    found = {}
    for name, inner in capacity.items():
        if isinstance(inner, dict):
            found.update(units(inner, (*path, name)))
        else:
            found[(*path, name)] = inner
    return found


def capacities(exchange):
    return [units(answer.body.get("ConsumedCapacity", {})) for answer in (exchange.ours, exchange.theirs)]


def least_charge_of_a_read(exchange):
    """Our server charges the minimum cost of a read, and the other one charges less; everything else is equal."""
    ours, theirs = capacities(exchange)
    partitions = 1 if {"IndexName", "Limit"} & exchange.request.keys() or exchange.operation == "Query" else PARTITIONS
    least = HALF_UNIT * partitions * (2 if exchange.request.get("ConsistentRead") else 1)
    return all_but({"ConsumedCapacity"}, exchange) and all(
        ours.get(where) == theirs.get(where) or (ours.get(where) == least and theirs.get(where, 0) in (0, HALF_UNIT))
        for where in ours.keys() | theirs.keys()
    )


def rows_fetched_for_local_index(exchange):
    """Our server also charges the table for each row that a read of a local index fetches from it; everything else is equal."""
    request, (ours, theirs) = exchange.request, capacities(exchange)
    fetched = HALF_UNIT * exchange.ours.body.get("ScannedCount", 0) * (2 if request.get("ConsistentRead") else 1)
    differing = {where for where in ours.keys() | theirs.keys() if ours.get(where) != theirs.get(where)}
    return (
        "IndexName" in request
        and "ProjectionExpression" in request
        and all_but({"ConsumedCapacity"}, exchange)
        and differing <= {("CapacityUnits",), ("Table", "CapacityUnits")}
        and all(ours.get(where, 0) - theirs.get(where, 0) == fetched for where in differing)
    )


def index_row_unchanged(exchange):
    """The other server charges units for an index, and ours does not; everything else is equal, also the units of the table."""
    ours, theirs = capacities(exchange)
    total = ("CapacityUnits",)
    differing = {where for where in ours.keys() | theirs.keys() if ours.get(where) != theirs.get(where)} - {total}
    return (
        all_but({"ConsumedCapacity"}, exchange)
        and ours.keys() <= theirs.keys()
        and theirs.get(total, 0) > ours.get(total, 0)
        and all(where[0] == "GlobalSecondaryIndexes" and theirs[where] > ours.get(where, 0) for where in differing)
    )


def filter_beyond_index(exchange):
    """A scan of an index with a filter on attributes that the index does not hold; both servers read the same number of rows."""
    request = exchange.request
    table = next((table for table in exchange.tables if table.name == request.get("TableName")), None)
    if table is None or "FilterExpression" not in request or request.get("IndexName") not in table.held:
        return False
    names = request.get("ExpressionAttributeNames") or {}
    words = re.findall(r"(?<![\w:.#])#?\w+", request["FilterExpression"])
    beyond = {names.get(word, word) for word in words} - table.held[request["IndexName"]]
    return bool(beyond & set(values.ATTRIBUTES)) and all_but({"Count", "Items"}, exchange) and counts_are_true(exchange) and one_has_more(exchange)


def counts_are_true(exchange):
    bodies = (exchange.ours.body, exchange.theirs.body)
    return all(body["Count"] == len(body["Items"]) for body in bodies if "Items" in body) and ("Items" in bodies[0]) == ("Items" in bodies[1])


def one_has_more(exchange):
    """Whether the rows of one answer are a part of those of the other."""
    ours, theirs = (Counter(json.dumps(row, sort_keys=True) for row in answer.body.get("Items", [])) for answer in (exchange.ours, exchange.theirs))
    return ours <= theirs or theirs <= ours


def start_key_made_up(exchange):
    """A scan that begins at a key which is not the end of a page: each server has its own order of partitions."""
    return (
        "ExclusiveStartKey" in exchange.request
        and all_but({"Count", "ScannedCount", "Items", "ConsumedCapacity"}, exchange)
        and counts_are_true(exchange)
        and one_has_more(exchange)
    )


BY_NAME = {
    condition.__name__.replace("_", " "): condition
    for condition in (
        several_actions,
        capacity_unknown,
        placeholders_empty,
        placeholders_pointless,
        types_as_told,
        another_action_is_invalid,
        nested_paths_alone,
        capacity_not_asked_for,
        least_charge_of_a_read,
        rows_fetched_for_local_index,
        index_row_unchanged,
        filter_beyond_index,
        start_key_made_up,
    )
}
