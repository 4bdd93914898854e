"""Reads a whole stream with all its shards, for steps about a table's records.

    {"records": "${t}", "gives": […]}                 every record since the stream began
    {"latest": "${t}", "save": "name"}                 iterators at the end, one for each shard
    {"records_from": "name", "gives": […]}             what came after them
"""

EMPTY_PAGES_MAX = 3
PAGES_MAX = 100


def body_of(answer):
    if answer.status != 200:
        raise AssertionError(f"refused: {answer.raw.decode()}")
    return answer.body


def stream_of(connection, table):
    return body_of(connection.call("DescribeTable", {"TableName": table}))["Table"]["LatestStreamArn"]


def shards_of(connection, arn):
    found, request = [], {"StreamArn": arn}
    while True:
        page = body_of(connection.call("DescribeStream", request))["StreamDescription"]
        found += page["Shards"]
        if "LastEvaluatedShardId" not in page:
            return found
        request["ExclusiveStartShardId"] = page["LastEvaluatedShardId"]


def iterators(connection, table, kind):
    arn = stream_of(connection, table)
    request = {"StreamArn": arn, "ShardIteratorType": kind}
    return [
        body_of(connection.call("GetShardIterator", {**request, "ShardId": shard["ShardId"]}))["ShardIterator"]
        for shard in shards_of(connection, arn)
    ]


def read(connection, starts):
    """All records after these iterators, in the order of their sequence numbers."""
    found = []
    for iterator in starts:
        empty = 0
        for _ in range(PAGES_MAX):
            page = body_of(connection.call("GetRecords", {"ShardIterator": iterator}))
            found += page["Records"]
            empty = 0 if page["Records"] else empty + 1
            iterator = page.get("NextShardIterator")
            if iterator is None or empty == EMPTY_PAGES_MAX:
                break
    return sorted(found, key=lambda record: int(record["dynamodb"]["SequenceNumber"]))


def run_step(connection, step, names, substitute):
    """The records that a step is about, or None when it only takes iterators."""
    if "latest" in step:
        names[step["save"]] = iterators(connection, substitute(step["latest"], names), "LATEST")
        return None
    if "records_from" in step:
        return read(connection, names[step["records_from"]])
    return read(connection, iterators(connection, substitute(step["records"], names), "TRIM_HORIZON"))
