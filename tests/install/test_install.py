"""Everything that is made from a release archive, installed as a user would, from local files. ARCHIVE names the archive.

`./test install` builds it first. Needs root (or a kernel that lets a user change the root directory), Node and Python.
"""

import contextlib
import hashlib
import json
import os
import pathlib
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time
import unittest
import urllib.error
import urllib.request

ARCHIVE = pathlib.Path(os.environ["ARCHIVE"]).resolve()
REPOSITORY = pathlib.Path(__file__).resolve().parents[2]
VERSION = ARCHIVE.name.split("-")[1]
CREATE = {
    "TableName": "notes",
    "BillingMode": "PAY_PER_REQUEST",
    "AttributeDefinitions": [{"AttributeName": "id", "AttributeType": "S"}],
    "KeySchema": [{"AttributeName": "id", "KeyType": "HASH"}],
}
NOTE = {"id": {"S": "1"}, "text": {"S": "kept"}}


def run(*command, **options):
    done = subprocess.run([str(word) for word in command], capture_output=True, text=True, timeout=300, **options)
    if done.returncode != 0:
        raise AssertionError(f"{command} ended with {done.returncode}:\n{done.stdout}{done.stderr}")
    return done.stdout


def free_port():
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


def call(port, operation, request):
    headers = {"X-Amz-Target": f"DynamoDB_20120810.{operation}", "Content-Type": "application/x-amz-json-1.0"}
    asked = urllib.request.Request(f"http://127.0.0.1:{port}/", json.dumps(request).encode(), headers)
    with urllib.request.urlopen(asked, timeout=10) as answer:
        return json.load(answer)


@contextlib.contextmanager
def serving(port, *command, **options):
    """A server that answers; it must stop by SIGTERM with exit code 0."""
    server = subprocess.Popen([str(word) for word in command], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, **options)
    try:
        for _ in range(150):
            try:
                call(port, "ListTables", {})
                break
            except (urllib.error.URLError, ConnectionError):
                if server.poll() is not None:
                    raise AssertionError(f"it ended with {server.returncode}: {server.stdout.read().decode()}") from None
                time.sleep(0.1)
        yield server
        server.send_signal(signal.SIGTERM)
        said = server.communicate(timeout=30)[0].decode()
        assert server.returncode == 0, f"it ended with {server.returncode}: {said}"
    finally:
        if server.poll() is None:
            server.kill()
        server.stdout.close()
        server.wait()


class Install(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.home = pathlib.Path(tempfile.mkdtemp())
        cls.addClassCleanup(shutil.rmtree, cls.home)
        run("tar", "-xzf", ARCHIVE, "-C", cls.home)
        (cls.unpacked,) = cls.home.iterdir()
        cls.program = cls.unpacked / "trestle"

    def folder(self, name):
        folder = self.home / name
        folder.mkdir()
        return folder

    def keeps_a_row(self, port, *command, **options):
        """Serves, writes, stops, serves again and reads."""
        with serving(port, *command, **options):
            call(port, "CreateTable", CREATE)
            call(port, "PutItem", {"TableName": "notes", "Item": NOTE})
        with serving(port, *command, **options):
            found = call(port, "GetItem", {"TableName": "notes", "Key": {"id": {"S": "1"}}})
            self.assertEqual(found, {"Item": NOTE})

    def test_the_archive_is_complete_and_its_checksum_right(self):
        sums = dict(reversed(line.split()) for line in (ARCHIVE.parent / "SHA256SUMS").read_text().splitlines())
        self.assertEqual(sums[ARCHIVE.name], hashlib.sha256(ARCHIVE.read_bytes()).hexdigest())
        names = {str(path.relative_to(self.unpacked)) for path in self.unpacked.rglob("*") if path.is_file()}
        for name in ["LICENSE-APACHE", "LICENSE-MIT", "README.md", "CHANGELOG.md", "trestle.service", "completions/trestle.bash",
                     "completions/_trestle", "completions/trestle.fish", "man/trestle.1.gz", "man/trestle-serve.1.gz"]:
            self.assertIn(name, names)
        # Relative links would be broken, in the archive and on the pages of npm and PyPI.
        self.assertNotRegex((self.unpacked / "README.md").read_text(), r"\]\((?!https?:)|cargo run")
        self.assertIn("\nfjall ", (self.unpacked / "THIRD-PARTY-LICENSES.txt").read_text())
        run("bash", "-n", self.unpacked / "completions/trestle.bash")
        self.assertIn("print-reference", run(self.program, "help", "print-reference"))
        self.assertNotIn("print-reference", (self.unpacked / "completions/trestle.bash").read_text())
        self.assertLess(self.program.stat().st_size, 25_000_000)

    def test_the_program_serves_on_an_empty_root_file_system(self):
        root, port = self.folder("root"), free_port()
        shutil.copy(self.program, root)
        (root / "data").mkdir()
        enter = ["chroot"] if os.getuid() == 0 else ["unshare", "--map-root-user", "chroot"]
        self.keeps_a_row(port, *enter, root, "/trestle", "serve", "--data", "/data", "--port", port)
        self.assertEqual({path.name for path in root.iterdir()}, {"trestle", "data"})
        agrees = run(*enter, root, "/trestle", "verify", "/data")
        self.assertIn("everything agrees: 1 table with 1 item", agrees)

    def test_the_systemd_unit_is_sound_and_exposes_little(self):
        if not shutil.which("systemd-analyze"):
            self.skipTest("needs systemd-analyze")
        unit = self.folder("unit") / "trestle.service"
        text = (self.unpacked / "trestle.service").read_text()
        unit.write_text(text.replace("/usr/local/bin/trestle", str(self.program)))
        run("systemd-analyze", "verify", "--man=no", unit)
        # 0 is closed, 10 open; a unit without hardening has 9.6.
        run("systemd-analyze", "security", "--offline=true", "--threshold=20", unit)

    def test_the_npm_package_runs_the_program(self):
        folder, port = self.folder("npm"), free_port()
        run(REPOSITORY / "packaging/npm/build", ARCHIVE, folder)
        run("npm", "install", "--offline", "--no-audit", "--no-fund", f"./trestle-{VERSION}.tgz", cwd=folder)
        self.assertEqual(run("npx", "--offline", "trestle", "--version", cwd=folder), f"trestle {VERSION}\n")
        refused = subprocess.run(["npx", "--offline", "trestle", "serve", "--no-such-flag"], cwd=folder, capture_output=True)
        self.assertEqual(refused.returncode, 2)
        launcher = folder / "node_modules/.bin/trestle"
        self.keeps_a_row(port, launcher, "serve", "--port", port, cwd=folder)

    def test_the_wheel_installs_the_program(self):
        folder, port = self.folder("pip"), free_port()
        run(sys.executable, REPOSITORY / "packaging/pip/build.py", ARCHIVE, folder)
        run(sys.executable, "-m", "venv", folder / "venv")
        run(folder / "venv/bin/pip", "install", "--no-index", "--find-links", folder, "trestle-db")
        program = folder / "venv/bin/trestle"
        self.assertEqual(run(program, "--version"), f"trestle {VERSION}\n")
        self.assertIn(f"Version: {VERSION}", run(folder / "venv/bin/pip", "show", "trestle-db"))
        self.keeps_a_row(port, program, "serve", "--port", port, cwd=folder)
        run(folder / "venv/bin/pip", "uninstall", "--yes", "trestle-db")
        self.assertFalse(program.exists())

    def test_the_container_image_serves_as_its_own_user(self):
        if not shutil.which("buildah") or os.getuid() != 0:
            self.skipTest("needs buildah, and root")
        folder, port = self.folder("container"), free_port()
        shutil.copy(self.program, folder)
        shutil.copy(REPOSITORY / "packaging/Containerfile", folder)
        (folder / "root/data").mkdir(parents=True)
        storage = ["--root", folder / "storage", "--runroot", folder / "run", "--storage-driver", "vfs"]
        buildah = lambda *words: run("buildah", *storage, *words).strip()  # noqa: E731
        buildah("build", "--isolation", "chroot", "--format", "docker", "--tag", "trestle", folder)
        image = json.loads(buildah("inspect", "--type", "image", "trestle"))["Docker"]["config"]
        self.assertEqual((image["User"], image["Entrypoint"], image["Cmd"]), ("65532:65532", ["/trestle"], ["serve"]))
        self.assertEqual(image["Healthcheck"]["Test"], ["CMD", "/trestle", "healthcheck"])
        self.assertIn("/data", image["Volumes"])
        container = buildah("from", "trestle")
        root = buildah("mount", container)
        self.assertEqual(os.stat(f"{root}/data").st_uid, 65532)
        # The image's file system, user and settings; without a container's network, which this check does not
        # need.
        environment = dict(entry.split("=", 1) for entry in image["Env"])
        user = ["chroot", "--userspec=65532:65532", root]
        refused = subprocess.run([*user, "/trestle", "serve"], env=environment, capture_output=True, text=True)
        self.assertEqual(refused.returncode, 4, refused.stderr)
        environment["TRESTLE__SERVER__PORT"] = str(port)
        serve = [*user, *image["Entrypoint"], *image["Cmd"], "--insecure"]
        with serving(port, *serve, env=environment):
            run(*user, *image["Healthcheck"]["Test"][1:], "--port", port)
        self.keeps_a_row(port, *serve, env=environment)
        buildah("rm", "--all")


if __name__ == "__main__":
    unittest.main()
