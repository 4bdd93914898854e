"""The guides in docs/, followed to the letter: every command is run, and what it says it prints is looked for.

A fence names what its block is: `sh` is run, in one shell from the first to the last; `sh serve` runs beside it, as does
`sh serve PORT`, at which the guide expects it (8000 unless given); `sh setup` is what this test has done already; `toml NAME`,
`python NAME` and `javascript NAME` are files; `text` is what the block before it prints, where `…` stands for anything; `console` is not run.
"""

import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile
import unittest

ROOT = pathlib.Path(__file__).resolve().parents[3]
PROGRAM = pathlib.Path(os.environ.get("TRESTLE_PROGRAM", ROOT / "target" / "debug" / "trestle"))
MARK = "@@ block"


def blocks(text):
    """(what stands behind the fence, the lines between fences), in order."""
    return re.findall(r"^```([^\n]+)\n(.*?)^```$", text, re.MULTILINE | re.DOTALL)


def lines(text):
    """Lines without what is only there for the eye."""
    return [re.sub(" +", " ", line.rstrip()) for line in text.splitlines() if line.strip()]


def pattern(line):
    return re.compile(".*".join(re.escape(part) for part in line.split("…")))


class Guide(unittest.TestCase):
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
        # The addresses that the guide has, and those that were free.
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
        announced = server.stdout.readline()
        self.assertRegex(announced, "http://127.0.0.1:[0-9]+")
        self.addresses[f"http://127.0.0.1:{port}"] = re.search("http://127.0.0.1:[0-9]+", announced).group()

    def at_home(self, text):
        """The text with the addresses that were free."""
        for expected, found in self.addresses.items():
            text = text.replace(expected, found)
        return text

    def test_every_command_of_five_minutes_with_python_prints_what_it_says(self):
        self.follow("start/python.md")

    def test_every_command_of_five_minutes_with_javascript_prints_what_it_says(self):
        (self.folder / "node_modules").symlink_to(ROOT / ".test-env" / "node" / "node_modules")
        self.follow("start/javascript.md")

    def test_every_command_of_a_first_migration_prints_what_it_says(self):
        self.follow("migrate/tutorial.md")

    def test_every_command_of_a_model_in_ten_minutes_prints_what_it_says(self):
        self.follow("model/ten-minutes.md")

    def test_every_command_of_the_search_by_tags_prints_what_it_says(self):
        self.follow("model/search-by-tags.md")

    def test_every_command_of_a_gateway_before_dynamodb_prints_what_it_says(self):
        self.follow("remote/gateway.md")

    def test_every_command_of_a_copy_prints_what_it_says(self):
        self.follow("remote/copy.md")

    def test_every_command_from_a_write_to_a_webhook_prints_what_the_guide_says(self):
        self.follow("events/guide.md")

    def follow(self, guide):
        script, promised = [], []
        for name, text in blocks((ROOT / "docs" / guide).read_text()):
            match name.split():
                case ["toml" | "python" | "javascript", file]:
                    (self.folder / file).write_text(self.at_home(text))
                case ["sh"]:
                    script.append(f"echo '{MARK}'\n{text}")
                    promised.append([])
                case ["sh", "serve", *port]:
                    self.serve(self.at_home(text.strip()), *port or ["8000"])
                case ["text"]:
                    promised[-1] = lines(self.at_home(text))
                case ["console"]:
                    pass
                case other:
                    self.assertEqual(["sh", "setup"], other)
        # A command may fail where the guide shows how; where it shows nothing, all is well.
        checked = [text if said else f"{text}\n[ $? -eq 0 ] || exit 1" for text, said in zip(script, promised)]
        whole = "\n".join(["set -u", "exec 2>&1", *checked, "exit 0"])
        done = subprocess.run(
            ["bash", "-c", self.at_home(whole)], cwd=self.folder, env=self.environment, capture_output=True, text=True, timeout=120
        )
        self.assertEqual(0, done.returncode, done.stdout)
        printed = [lines(part) for part in done.stdout.split(MARK)[1:]]
        self.assertEqual(len(promised), len(printed))
        for expected, found in zip(promised, printed):
            rest = iter(found)
            for line in expected:
                wanted = pattern(line)
                self.assertTrue(any(wanted.fullmatch(candidate) for candidate in rest), f"{line}\nis not in\n" + "\n".join(found))


if __name__ == "__main__":
    unittest.main()
