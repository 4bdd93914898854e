"""Sends each request to both servers, reads all pages, and keeps the rows of both servers equal."""

import itertools

from runner import wire

from .outcome import Outcome, canonical, sort_by_text

PAGES_MAX = 200


class Session:
    def __init__(self, ours, theirs, tables):
        self.connections = [wire.Connection(ours), wire.Connection(theirs)]
        self.tables = tables
        self.by_name = {table.name: table for table in tables}

    def create_tables(self):
        for connection in self.connections:
            for table in self.tables:
                answer = connection.call("CreateTable", table.create_request)
                if answer.status != 200:
                    raise SystemExit(f"could not create {table.name}: {answer.raw.decode()}")

    def delete_tables(self):
        for connection in self.connections:
            for table in self.tables:
                connection.call("DeleteTable", {"TableName": table.name})

    def outcomes(self, operation, request):
        return [self.outcome(connection, operation, request) for connection in self.connections]

    def outcome(self, connection, operation, request):
        answer = connection.call(operation, request)
        if answer.error is None and operation in ("Query", "Scan"):
            return self.whole(connection, operation, request, answer)
        outcome = Outcome.of(answer)
        if outcome.error is None and operation == "BatchGetItem":
            found = outcome.body.get("Responses", {})
            outcome.body["Responses"] = {name: sort_by_text(items) for name, items in found.items()}
        if outcome.error is None and operation == "ExecuteStatement" and outcome.body.get("Items"):
            outcome.body["Items"] = sort_by_text(outcome.body["Items"])
        return outcome

    def whole(self, connection, operation, request, first):
        """Reads all pages and returns them as one answer."""
        body = first.body
        items, pages, count, scanned = list(body.get("Items", [])), 1, body["Count"], body["ScannedCount"]
        while "LastEvaluatedKey" in body and pages < PAGES_MAX:
            answer = connection.call(operation, {**request, "ExclusiveStartKey": body["LastEvaluatedKey"]})
            if answer.error is not None:
                return Outcome.of(answer)
            body, pages = answer.body, pages + 1
            items += body.get("Items", [])
            count, scanned = count + body["Count"], scanned + body["ScannedCount"]
        whole = {"Count": count, "ScannedCount": scanned}
        if "Items" in first.body:
            whole["Items"] = self.settled(operation, request, canonical(items))
        if "ConsumedCapacity" in first.body and "Limit" not in request:
            whole["ConsumedCapacity"] = first.body["ConsumedCapacity"]
        return Outcome(first.status, None, "", whole)

    def settled(self, operation, request, items):
        """Items in a defined order where DynamoDB guarantees none: in a scan, and among equal sort keys of an index."""
        table = self.by_name.get(request.get("TableName"))
        if operation == "Scan" or table is None:
            return sort_by_text(items)
        index = request.get("IndexName")
        if index is None:
            return items
        sort_key = next((key[1][0] for name, key, _ in table.indexes if name == index and len(key) > 1), None)
        if any(sort_key not in item for item in items):
            return sort_by_text(items)
        groups = itertools.groupby(items, key=lambda item: item[sort_key])
        return [item for _, group in groups for item in sort_by_text(group)]

    def wipe(self, table):
        """Empties a table at both servers, after a request that may have changed only one of them."""
        names = [name for name, _ in table.key]
        for connection in self.connections:
            page = connection.call("Scan", {"TableName": table.name}).body
            keys = [{name: item[name] for name in names} for item in page["Items"]]
            for start in range(0, len(keys), 25):
                deletes = [{"DeleteRequest": {"Key": key}} for key in keys[start : start + 25]]
                connection.call("BatchWriteItem", {"RequestItems": {table.name: deletes}})
