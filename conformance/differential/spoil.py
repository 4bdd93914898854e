"""Spoils a request in one place, so that both servers have exactly one reason to refuse it."""

from . import values

EXPRESSIONS = ["ConditionExpression", "FilterExpression", "KeyConditionExpression", "ProjectionExpression", "UpdateExpression", "Statement"]
JUNK = [" AND", " =", ")", "(", " ,", " OR OR", " 5", " #undefined", " :undefined", " name = :v0", ", m, m.x"]
PLACES = ["Item", "Key", "ExpressionAttributeValues"]


def expression_places(node, found):
    """Every (object, member) that holds an expression, at any depth."""
    if isinstance(node, dict):
        found += [(node, name) for name in EXPRESSIONS if isinstance(node.get(name), str)]
        for child in node.values():
            expression_places(child, found)
    elif isinstance(node, list):
        for child in node:
            expression_places(child, found)
    return found


def break_expression(random, request):
    places = expression_places(request, [])
    if not places:
        return drop_member(random, request)
    holder, name = random.choice(places)
    text = holder[name]
    roll = random.random()
    if roll < 0.15:
        holder[name] = ""
    elif roll < 0.5:
        cut = random.randrange(len(text)) if text else 0
        holder[name] = text[:cut] + text[cut + 1 :]
    else:
        holder[name] = text + random.choice(JUNK)
    return request


def drop_member(random, request):
    request.pop(random.choice(sorted(request)))
    return request


def bad_value(random, request):
    holders = [request[name] for name in PLACES if isinstance(request.get(name), dict) and request[name]]
    if not holders:
        return bad_choice(random, request)
    holder = random.choice(holders)
    holder[random.choice(sorted(holder))] = random.choice(values.BAD_VALUES)
    return request


def bad_key(random, request):
    for name in ("Key", "Item"):
        key = request.get(name)
        if isinstance(key, dict) and key:
            attribute = "pk" if "pk" in key else random.choice(sorted(key))
            roll = random.random()
            if roll < 0.4:
                del key[attribute]
            elif roll < 0.8:
                key[attribute] = random.choice([{"S": ""}, {"N": "5"}, {"S": "text"}, {"BOOL": True}, {"SS": ["a"]}])
            else:
                key["stranger"] = {"S": "x"}
            return request
    return bad_choice(random, request)


def bad_choice(random, request):
    """Sets an enumerated or bounded member to a value that is not allowed."""
    changes = [
        ("TableName", "no-such-table"),
        ("TableName", "x"),
        ("TableName", "not a name"),
        ("ReturnValues", "ALL_NEW" if "Item" in request else "SOMETHING"),
        ("ReturnConsumedCapacity", "MUCH"),
        ("IndexName", "no_such_index"),
        ("Limit", 0),
        ("Select", "ALL_PROJECTED_ATTRIBUTES"),
        ("Segment", 3),
        ("ExclusiveStartKey", {"pk": {"S": "a"}}),
        ("ExpressionAttributeNames", {"#unused": "a"}),
        ("ExpressionAttributeNames", {}),
        ("ExpressionAttributeValues", {":unused": {"S": "a"}}),
        ("ExpressionAttributeValues", {}),
        ("Expected", {"a": {"Exists": False}}),
        ("AttributesToGet", ["a", "b"]),
        ("ConditionalOperator", "AND"),
    ]
    name, given = random.choice(changes)
    request[name] = given
    return request


def one_place(random, request):
    return random.choice([break_expression, break_expression, bad_value, bad_key, bad_choice, drop_member])(random, request)
