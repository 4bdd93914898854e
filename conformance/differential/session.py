"""Both servers side by side: sends each request twice, reads all pages, and keeps the two in step."""

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
        """All pages as one answer. Scans and global indexes have no promised order among equals."""
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
            items = canonical(items)
            whole["Items"] = items if self.has_order(operation, request) else sort_by_text(items)
        if "ConsumedCapacity" in first.body and "Limit" not in request:
            whole["ConsumedCapacity"] = first.body["ConsumedCapacity"]
        return Outcome(None, "", whole)

    def has_order(self, operation, request):
        table = self.by_name.get(request.get("TableName"))
        if operation == "Scan" or table is None:
            return False
        index = request.get("IndexName")
        return index is None or not any(name == index and is_global for name, _, is_global in table.indexes)

    def wipe(self, table):
        """Empties a table on both sides, after an answer that may have left them different."""
        names = [name for name, _ in table.key]
        for connection in self.connections:
            page = connection.call("Scan", {"TableName": table.name}).body
            keys = [{name: item[name] for name in names} for item in page["Items"]]
            for start in range(0, len(keys), 25):
                deletes = [{"DeleteRequest": {"Key": key}} for key in keys[start : start + 25]]
                connection.call("BatchWriteItem", {"RequestItems": {table.name: deletes}})
