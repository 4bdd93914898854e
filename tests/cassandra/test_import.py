"""`trestle import cassandra` with real nodes: what COPY writes, and rows of the live cluster that change during the import.

`./test cassandra [ROWS]` runs it. It needs TRESTLE (a build with the feature cassandra-live), CQLSH, CLASS_PATH and LOGS.
"""

import atexit
import json
import os
import pathlib
import random
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
import time
import unittest
import urllib.request

from cassandra.concurrent import execute_concurrent_with_args

from cluster import PASSWORD, USER, Nodes

DATA = pathlib.Path(__file__).resolve().parents[2] / "crates/cassandra/tests/data"
TRESTLE = os.environ["TRESTLE"]
ROWS = int(os.environ.get("ROWS", "100000"))
RESIDENT_BYTES_MAX = 500 * 2**20
IMPORT_SECONDS = 1800

nodes = None


def setUpModule():
    global nodes
    # Also when a time limit ends this process, the nodes end with it.
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(1))
    nodes = Nodes(os.environ["CLASS_PATH"], os.environ["LOGS"])
    atexit.register(nodes.stop)
    print(f"Cassandra {version()} with {len(nodes.addresses)} nodes", flush=True)
    for example in ["warehouse", "types"]:
        nodes.cqlsh("-f", str(DATA / example / "schema.cql"))
        nodes.cqlsh("-f", str(DATA / example / "rows.cql"))


def tearDownModule():
    nodes.stop()


def version():
    return nodes.session.execute("SELECT release_version FROM system.local").one().release_version


def peaks_of(process):
    """The most memory that a process has had so far, in bytes, again and again until it ends."""
    while True:
        status = pathlib.Path(f"/proc/{process}/status").read_text()
        # A process that has ended and was not waited for has no such line.
        if not (peak := re.search(r"VmHWM:\s+(\d+) kB", status)):
            return
        yield int(peak.group(1)) * 1024
        time.sleep(0.05)


def live():
    return ["--contact-point", f"127.0.0.1:{nodes.native}", "--username", USER, "--password", PASSWORD]


class ImportTest(unittest.TestCase):
    def setUp(self):
        self.folder = pathlib.Path(tempfile.mkdtemp(prefix="trestle-import-"))
        self.addCleanup(shutil.rmtree, self.folder, ignore_errors=True)
        self.data = self.folder / "data"

    def run_trestle(self, *arguments, code=0):
        done = subprocess.run([TRESTLE, *map(str, arguments)], capture_output=True, text=True, timeout=IMPORT_SECONDS)
        self.assertEqual(done.returncode, code, done.stdout + done.stderr)
        return done

    def apply(self, model):
        self.run_trestle("model", "apply", model, "--data", self.data)

    def imported(self, mapping, *arguments, code=0):
        """The counts of an import, by entity."""
        done = self.run_trestle("import", "cassandra", mapping, "--data", self.data, "--json", *arguments, code=code)
        told = [json.loads(line) for line in done.stdout.splitlines()]
        counts = next(line["imported"] for line in told if "imported" in line)
        for line in told:
            for verified in line.get("verified", []):
                if code == 0:
                    self.assertEqual(verified["checksum_in_source"], verified["checksum_in_database"], verified)
        return {of["entity"]: of for of in counts}

    def stored(self, table):
        """All rows of a table, as a server gives them."""
        server = subprocess.Popen([TRESTLE, "serve", "--data", str(self.data), "--port", "0"], stdout=subprocess.PIPE,
                                  stderr=subprocess.STDOUT, text=True)
        reader = threading.Thread(target=server.stdout.read, daemon=True)
        try:
            endpoint = None
            for line in server.stdout:
                if "http://127.0.0.1:" in line:
                    endpoint = "http://127.0.0.1:" + line.split("http://127.0.0.1:")[1].split()[0].rstrip(".,;/")
                    break
            self.assertIsNotNone(endpoint, "the server did not say where it listens")
            reader.start()
            rows, request = [], {"TableName": table}
            while True:
                headers = {"X-Amz-Target": "DynamoDB_20120810.Scan", "Content-Type": "application/x-amz-json-1.0"}
                asked = urllib.request.Request(endpoint, json.dumps(request).encode(), headers)
                with urllib.request.urlopen(asked, timeout=60) as answer:
                    page = json.load(answer)
                rows += page["Items"]
                if "LastEvaluatedKey" not in page:
                    return rows
                request["ExclusiveStartKey"] = page["LastEvaluatedKey"]
        finally:
            server.send_signal(signal.SIGTERM)
            server.wait(30)
            if reader.is_alive():
                reader.join(10)
            server.stdout.close()


class Examples(ImportTest):
    def test_copy_writes_what_is_recorded(self):
        for example in ["warehouse", "types"]:
            for recorded in sorted((DATA / example / "export").glob("*.csv")):
                written = self.folder / recorded.name
                nodes.cqlsh("-e", f"COPY {example}.{recorded.stem} TO '{written}' WITH HEADER = TRUE")
                # The order of rows is that of the nodes' answers.
                self.assertEqual(sorted(written.read_text().splitlines()), sorted(recorded.read_text().splitlines()), recorded)

    def test_a_live_import_and_an_export_make_the_same_rows(self):
        for example in ["warehouse", "types"]:
            with self.subTest(example):
                self.data = self.folder / example
                mapping, model = DATA / example / "mapping.toml", DATA / example / "model.toml"
                dry = self.run_trestle("import", "cassandra", mapping, "--dry-run", "--model", model, "--json", *live())
                checked = json.loads(dry.stdout.splitlines()[-1])["checked"]
                self.assertEqual(sum(of["unfit"] for of in checked), 0)
                self.assertFalse(self.data.exists())
                self.apply(model)
                first = self.imported(mapping, *live())
                self.assertEqual({of["entity"]: of["rows"] for of in checked}, {name: of["rows"] for name, of in first.items()})
                for of in first.values():
                    self.assertEqual(of["inserted"] + of["without_row"], of["rows"], of)
                # The files have static columns once for each row.
                for source in [[], live()]:
                    for of in self.imported(mapping, *source).values():
                        self.assertEqual(of["unchanged"] + of["without_row"], of["rows"], of)

    def test_a_cluster_proposes_a_model_that_takes_its_rows(self):
        out = self.folder / "proposed"
        self.run_trestle("import", "cassandra", *live(), "--keyspace", "types", "--out", out)
        self.run_trestle("model", "check", out / "model.toml")
        text = (out / "mapping.toml").read_text()
        self.assertNotIn("files", text)
        # One date is beyond the range of dates in text, which the report states.
        dry = self.run_trestle("import", "cassandra", out / "mapping.toml", "--dry-run", "--model", out / "model.toml", "--json",
                               *live(), code=1)
        unfit = json.loads(dry.stdout.splitlines()[0])["unfit"]
        self.assertEqual((unfit["table"], unfit["column"], unfit["value"]), ("types.things", "day", "-719529"))
        self.assertIn("Position = -3", unfit["row"])

    def test_what_is_wrong_with_the_cluster_is_told(self):
        mapping, model = DATA / "types/mapping.toml", DATA / "types/model.toml"
        dry = ["import", "cassandra", mapping, "--dry-run", "--model", model]
        wrong = ["--contact-point", f"127.0.0.1:{nodes.native}", "--username", USER, "--password", "wrong"]
        self.assertIn("cannot connect", self.run_trestle(*dry, *wrong, code=1).stderr)
        self.assertIn("no keyspace nothing", self.run_trestle(*dry, *live(), "--keyspace", "nothing", code=1).stderr)
        self.assertIn("consistency", self.run_trestle(*dry, *live(), "--consistency", "most", code=1).stderr)


SHOP = """
CREATE KEYSPACE shop WITH replication = {'class': 'SimpleStrategy', 'replication_factor': '%d'};
CREATE TABLE shop.orders (
    customer text, number int, note text, amount decimal, paid boolean, at timestamp, tags set<text>, extras map<text, text>,
    PRIMARY KEY (customer, number)
);
CREATE TABLE shop.visits (page text PRIMARY KEY, visits counter);
CREATE TABLE shop.odd (id text PRIMARY KEY, pair tuple<int, text>)
"""

SHOP_MODEL = """
model = "shop"

[table.shop]
key = ["pk", "sk"]
entity_attribute = "kind"
ttl = "expires"

[entity.order]
table = "shop"
key = { pk = "order#{customer}", sk = "{number:08}" }
attributes = { customer = "string", number = "integer" }

[entity.visits]
table = "shop"
key = { pk = "visits#{page}", sk = "visits" }
attributes = { page = "string", visits = "integer" }

[entity.odd]
table = "shop"
key = { pk = "odd#{id}", sk = "odd" }
attributes = { id = "string" }
"""

SHOP_MAPPING = """
model = "shop"

[[import]]
table = "shop.orders"
entity = "order"
write_time = "written"
expires = "expires"
columns = { customer = "customer", number = "number", note = "note", amount = "amount", paid = "paid", at = "at", tags = "tags", extras = "extras" }

[[import]]
table = "shop.visits"
entity = "visits"
write_time = "written"
columns = { page = "page", visits = "visits" }

[[import]]
table = "shop.odd"
entity = "odd"
columns = { id = "id", pair = "pair" }
"""


class Changes(ImportTest):
    @classmethod
    def setUpClass(cls):
        for statement in (SHOP % len(nodes.addresses)).split(";"):
            nodes.session.execute(statement)
        cls.insert = nodes.session.prepare(
            "INSERT INTO shop.orders (customer, number, note, amount, paid, at, tags, extras) VALUES (?, ?, ?, ?, ?, ?, ?, ?)")
        rows = (cls.row(number) for number in range(ROWS))
        began = time.monotonic()
        for done in execute_concurrent_with_args(nodes.session, cls.insert, rows, concurrency=100, results_generator=True):
            if not done.success:
                raise done.result_or_exc
        print(f"{ROWS} rows written to Cassandra in {time.monotonic() - began:.0f} s", flush=True)
        nodes.session.execute("UPDATE shop.visits SET visits = visits + 3 WHERE page = 'start'")
        nodes.session.execute("INSERT INTO shop.odd (id, pair) VALUES ('x', (1, null))")

    @staticmethod
    def row(number, note="first"):
        return (f"c{number % 997}", number, f"{note}, \"{number}\"", number * 5, number % 2 == 0, 1577734334500 + number,
                {f"t{number % 7}", "all"}, {"k": f"v{number}"})

    def in_cassandra(self):
        found = nodes.session.execute("SELECT customer, number, note, paid, tags, extras, ttl(note) AS ttl FROM shop.orders")
        return {(row.customer, row.number): row for row in found}

    def change(self, until):
        """Changes rows in every way until it is told to stop."""
        chance = random.Random(7)
        session, changed = nodes.session, 0
        while not until.is_set():
            number = chance.randrange(ROWS)
            key = (f"c{number % 997}", number)
            match chance.randrange(6):
                case 0: session.execute(self.insert, self.row(number, "changed"))
                case 1: session.execute("UPDATE shop.orders SET tags = tags + {'added'} WHERE customer = %s AND number = %s", key)
                case 2: session.execute("DELETE note FROM shop.orders WHERE customer = %s AND number = %s", key)
                case 3: session.execute("UPDATE shop.orders USING TTL 86400 SET note = 'for a day' WHERE customer = %s AND number = %s", key)
                case 4: session.execute("UPDATE shop.orders SET extras['more'] = 'x' WHERE customer = %s AND number = %s", key)
                case 5: session.execute(self.insert, self.row(ROWS + chance.randrange(ROWS), "new"))
            changed += 1
        return changed

    def kill_while_it_writes(self, mapping):
        child = subprocess.Popen([TRESTLE, "import", "cassandra", str(mapping), "--data", str(self.data), *live()],
                                 stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)
        for line in child.stderr:
            if "rows imported" in line:
                break
        child.kill()
        child.stderr.close()
        self.assertEqual(child.wait(30), -signal.SIGKILL, "it had ended before it was killed")

    def test_rows_that_change_during_the_import(self):
        (self.folder / "model.toml").write_text(SHOP_MODEL)
        mapping = self.folder / "mapping.toml"
        mapping.write_text(SHOP_MAPPING)
        self.apply(self.folder / "model.toml")
        stop, changes = threading.Event(), []
        writer = threading.Thread(target=lambda: changes.append(self.change(stop)))
        writer.start()
        try:
            for _ in range(2):
                self.kill_while_it_writes(mapping)
            done = self.run_trestle("import", "cassandra", mapping, "--data", self.data, "--json", "--no-verify", *live())
            self.assertTrue(json.loads(done.stdout.splitlines()[-1])["resumed"])
        finally:
            stop.set()
            writer.join()
        self.assertGreater(changes[0], 100)
        nodes.session.execute("UPDATE shop.visits SET visits = visits + 4 WHERE page = 'start'")
        # Rows that changed meanwhile are found by another run, and the comparison succeeds.
        caught_up = self.imported(mapping, *live())
        self.assertEqual((caught_up["order"]["collisions"], caught_up["visits"]["overwritten"]), (0, 1), caught_up)
        self.assertGreater(caught_up["order"]["overwritten"] + caught_up["order"]["inserted"], 0)
        self.compare()
        nothing = self.imported(mapping, *live())
        for of in nothing.values():
            self.assertEqual(of["unchanged"], of["rows"], of)
        print(f"{changes[0]} changes during the import; then {caught_up['order']}", flush=True)
        self.check_expiry(mapping)

    def compare(self):
        """Every row of the cluster is a row here, and none else."""
        stored = self.stored("shop")
        orders = {(row["customer"]["S"], int(row["number"]["N"])): row for row in stored if row["kind"]["S"] == "order"}
        theirs = self.in_cassandra()
        self.assertEqual(orders.keys(), theirs.keys())
        for key, row in theirs.items():
            ours = orders[key]
            self.assertEqual(ours.get("note", {}).get("S"), row.note, key)
            self.assertEqual(ours.get("paid", {}).get("BOOL"), row.paid, key)
            self.assertEqual(set(ours.get("tags", {}).get("SS", [])), set(row.tags or []), key)
            extras = ours.get("extras", {}).get("M", {})
            self.assertEqual({name: value["S"] for name, value in extras.items()}, dict(row.extras or {}), key)
            # Other cells of these rows do not expire, so the row does not expire either.
            self.assertNotIn("expires", ours, key)
        visits = next(row for row in stored if row["kind"]["S"] == "visits")
        self.assertEqual(visits["visits"]["N"], "7")
        odd = next(row for row in stored if row["kind"]["S"] == "odd")
        self.assertEqual(odd["pair"], {"L": [{"N": "1"}, {"NULL": True}]})

    def check_expiry(self, mapping):
        """A whole row with a time to live expires here, too."""
        written = time.time()
        nodes.session.execute(
            "INSERT INTO shop.orders (customer, number, note, paid, tags) VALUES ('ttl', 1, 'short', true, {'a'}) USING TTL 3600")
        self.assertEqual(self.imported(mapping, *live())["order"]["inserted"], 1)
        row = next(row for row in self.stored("shop") if row.get("customer", {}).get("S") == "ttl")
        self.assertAlmostEqual(int(row["expires"]["N"]), written + 3600, delta=60)
        time.sleep(2)
        again = self.imported(mapping, *live())["order"]
        self.assertEqual(again["unchanged"], again["rows"])

    def test_speed_and_memory(self):
        (self.folder / "model.toml").write_text(SHOP_MODEL)
        mapping = self.folder / "mapping.toml"
        mapping.write_text(SHOP_MAPPING)
        self.apply(self.folder / "model.toml")
        command = [TRESTLE, "import", "cassandra", str(mapping), "--data", str(self.data), "--json", "--skip-unfit", "--no-verify", *live()]
        child = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)
        # The peak of wait4 would include that of this process, which had all rows in memory.
        peaks = []
        watcher = threading.Thread(target=lambda: peaks.extend(peaks_of(child.pid)))
        watcher.start()
        told = json.loads(child.stdout.read().splitlines()[-1])
        child.stdout.close()
        watcher.join()
        _, status, usage = os.wait4(child.pid, 0)
        child.returncode = os.waitstatus_to_exitcode(status)
        self.assertEqual(child.returncode, 0)
        rows = sum(of["rows"] for of in told["imported"])
        print(f"{rows} rows in {told['seconds']:.1f} s, {rows / told['seconds']:.0f} a second, with the nodes on the same machine; "
              f"{peaks[-1] // 2**20} MB resident; {usage.ru_utime + usage.ru_stime:.1f} s of processor", flush=True)
        self.assertLess(peaks[-1], RESIDENT_BYTES_MAX)


if __name__ == "__main__":
    unittest.main()
