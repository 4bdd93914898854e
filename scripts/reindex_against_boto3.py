"""A reindex by `trestle reindex start --watch`, and by a serial script with boto3 that scans and updates: how many times as fast.

Both raise `reindexVersion` of every row of the same table, at the same server on disk, in turns. It fails if the command is less than 100
times as fast in the median of the turns. Run by `./test reindex [ROWS]`, with TRESTLE naming the program.
"""

import json
import os
import re
import subprocess
import sys
import tempfile
import time

import boto3

TABLE = "works"
TURNS = 3
TIMES_AT_LEAST = 100


def serve(program, folder):
    """A server on a free port, with every commit durable; the process and its address."""
    server = subprocess.Popen(
        [program, "serve", "--data", os.path.join(folder, "data"), "--port", "0"],
        stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True,
    )  # fmt: skip
    for line in server.stdout:
        if address := re.search(r"http://127\.0\.0\.1:\d+", line):
            return server, address[0]
    sys.exit("the server did not start")


def load(client, rows):
    client.create_table(
        TableName=TABLE, BillingMode="PAY_PER_REQUEST",
        KeySchema=[{"AttributeName": "id", "KeyType": "HASH"}],
        AttributeDefinitions=[{"AttributeName": "id", "AttributeType": "S"}],
        StreamSpecification={"StreamEnabled": True, "StreamViewType": "NEW_AND_OLD_IMAGES"},
    )  # fmt: skip
    for first in range(0, rows, 25):
        puts = [
            {"PutRequest": {"Item": {"id": {"S": f"b{n:07}"}, "title": {"S": f"work {n} " + "x" * 100}, "version": {"N": "1"}}}}
            for n in range(first, min(first + 25, rows))
        ]
        client.batch_write_item(RequestItems={TABLE: puts})


def by_command(program, address, version):
    """Seconds of the whole command, from its start as a process to its end."""
    began = time.perf_counter()
    done = subprocess.run(
        [program, "reindex", "start", TABLE, "--version", str(version), "--server", address, "--watch", "--force", "--json"],
        check=True, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True,
    )  # fmt: skip
    return time.perf_counter() - began, json.loads(done.stdout)


def by_script(address, version):
    """Seconds of what a person would write: one page after the other, one row after the other."""
    began = time.perf_counter()
    client = boto3.client("dynamodb", endpoint_url=address)
    rows = 0
    for page in client.get_paginator("scan").paginate(TableName=TABLE, ProjectionExpression="id"):
        for item in page["Items"]:
            client.update_item(
                TableName=TABLE, Key={"id": item["id"]}, UpdateExpression="SET reindexVersion = :v",
                ConditionExpression="attribute_exists(id) AND (attribute_not_exists(reindexVersion) OR reindexVersion < :v)",
                ExpressionAttributeValues={":v": {"N": str(version)}},
            )  # fmt: skip
            rows += 1
    return time.perf_counter() - began, rows


def at_version(client, version):
    pages = client.get_paginator("scan").paginate(
        TableName=TABLE, Select="COUNT", FilterExpression="reindexVersion = :v",
        ExpressionAttributeValues={":v": {"N": str(version)}},
    )  # fmt: skip
    return sum(page["Count"] for page in pages)


def check(what, found, expected):
    if found != expected:
        sys.exit(f"{what}: {found} rows, not {expected}")


def main():
    rows, program = int(sys.argv[1]), os.environ["TRESTLE"]
    os.environ.update(AWS_ACCESS_KEY_ID="any", AWS_SECRET_ACCESS_KEY="any", AWS_DEFAULT_REGION="us-east-1")
    with tempfile.TemporaryDirectory() as folder:
        server, address = serve(program, folder)
        try:
            client = boto3.client("dynamodb", endpoint_url=address)
            load(client, rows)
            ratios = []
            for turn in range(TURNS):
                commanded, report = by_command(program, address, 2 * turn + 1)
                check("after the command", at_version(client, 2 * turn + 1), rows)
                scripted, updated = by_script(address, 2 * turn + 2)
                check("the script updated", updated, rows)
                check("after the script", at_version(client, 2 * turn + 2), rows)
                ratios.append(scripted / commanded)
                print(
                    f"{rows} rows: command {commanded:.2f} s ({report['rate']:.0f} rows/s while it worked), "
                    f"script {scripted:.1f} s, {ratios[-1]:.0f} times",
                    flush=True,
                )
            median = sorted(ratios)[TURNS // 2]
            print(f"the whole command is {median:.0f} times as fast as the script (median of {TURNS} turns)")
            if median < TIMES_AT_LEAST:
                sys.exit(f"the bar is {TIMES_AT_LEAST} times")
        finally:
            server.terminate()
            server.wait(60)


main()
