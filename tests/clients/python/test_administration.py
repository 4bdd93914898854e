"""The administration as docs/administration.openapi.json describes it: every call of a real server, answers and errors."""

import copy
import http.server
import json
import os
import re
import subprocess
import threading
import time
import unittest
import urllib.error
import urllib.request
from pathlib import Path

import boto3
from botocore.exceptions import ClientError
from jsonschema import Draft202012Validator
from openapi_spec_validator import validate

from support import ACCESS, ONCE

ROOT = Path(__file__).resolve().parents[3]
TRESTLE = os.environ.get("TRESTLE_PROGRAM", ROOT / "target" / "debug" / "trestle")
DESCRIPTION = json.loads((ROOT / "docs" / "administration.openapi.json").read_text())
OPEN = ".open"

SHOP = """
model = "shop"

[table.shop]
key = ["pk", "sk"]
entity_attribute = "kind"
stream = "new-and-old-images"

[entity.customer]
table = "shop"
key = { pk = "customer#{customer}", sk = "profile" }
attributes = { customer = "string", email = "string" }

[access.customer]
get = "customer"
where = { customer = "{customer}" }
"""
MOVED = SHOP.replace("customer#{customer}", "c/{customer}")
UNIQUE = MOVED + """
[entity.customer.unique.email]
key = { pk = "email#{email|lower}", sk = "email" }
"""
OTHER_KEY = SHOP.replace('key = ["pk", "sk"]', 'key = ["pk", "other"]').replace("sk =", "other =")
ROUTES = """
[route.changes]
table = "shop"
maximum_retry_attempts = 0
target = { webhook = "http://127.0.0.1:PORT/" }
"""


def closed(document):
    """The description, with no members besides those that it names. Clients ignore more; the server sends no more."""
    document = copy.deepcopy(document)
    schemas = document["components"]["schemas"]
    for name, schema in list(schemas.items()):
        # A schema that others extend must allow their additional members.
        schemas[name + OPEN] = copy.deepcopy(schema)
        close(schema)
    return document


def close(schema):
    if isinstance(schema, list):
        for one in schema:
            close(one)
    elif isinstance(schema, dict):
        for base in schema.get("allOf", []):
            base["$ref"] += OPEN
        for word, below in schema.items():
            if word != "allOf":
                close(below)
        if isinstance(schema.get("properties"), dict):
            schema.setdefault("unevaluatedProperties", False)


CLOSED = closed(DESCRIPTION)


def check(schema, value):
    """Holds a value against a schema of the description."""
    validator = Draft202012Validator({**schema, "components": CLOSED["components"]})
    validator.validate(value)


class Refusing(http.server.BaseHTTPRequestHandler):
    """A webhook that takes a change only after it was told to."""

    takes = False

    def do_POST(self):
        self.rfile.read(int(self.headers["content-length"]))
        self.send_response(200 if Refusing.takes else 400)
        self.end_headers()

    def log_message(self, *_):
        pass


class Administration(unittest.TestCase):
    """A server of its own: its clock is moved, and its routes are replaced."""

    def setUp(self):
        command = [TRESTLE, "serve", "--in-memory", "--port", "0", "--virtual-clock", "--allow-private-webhooks",
                   "--allow-fault-injection"]
        self.server = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
        self.addCleanup(self.server.stdout.close)
        self.addCleanup(self.server.wait)
        self.addCleanup(self.server.terminate)
        self.url = self.endpoint()
        threading.Thread(target=self.server.stdout.read, daemon=True).start()
        self.db = boto3.client("dynamodb", config=ONCE, **{**ACCESS, "endpoint_url": self.url})
        self.addCleanup(self.db.close)
        self.answered = set()

    def endpoint(self):
        for line in self.server.stdout:
            if found := re.search(r"http://127\.0\.0\.1:\d+", line):
                return found[0]
        self.fail("the server did not start")

    def send(self, path, body=b"", headers=None):
        """Makes a request; gives status, content type and body."""
        headers = {"X-Trestle-Admin": "1", "Content-Type": "application/json"} if headers is None else headers
        request = urllib.request.Request(self.url + path, method="POST", data=body, headers=headers)
        try:
            with urllib.request.urlopen(request, timeout=30) as answer:
                return answer.status, answer.headers.get_content_type(), answer.read()
        except urllib.error.HTTPError as refused:
            with refused:
                return refused.code, refused.headers.get_content_type(), refused.read()

    def call(self, name, /, status=200, **members):
        """Makes a call, and holds its request and its answer against the description."""
        operation = CLOSED["paths"][f"/_trestle/{name}"]["post"]
        if status == 200:
            check(operation["requestBody"]["content"]["application/json"]["schema"], members)
            self.answered.add(name)
        got, kind, body = self.send(f"/_trestle/{name}", json.dumps(members).encode())
        self.assertEqual(status, got, body)
        answer = json.loads(body)
        check(self.described(operation, status)["content"][kind]["schema"], answer)
        return answer

    def described(self, operation, status):
        response = operation["responses"][str(status)]
        if "$ref" in response:
            return CLOSED["components"]["responses"][response["$ref"].split("/")[-1]]
        return response

    def put(self, *names):
        for name in names:
            item = {"kind": {"S": "customer"}, "customer": {"S": name}, "email": {"S": "a@b.example"}}
            self.db.put_item(TableName="shop", Item=item)

    def until(self, wanted):
        """Waits for something, at most half a minute."""
        for _ in range(300):
            if found := wanted():
                return found
            time.sleep(0.1)
        self.fail("it did not happen")

    def test_every_call_answers_as_described(self):
        self.models()
        self.collections()
        self.migrations()
        self.routes()
        self.reindexes()
        self.touches()
        self.copies()
        self.clock()
        self.faults()
        self.metrics()
        status, kind, archive = self.send("/_trestle/backup")
        self.assertEqual((200, "application/octet-stream"), (status, kind))
        self.assertGreater(len(archive), 100)
        described = {path.removeprefix("/_trestle/") for path in DESCRIPTION["paths"]}
        self.assertNotIn("endpoint", self.call("read-gateway"), "this server is no gateway")
        self.assertEqual(described, self.answered | {"backup"})

    def copies(self):
        """What `trestle copy` asks of a source and of a target."""
        paused = self.call("pause-writes", tables=["shop"], seconds=30)["tables"]
        self.assertEqual(["shop"], [table["table"] for table in paused])
        self.assertEqual(paused, self.call("list-paused-tables")["tables"])
        late = {"TableName": "shop", "Item": {"pk": {"S": "late"}, "sk": {"S": "late"}}}
        with self.assertRaises(ClientError) as refused:
            self.db.put_item(**late)
        self.assertEqual("ThrottlingException", refused.exception.response["Error"]["Code"])
        self.assertEqual([], self.call("resume-writes", tables=["shop"])["tables"])
        self.db.put_item(**late)
        self.call("pause-writes", 404, tables=["nothing"])
        table = "_trestle.counts"
        create = {"TableName": table, "BillingMode": "PAY_PER_REQUEST",
                  "AttributeDefinitions": [{"AttributeName": "count", "AttributeType": "S"}],
                  "KeySchema": [{"AttributeName": "count", "KeyType": "HASH"}]}
        self.call("write-kept-rows", operation="CreateTable", request=create)
        self.call("write-kept-rows", 400, operation="DeleteTable", request={"TableName": table})

    def models(self):
        self.assertEqual([], self.call("list-models")["models"])
        self.assertEqual("planned", self.call("apply-model", text=SHOP, dry_run=True)["outcome"])
        self.assertEqual("applied", self.call("apply-model", text=SHOP)["outcome"])
        self.assertEqual("nothing-to-do", self.call("apply-model", text=SHOP)["outcome"])
        self.put("ada", "grace")
        self.assertEqual(1, len(self.call("list-models")["models"]))
        self.assertEqual(SHOP, self.call("read-model", name="shop")["text"])
        described, = self.call("describe-models")["models"]
        self.assertEqual("shop", described["name"])
        access = described["access"][0]
        given = {parameter["name"]: "x" for parameter in access["parameters"]}
        bound = self.call("explain-access", model="shop", access=access["name"], where=given)
        self.assertEqual(access["operation"], bound["operation"])
        self.assertEqual("shop", bound["request"]["TableName"])
        self.call("explain-access", status=400, model="shop", access=access["name"], where={"nothing": "x"})
        delete = {"TableName": "shop", "Key": {"pk": {"S": "customer#ada"}, "sk": {"S": "profile"}}}
        preview = self.call("preview-write", operation="DeleteItem", request=delete)
        self.assertEqual((1, "shop"), (preview["total"], preview["rows"][0]["table"]))
        self.assertNotIn("after", preview["rows"][0])
        self.call("preview-write", status=400, operation="Scan", request={"TableName": "shop"})
        proposed = self.call("infer-model", table="shop")
        self.assertEqual((2, True), (proposed["rows"], proposed["complete"]))
        self.call("infer-model", status=404, table="nothing")
        self.assertEqual(2, self.call("repair-models", dry_run=True)["models"][0]["rows"])
        refused = self.call("apply-model", status=409, text=OTHER_KEY)
        self.assertEqual(["refused", "refused"], [refused["code"], refused["report"]["outcome"]])
        self.assertTrue(refused["report"]["obstacles"])
        unsound = self.call("apply-model", status=400, text='model = "shop"\n[entity.x]\n')
        self.assertEqual("unsound", unsound["code"])
        self.assertTrue(unsound["problems"])
        self.call("read-model", status=404, name="none")

    def collections(self):
        self.put("joan")
        joan = {"table": "shop", "partition": "customer#joan"}
        counted = self.call("delete-collection", **joan, prefix="profile", dry_run=True)
        self.assertEqual((1, True, True), (counted["deleted"], counted["dry_run"], counted["done"]))
        first = self.call("delete-collection", **joan, rows=1)
        self.assertEqual((1, False), (first["deleted"], first["done"]))
        last = self.call("delete-collection", **joan, rows=1, after=first["next"])
        self.assertEqual((0, None, []), (last["deleted"], last["next"], last["left"]))
        self.call("delete-collection", status=400, table="shop")
        self.call("delete-collection", status=404, table="none", partition="a")

    def migrations(self):
        self.assertEqual([], self.call("list-migrations")["migrations"])
        self.assertTrue(self.call("plan-migration", text=MOVED)["moves"])
        self.assertIsNone(self.call("roll-back-migration", name="shop")["plan"])
        self.call("start-migration", text=MOVED, rate="unlimited", paused=True)
        self.assertTrue(self.call("pause-migration")["paused"])
        self.call("finish-migration", status=409, name="shop")
        self.call("resume-migration", name="shop", rate="unlimited")
        self.until(lambda: self.state("verified"))
        self.assertTrue(self.call("roll-back-migration")["plan"]["back"])
        self.until(lambda: self.state("rolled-back"))
        self.call("start-migration", text=MOVED, rate="unlimited")
        self.until(lambda: self.state("verified"))
        self.assertEqual("done", self.call("finish-migration")["state"])
        # Two customers have the same address.
        refused = self.call("apply-model", status=409, text=UNIQUE, fill=True)
        self.assertTrue(refused["report"]["rows"][0]["misfits"])

    def state(self, wanted):
        return self.call("list-migrations", name="shop")["migrations"][0]["state"] == wanted

    def routes(self):
        hook = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Refusing)
        self.addCleanup(hook.server_close)
        self.addCleanup(hook.shutdown)
        threading.Thread(target=hook.serve_forever, daemon=True).start()
        text = ROUTES.replace("PORT", str(hook.server_port))
        self.assertEqual("", self.call("read-routes")["text"])
        self.call("apply-routes", text=text, dry_run=True)
        self.assertEqual("changes", self.call("apply-routes", text=text)["routes"][0]["route"])
        self.assertEqual(text, self.call("read-routes")["text"])
        self.call("apply-routes", status=400, text="[route.changes]\n")
        self.put("emmy", "hedy", "joan")
        self.until(lambda: len(self.call("list-dead-letters", route="changes")["dead_letters"]) == 3)
        self.assertIsNotNone(self.call("list-routes")["routes"][0]["last_error"])
        tried = self.call("try-route", route="changes")
        self.assertEqual("shop", tried["table"])
        # Rows that a migration moved are read, and not sent.
        self.assertTrue(3 <= tried["taken"] < tried["looked_at"], tried)
        pattern = {"new": {"customer": ["hedy"]}}
        tried = self.call("try-route", table="shop", entities=["customer"], events=["insert"], pattern=pattern)
        self.assertEqual((1, "hedy"), (tried["taken"], tried["changes"][0]["new"]["customer"]))
        self.call("try-route", status=400, table="shop", pattern={"new": 7})
        self.call("try-route", status=400)
        page = self.call("list-dead-letters", limit=1)
        letters = page["dead_letters"] + self.call("list-dead-letters", after=page["next"])["dead_letters"]
        ids = [letter["id"] for letter in letters]
        self.assertEqual(ids[0], self.call("read-dead-letter", id=ids[0])["id"])
        self.assertEqual({"delivered": 0, "failed": 1, "unanswered": 0, "left": 0}, self.call("replay-dead-letters", id=ids[0]))
        Refusing.takes = True
        self.assertEqual({"delivered": 1, "failed": 0, "unanswered": 0, "left": 0}, self.call("replay-dead-letters", id=ids[0]))
        # A route with another name replaces the one that gave up.
        self.call("apply-routes", text=text.replace("route.changes", "route.later"))
        self.assertEqual({"delivered": 0, "failed": 0, "unanswered": 0, "left": 2}, self.call("replay-dead-letters", all=True))
        self.call("replay-dead-letters", status=400, route="changes")
        self.call("move-dead-letters", status=400, route="changes", to="nowhere")
        self.assertEqual(2, self.call("move-dead-letters", route="changes", to="later")["moved"])
        self.assertEqual(2, self.call("list-routes")["routes"][0]["dead"])
        ids = [letter["id"] for letter in self.call("list-dead-letters", route="later")["dead_letters"]]
        self.assertEqual(1, self.call("drop-dead-letters", id=ids[1])["dropped"])
        self.assertEqual(1, self.call("drop-dead-letters", all=True)["dropped"])
        self.call("read-dead-letter", status=404, id=ids[1])
        self.call("drop-dead-letters", status=400)
        begun = self.call("backfill-route", route="later", rate=1)
        self.assertEqual(("running", 1), (begun["state"], begun["rate"]))
        self.assertEqual(begun["id"], self.call("list-routes")["routes"][0]["backfill"]["id"])
        self.call("backfill-route", status=400, route="later")
        self.assertEqual("cancelled", self.call("cancel-backfill", route="later")["state"])
        self.call("cancel-backfill", status=400, route="later")
        self.assertEqual("shop", self.call("remove-model", name="shop")["removed"])

    def reindexes(self):
        self.assertEqual([], self.call("list-reindexes")["reindexes"])
        refused = self.call("start-reindex", status=409, table="shop")
        self.assertIn("takes touches", refused["message"])
        self.call("start-reindex", status=400, table="shop", first=1, ids=["a"])
        self.call("start-reindex", status=400, table="none")
        # The clock stands still, so that no further row is within the budget.
        started = self.call("start-reindex", table="shop", name="slow", version=7, force=True, write_units=0.001, page_rows=1)
        self.assertTrue(started["warnings"])
        self.assertEqual("running", started["reindex"]["state"])
        self.until(lambda: self.call("read-reindex", name="slow")["workers"])
        self.assertEqual(["slow"], [one["name"] for one in self.call("list-reindexes", running=True)["reindexes"]])
        with urllib.request.urlopen(self.url + "/metrics", timeout=30) as page:
            self.assertIn('trestle_reindex_workers{reindex="slow",table="shop"}', page.read().decode())
        self.call("start-reindex", status=400, table="shop", version=8, force=True)
        self.assertEqual("paused", self.call("pause-reindex", name="slow")["state"])
        self.assertEqual("running", self.call("resume-reindex", name="slow")["state"])
        self.assertEqual("cancelled", self.call("cancel-reindex", name="slow")["state"])
        self.call("resume-reindex", status=400, name="slow")
        self.call("read-reindex", status=404, name="none")
        rows = self.db.scan(TableName="shop")["Count"]
        nowhere = '{"pk":"c/nowhere","sk":"profile"}'
        self.call("start-reindex", table="shop", name="all", version=8, force=True)
        self.until(lambda: self.call("read-reindex", name="all")["state"] == "done")
        self.assertEqual([], self.call("list-reindex-gaps", name="all")["gaps"])
        self.assertEqual(rows, len(self.call("list-reindex-gaps", name="all", all=True)["gaps"]))
        self.call("list-reindex-gaps", status=400, name="all", all=True, against_table="shop")
        self.assertIn(self.call("resend-reindex", name="all", ids=[nowhere])["state"], ["running", "done"])
        self.call("resend-reindex", status=400, name="all")
        letters = self.until(lambda: self.call("list-reindex-dead-letters", name="all", limit=1)["dead_letters"])
        self.assertEqual((nowhere, None), (letters[0]["id"], letters[0]["row"]))
        self.until(lambda: self.call("read-reindex", name="all")["state"] == "done")
        self.assertEqual(1, self.call("replay-reindex", name="all")["replayed"])
        self.until(lambda: self.call("read-reindex", name="all")["state"] == "done")
        self.assertEqual(1, self.call("drop-reindex-dead-letters", name="all")["dropped"])
        page = self.call("list-reindexes", limit=1)
        more = self.call("list-reindexes", after=page["next"])
        self.assertEqual(["all", "slow"], [one["name"] for one in page["reindexes"] + more["reindexes"]])

    def touches(self):
        """What a reindex of another process asks for."""
        row = self.db.scan(TableName="shop", Limit=1)["Items"][0]
        key, nowhere = {name: row[name] for name in ["pk", "sk"]}, {"pk": {"S": "nowhere"}, "sk": {"S": "profile"}}

        def touch(version, **members):
            touched = self.call("touch-rows", table="shop", attribute="reindexVersion", version=version, **members)
            return [one["outcome"] for one in touched["rows"]], touched["write_units"]

        self.assertEqual((["raised", "gone"], 1), touch(99, keys=[key, nowhere]))
        self.assertEqual((["already-there"], 0), touch(99, keys=[key]))
        self.assertEqual((["refused"], 0), touch(100, keys=[key], expected={"email": {"S": "of nobody"}}))
        self.assertEqual({**row, "reindexVersion": {"N": "99"}}, self.db.get_item(TableName="shop", Key=key)["Item"])
        many = {"table": "shop", "attribute": "reindexVersion", "version": 101, "keys": [nowhere] * 1001}
        self.assertIn("1000", self.call("touch-rows", status=400, **many)["message"])
        self.call("touch-rows", status=400, **{**many, "table": "_trestle.reindex", "keys": [nowhere]})
        self.assertEqual("shop", self.call("set-reindex-version", table="shop", version=99)["table"])
        self.call("set-reindex-version", status=404, table="none", version=99)
        self.call("set-reindex-version", status=400, table="shop", entity="customer", version=99)

    def metrics(self):
        history = self.call("read-metrics")
        self.assertEqual(10, history["interval_seconds"])
        self.assertEqual([], self.call("read-metrics", after=4_000_000_000)["samples"])

    def clock(self):
        now = self.call("read-clock")["now"]
        self.assertAlmostEqual(now + 60, self.call("move-clock", advance_seconds=60)["now"], places=3)
        self.assertEqual(4e9, self.call("move-clock", set=4e9)["now"])
        self.call("move-clock", status=400, set=1, advance_seconds=1)

    def faults(self):
        self.assertEqual([], self.call("list-faults")["rules"])
        rule = "internal,operation=ListTables,times=1"
        self.assertEqual([{"rule": rule, "matched": 0, "injected": 0}], self.call("set-faults", rules=[rule])["rules"])
        with self.assertRaises(self.db.exceptions.InternalServerError):
            self.db.list_tables()
        self.db.list_tables()
        self.assertEqual([{"rule": rule, "matched": 2, "injected": 1}], self.call("list-faults")["rules"])
        refused = self.call("set-faults", status=400, rules=["internal,share=2"])
        self.assertIn("`share=2`", refused["message"])
        self.assertEqual(1, len(self.call("list-faults")["rules"]), "what is refused changes nothing")
        self.assertEqual([], self.call("set-faults", rules=[])["rules"])

    def test_what_never_becomes_a_call_is_refused_as_described(self):
        json_only = {"Content-Type": "application/json"}
        evil = {**json_only, "X-Trestle-Admin": "1", "Host": "evil.example"}
        for path, headers, body, status, code in [
            ("list-models", json_only, b"{}", 403, "forbidden"),
            ("list-models", {**json_only, "X-Trestle-Admin": "1", "Origin": "http://a.example"}, b"{}", 403, "forbidden"),
            ("list-models", None, b"{", 400, "invalid"),
            ("list-models", None, b'{"more": 1}', 400, "invalid"),
            ("list-models", evil, b"{}", 400, None),
            ("no-call", None, b"{}", 404, "not-found"),
        ]:
            with self.subTest(path=path, status=status, code=code):
                got, kind, answer = self.send(f"/_trestle/{path}", body, headers)
                self.assertEqual(status, got, answer)
                answer = json.loads(answer)
                self.assertEqual(code, answer.get("code"))
                operation = CLOSED["paths"]["/_trestle/list-models"]["post"]
                check(self.described(operation, status)["content"][kind]["schema"], answer)


class Description(unittest.TestCase):
    def test_it_is_a_description_in_openapi(self):
        validate(DESCRIPTION)

    def test_a_member_that_is_not_described_is_found(self):
        answer = {"now": 1.0}
        clock = {"$ref": "#/components/schemas/ClockTime"}
        check(clock, answer)
        for wrong in [{**answer, "more": 1}, {}, {"now": "1"}]:
            self.assertFalse(Draft202012Validator({**clock, "components": CLOSED["components"]}).is_valid(wrong))


if __name__ == "__main__":
    unittest.main()
