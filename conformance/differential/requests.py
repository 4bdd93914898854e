"""Random requests as (operation, request), both valid and spoiled ones."""

import copy
import json

from . import expressions, partiql, spoil, values
from .expressions import Placeholders

RETURN_ON_FAILURE = [None, None, "ALL_OLD"]


def choose_capacity(random, request):
    roll = random.random()
    if roll < 0.1:
        request["ReturnConsumedCapacity"] = "TOTAL"
    elif roll < 0.15:
        request["ReturnConsumedCapacity"] = "INDEXES"


def guard(random, request, holders, table, chance=0.5):
    if random.random() < chance:
        request["ConditionExpression"] = expressions.condition(random, holders, table)
        failure = random.choice(RETURN_ON_FAILURE)
        if failure:
            request["ReturnValuesOnConditionCheckFailure"] = failure


def put_item(random, table):
    request, holders = {"TableName": table.name, "Item": values.item(random, table)}, Placeholders(random)
    guard(random, request, holders, table, 0.3)
    holders.into(request)
    if random.random() < 0.4:
        request["ReturnValues"] = random.choice(["NONE", "ALL_OLD"])
    choose_capacity(random, request)
    return "PutItem", request


def get_item(random, table):
    request, holders = {"TableName": table.name, "Key": values.key(random, table)}, Placeholders(random)
    if random.random() < 0.5:
        request["ProjectionExpression"] = expressions.projection(random, holders, table)
    holders.into(request)
    if random.random() < 0.3:
        request["ConsistentRead"] = True
    choose_capacity(random, request)
    return "GetItem", request


def update_item(random, table):
    request, holders = {"TableName": table.name, "Key": values.key(random, table)}, Placeholders(random)
    if random.random() < 0.97:
        request["UpdateExpression"] = expressions.update(random, holders)
    guard(random, request, holders, table, 0.3)
    holders.into(request)
    if random.random() < 0.7:
        request["ReturnValues"] = random.choice(["NONE", "ALL_OLD", "ALL_NEW", "UPDATED_OLD", "UPDATED_NEW"])
    choose_capacity(random, request)
    return "UpdateItem", request


def delete_item(random, table):
    request, holders = {"TableName": table.name, "Key": values.key(random, table)}, Placeholders(random)
    guard(random, request, holders, table, 0.4)
    holders.into(request)
    if random.random() < 0.5:
        request["ReturnValues"] = random.choice(["NONE", "ALL_OLD"])
    return "DeleteItem", request


def narrow(random, request, holders, table, filterable):
    """Adds a filter, a projection or counting, which Query and Scan have in common."""
    if random.random() < 0.4:
        request["FilterExpression"] = expressions.condition(random, holders, filterable)
    roll = random.random()
    if roll < 0.2:
        request["Select"] = "COUNT"
    elif roll < 0.4:
        request["ProjectionExpression"] = expressions.projection(random, holders, table)
    if random.random() < 0.4:
        request["Limit"] = random.choice([1, 2, 3, 7, 100])
    choose_capacity(random, request)


def query(random, table):
    request, holders, schema = {"TableName": table.name}, Placeholders(random), table.key
    if table.indexes and random.random() < 0.5:
        request["IndexName"], schema, _ = random.choice(table.indexes)
    request["KeyConditionExpression"] = expressions.key_condition(random, holders, schema)
    narrow(random, request, holders, table, None)
    holders.into(request)
    if random.random() < 0.3:
        request["ScanIndexForward"] = False
    if random.random() < 0.1:
        request["ConsistentRead"] = True
    return "Query", request


def scan(random, table):
    request, holders = {"TableName": table.name}, Placeholders(random)
    if table.indexes and random.random() < 0.3:
        request["IndexName"] = random.choice(table.indexes)[0]
    narrow(random, request, holders, table, table)
    holders.into(request)
    return "Scan", request


def distinct_keys(random, table, most):
    found = {json.dumps(key, sort_keys=True): key for key in (values.key(random, table) for _ in range(random.randint(1, most)))}
    return list(found.values())


def batch_get_item(random, table):
    wanted = {"Keys": distinct_keys(random, table, 6)}
    if random.random() < 0.3:
        holders = Placeholders(random)
        wanted["ProjectionExpression"] = expressions.projection(random, holders, table)
        if holders.names:
            wanted["ExpressionAttributeNames"] = holders.names
    return "BatchGetItem", {"RequestItems": {table.name: wanted}}


def batch_write_item(random, table):
    writes = []
    for key in distinct_keys(random, table, 6):
        if random.random() < 0.5:
            writes.append({"DeleteRequest": {"Key": key}})
        else:
            writes.append({"PutRequest": {"Item": {**values.item(random, table), **key}}})
    return "BatchWriteItem", {"RequestItems": {table.name: writes}}


def transact_write_items(random, table):
    actions = []
    for key in distinct_keys(random, table, 4):
        action, holders = {"TableName": table.name, "Key": key}, Placeholders(random)
        kind = random.choice(["Put", "Update", "Delete", "ConditionCheck"])
        if kind == "Put":
            action = {"TableName": table.name, "Item": {**values.item(random, table), **key}}
        elif kind == "Update":
            action["UpdateExpression"] = expressions.update(random, holders)
        guard(random, action, holders, table, 1 if kind == "ConditionCheck" else 0.2)
        holders.into(action)
        actions.append({kind: action})
    return "TransactWriteItems", {"TransactItems": actions}


def transact_get_items(random, table):
    gets = [{"Get": {"TableName": table.name, "Key": key}} for key in distinct_keys(random, table, 4)]
    return "TransactGetItems", {"TransactItems": gets}


WEIGHTS = {
    put_item: 22,
    get_item: 8,
    update_item: 25,
    delete_item: 6,
    query: 14,
    scan: 6,
    batch_get_item: 3,
    batch_write_item: 5,
    transact_write_items: 6,
    transact_get_items: 2,
    partiql.statement: 8,
}


def any_request(random, tables, spoiled_share):
    """One random request. A share of them is spoiled in exactly one place."""
    make = random.choices(list(WEIGHTS), list(WEIGHTS.values()))[0]
    operation, request = make(random, random.choice(tables))
    if random.random() < spoiled_share:
        operation, request = operation, spoil.one_place(random, copy.deepcopy(request))
    return operation, request
