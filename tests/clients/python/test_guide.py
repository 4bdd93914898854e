"""The documents, followed to the letter: every command is run, and what it says it prints is looked for.

A fence names what its block is: `sh` is run, in one shell from the first to the last; `sh serve` runs beside it, as does
`sh serve PORT`, at which the guide expects it (8000 unless given); `sh setup` is what this test has done already; `sh not-run: REASON`
cannot be run here; `toml NAME`, `python NAME`, `javascript NAME` and `rust NAME` are files; `text` is what the block before it prints,
where `…` stands for anything; `console` and blocks without a name are only shown. `cargo xtask tidy` finds `sh` blocks that are neither
followed nor have a reason.
"""

import json
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile
import threading
import unittest
import urllib.request

ROOT = pathlib.Path(__file__).resolve().parents[3]
PROGRAM = pathlib.Path(os.environ.get("TRESTLE_PROGRAM", ROOT / "target" / "debug" / "trestle"))
MARK = "@@ block"
# For a demonstration, too, which writes its sample data first.
SECONDS_TO_START = 120


def blocks(text):
    """(what stands behind the fence, the lines between fences), in order."""
    return re.findall(r"^```([^\n]+)\n(.*?)^```$", text, re.MULTILINE | re.DOTALL)


def lines(text):
    """Lines without what is only there for the eye."""
    return [re.sub(" +", " ", line.rstrip()) for line in text.splitlines() if line.strip()]


def pattern(line):
    return re.compile(".*".join(re.escape(part) for part in line.split("…")))


class Followed(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)
        bin_folder = self.folder / "bin"
        bin_folder.mkdir()
        (bin_folder / "trestle").symlink_to(PROGRAM)
        # The test environment's own aws, wherever the interpreter of this test lives.
        aws = shutil.which("aws", path=os.path.dirname(sys.executable)) or shutil.which("aws")
        (bin_folder / "aws").symlink_to(aws)
        kept = {name: value for name, value in os.environ.items() if not name.startswith(("AWS_", "TRESTLE_"))}
        path = f"{bin_folder}:{os.path.dirname(sys.executable)}:{os.environ['PATH']}"
        self.environment = {**kept, "PATH": path, "TRESTLE__SERVER__PORT": "0", "PORT": "0"}
        # Addresses and paths of the guide, and those of this test.
        self.addresses = {}

    def serve(self, command, port):
        """Starts what the guide starts in another terminal, where it finds a free port."""
        command = command.replace(f"--port {port}", "--port 0")
        server = subprocess.Popen(
            ["sh", "-c", f"exec {command}"], cwd=self.folder, env=self.environment, stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL, text=True,
        )  # fmt: skip
        self.addCleanup(server.wait, 30)
        self.addCleanup(server.stdout.close)
        self.addCleanup(server.kill)
        # A demonstration prints what it does before its address. One that prints none is ended, and with it the loop.
        limit = threading.Timer(SECONDS_TO_START, server.kill)
        limit.start()
        self.addCleanup(limit.cancel)
        found = next(filter(None, (re.search("http://127.0.0.1:[0-9]+", line) for line in server.stdout)), None)
        limit.cancel()
        self.assertIsNotNone(found, f"`{command}` printed no address")
        self.addresses[f"http://127.0.0.1:{port}"] = found.group()
        return server

    def at_home(self, text):
        """The text with the addresses and paths of this test."""
        for expected, found in self.addresses.items():
            text = text.replace(expected, found)
        return text

    def follow(self, guide, seconds=120):
        script, promised = [], []
        for name, text in blocks((ROOT / guide).read_text()):
            match name.split():
                case ["toml" | "python" | "javascript" | "rust", file]:
                    path = self.folder / file
                    path.parent.mkdir(parents=True, exist_ok=True)
                    path.write_text(self.at_home(text))
                case ["sh"]:
                    script.append(f"echo '{MARK}'\n{text}")
                    promised.append([])
                case ["sh", "serve", *port]:
                    self.serve(self.at_home(text.strip()), *port or ["8000"])
                case ["text"]:
                    promised[-1] = lines(self.at_home(text))
                case ["console"] | ["sh", "not-run:", *_] | ["toml" | "python" | "rust" | "nginx" | "json" | "yaml"]:
                    pass
                case other:
                    self.assertEqual(["sh", "setup"], other)
        # A command may fail where the guide shows how; where the guide shows no output, anything is accepted.
        checked = [text if said else f"set -e\n{text}\nset +e" for text, said in zip(script, promised)]
        whole = "\n".join(["set -u", "exec 2>&1", *checked, "exit 0"])
        done = subprocess.run(
            ["bash", "-c", self.at_home(whole)], cwd=self.folder, env=self.environment, capture_output=True, text=True, timeout=seconds
        )
        self.assertEqual(0, done.returncode, done.stdout)
        printed = [lines(part) for part in done.stdout.split(MARK)[1:]]
        self.assertEqual(len(promised), len(printed))
        for expected, found in zip(promised, printed):
            rest = iter(found)
            for line in expected:
                wanted = pattern(line)
                self.assertTrue(any(wanted.fullmatch(candidate) for candidate in rest), f"{line}\nis not in\n" + "\n".join(found))


class Guide(Followed):
    """Tutorials: each begins in an empty folder."""

    def test_every_command_of_five_minutes_with_python_prints_what_it_says(self):
        self.follow("docs/start/python.md")

    def test_every_command_of_five_minutes_with_javascript_prints_what_it_says(self):
        (self.folder / "node_modules").symlink_to(ROOT / ".test-env" / "node" / "node_modules")
        self.follow("docs/start/javascript.md")

    def test_every_command_of_five_minutes_with_rust_prints_what_it_says(self):
        self.addresses["../trestle/"] = f"{ROOT}/"
        # Packages that the checkout has compiled are not compiled again: the same versions, settings and folder.
        shutil.copy(ROOT / "Cargo.lock", self.folder)
        shutil.copytree(ROOT / ".cargo", self.folder / ".cargo")
        self.environment.update(
            CARGO_TARGET_DIR=str(ROOT / "target"), CARGO_INCREMENTAL="0", CARGO_PROFILE_DEV_DEBUG="line-tables-only"
        )
        self.follow("docs/start/rust.md", seconds=900)

    def test_every_command_of_a_first_migration_prints_what_it_says(self):
        self.follow("docs/migrate/tutorial.md")

    def test_every_command_of_a_model_in_ten_minutes_prints_what_it_says(self):
        self.follow("docs/model/ten-minutes.md")

    def test_every_command_of_the_search_by_tags_prints_what_it_says(self):
        self.follow("docs/model/search-by-tags.md")

    def test_every_command_of_a_gateway_before_dynamodb_prints_what_it_says(self):
        self.follow("docs/remote/gateway.md")

    def test_every_command_of_a_copy_prints_what_it_says(self):
        self.follow("docs/remote/copy.md")

    def test_every_command_from_a_write_to_a_webhook_prints_what_the_guide_says(self):
        self.follow("docs/events/guide.md")


class Reference(Followed):
    """Pages that begin in the middle: each test makes the files, rows and servers that the page takes for granted."""

    def setUp(self):
        super().setUp()
        self.environment.update(
            AWS_REGION="us-east-1", AWS_DEFAULT_REGION="us-east-1", AWS_ACCESS_KEY_ID="any", AWS_SECRET_ACCESS_KEY="any", AWS_PAGER=""
        )

    def file_of(self, page, name, as_name=None):
        """Saves a file that another page shows."""
        found = dict(blocks((ROOT / page).read_text()))
        (self.folder / (as_name or name)).write_text(found[f"toml {name}"])

    def run_here(self, *command):
        done = subprocess.run(command, cwd=self.folder, env=self.environment, capture_output=True, text=True, timeout=120)
        self.assertEqual(0, done.returncode, done.stderr)

    def serving(self, *flags):
        """A server at the address that pages have, in memory; commands find it."""
        self.serve("trestle serve --in-memory --port 8000 " + " ".join(flags), "8000")

    def serve(self, command, port):
        server = super().serve(command, port)
        if port == "8000":
            self.environment["AWS_ENDPOINT_URL_DYNAMODB"] = self.addresses["http://127.0.0.1:8000"]
        return server

    def call(self, operation, **body):
        headers = {"X-Amz-Target": f"DynamoDB_20120810.{operation}", "Content-Type": "application/x-amz-json-1.0"}
        request = urllib.request.Request(self.environment["AWS_ENDPOINT_URL_DYNAMODB"], json.dumps(body).encode(), headers)
        with urllib.request.urlopen(request, timeout=60) as answer:
            return json.load(answer)

    def table(self, name, *keys, stream=False, items=()):
        """A table with string keys, and rows of strings."""
        settings = {"StreamEnabled": True, "StreamViewType": "NEW_AND_OLD_IMAGES"} if stream else {"StreamEnabled": False}
        self.call(
            "CreateTable", TableName=name, BillingMode="PAY_PER_REQUEST", StreamSpecification=settings,
            AttributeDefinitions=[{"AttributeName": key, "AttributeType": "S"} for key in keys],
            KeySchema=[{"AttributeName": key, "KeyType": kind} for key, kind in zip(keys, ["HASH", "RANGE"])],
        )  # fmt: skip
        for item in items:
            self.put(name, **item)

    def put(self, table, **item):
        self.call("PutItem", TableName=table, Item={name: {"S": value} for name, value in item.items()})

    def directory(self, name, model):
        """A data directory with a model, which no server has open."""
        self.run_here("trestle", "model", "apply", model, "--data", name)

    def test_every_command_about_queues_runs(self):
        self.environment["TRESTLE__CLOCK__VIRTUAL"] = "true"
        self.follow("docs/events/queues.md")

    def test_every_command_about_migrations_runs(self):
        self.file_of("docs/migrate/tutorial.md", "shop.toml")
        self.file_of("docs/migrate/tutorial.md", "shop-2.toml", "new.toml")
        self.serving("--model shop.toml")
        for first in range(0, 2000, 25):
            orders = [{"customer": {"S": f"c{n % 100}"}, "number": {"N": str(n)}} for n in range(first, first + 25)]
            self.call("BatchWriteItem", RequestItems={"shop": [{"PutRequest": {"Item": order}} for order in orders]})
        self.follow("docs/migrate/migrations.md")

    def test_every_command_about_reindexes_runs(self):
        routes = """
            [route.search-index]
            table = "works"
            include_maintenance = true
            target = { command = ["sh", "-c", "cat > /dev/null"] }
        """
        (self.folder / "routes.toml").write_text(routes)
        (self.folder / "ids-in-the-index.txt").write_text("w1\n")
        (self.folder / "missing.txt").write_text("w2\n")
        works = [{"id": f"w{n}"} for n in range(300)]
        # The route and its table are stored in the directory, which the server then leaves.
        server = self.serve("trestle serve --data trestle-data --allow-command-routes --port 8000", "8000")
        self.table("works", "id", stream=True, items=works)
        self.run_here("trestle", "routes", "apply", "routes.toml")
        server.terminate()
        self.assertEqual(0, server.wait(60))
        self.serving("--allow-command-routes")
        self.table("works", "id", stream=True, items=works)
        self.table("works-index", "sourceId", items=[{"sourceId": "w1"}])
        self.run_here("trestle", "routes", "apply", "routes.toml")
        self.follow("docs/migrate/reindex.md")

    def test_every_command_about_models_runs(self):
        self.file_of("docs/model/ten-minutes.md", "layers.toml")
        self.directory("trestle-data", "layers.toml")
        self.environment["TRESTLE__STORAGE__IN_MEMORY"] = "true"
        self.follow("docs/model/apply.md")

    def test_every_command_about_discovery_runs(self):
        shutil.copy(ROOT / "crates/discover/tests/it/data/lending.json", self.folder / "Shop.json")
        orders = [{"pk": f"customer#{name}", "sk": "order#1", "customer": name} for name in ["ada", "bob", "eve"]]
        server = self.serve("trestle serve --data trestle-data --port 8000", "8000")
        self.table("orders", "pk", "sk", items=orders)
        server.terminate()
        self.assertEqual(0, server.wait(60))
        self.serving()
        self.table("orders", "pk", "sk", items=orders)
        self.follow("docs/model/discover.md")

    def test_every_command_about_backups_runs(self):
        self.file_of("docs/model/ten-minutes.md", "layers.toml")
        self.directory("trestle-data", "layers.toml")
        shutil.copytree(self.folder / "trestle-data", self.folder / "copy")
        (self.folder / "backups").mkdir()
        self.serving()
        self.follow("docs/operate/backup.md")

    def test_every_command_about_running_runs(self):
        shutil.copy(ROOT / "crates/trestle/examples/shop.toml", self.folder)
        self.serving("--model shop.toml")
        self.put("shop", kind="customer", customer="ada", name="Ada", email="ada@example.com")
        self.follow("docs/operate/running.md")

    def test_every_command_about_upgrades_runs(self):
        self.serving()
        self.run_here("trestle", "backup", "--to", "before-upgrade.backup")
        self.follow("docs/operate/upgrade.md")

    def test_every_command_about_the_console_runs(self):
        self.follow("docs/operate/console.md")

    def test_every_command_about_the_administration_runs(self):
        self.file_of("docs/migrate/tutorial.md", "shop.toml")
        self.serving()
        self.follow("docs/reference/administration.md")

    def test_every_command_about_routes_runs(self):
        self.serving("--allow-command-routes")
        self.table("layers", "id", stream=True, items=[{"id": "l1"}])
        routes = '[route.layer_expired]\ntable = "layers"\ntarget = { command = ["sh", "-c", "cat > /dev/null"] }\n'
        (self.folder / "routes.toml").write_text(routes)
        self.run_here("trestle", "routes", "apply", "routes.toml")
        self.follow("docs/reference/routes.md")

    def test_every_command_about_the_model_file_runs(self):
        page = (ROOT / "docs/reference/model-file.md").read_text()
        releases = next(text for name, text in blocks(page) if name == "toml" and 'model = "releases"' in text)
        (self.folder / "releases.toml").write_text(releases)
        self.serving("--model releases.toml")
        for version in ["1.9.0", "1.10.0"]:
            self.put("releases", kind="build", name="shop", env="prod", version=version, locale="de", url=f"{version}.js")
        self.put("releases", kind="release", name="shop", env="prod", version="1.9.0")
        self.follow("docs/reference/model-file.md")

    def test_every_command_about_the_import_from_cassandra_runs(self):
        self.run_here(sys.executable, str(ROOT / "scripts/make_cassandra_export.py"), "200", ".")
        self.follow("docs/remote/import-cassandra.md")

    def test_every_command_of_manhunt_runs(self):
        self.application("manhunt")
        self.follow("apps/manhunt/README.md")

    def test_every_command_of_littlehorse_runs(self):
        self.application("littlehorse")
        self.follow("apps/littlehorse/README.md")

    def test_every_command_of_reindexer_runs(self):
        self.application("reindexer")
        self.follow("apps/reindexer/README.md")

    def test_every_command_of_klayers_runs(self):
        self.application("klayers", "first_layout", "import")
        for folder in ["apps", "models"]:
            (self.folder / folder).symlink_to(ROOT / folder)
        self.follow("apps/klayers/README.md", seconds=600)

    def test_every_command_of_warehouse_runs(self):
        self.application("warehouse")
        self.follow("apps/warehouse/README.md")

    def application(self, name, *examples):
        """An application of the checkout, as it was built, on a free port."""
        program = PROGRAM.parent / name
        command = f"cargo run -p trestle-app-{name}"
        self.addresses[f"{command} -- serve"] = f"{program} serve --port 0"
        self.addresses[f"{command} -- demo"] = f"{program} demo"
        for example in examples:
            self.addresses[f"{command} --example {example} --"] = str(program.parent / "examples" / example)
        (self.folder / "bin" / name).symlink_to(program)

    def test_every_command_of_the_readme_runs(self):
        self.serving()
        self.follow("README.md")


if __name__ == "__main__":
    unittest.main()
