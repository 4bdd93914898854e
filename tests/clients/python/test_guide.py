"""docs/model-in-ten-minutes.md, followed to the letter: every command is run, and what it says it prints is looked for.

A fence names what its block is: `sh` is run, in one shell from the first to the last; `sh serve` runs beside it; `sh setup`
is what this test has done already; `toml NAME` is a file; `text` is what the block before it prints, where `…` stands for
anything.
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
GUIDE = ROOT / "docs" / "model-in-ten-minutes.md"
PROGRAM = pathlib.Path(os.environ.get("TRESTLE_PROGRAM", ROOT / "target" / "debug" / "trestle"))
MARK = "@@ block"


def blocks(text):
    """(what stands behind the fence, the lines between fences), in order."""
    return re.findall(r"^```([^\n]+)\n(.*?)^```$", text, re.MULTILINE | re.DOTALL)


def lines(text):
    """Lines without what is only there for the eye."""
    return [line.rstrip() for line in text.splitlines() if line.strip()]


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
        self.environment = {**kept, "PATH": f"{bin_folder}:{os.environ['PATH']}", "TRESTLE__SERVER__PORT": "0"}

    def serve(self, command):
        """Starts what the guide starts in a second terminal; the address it was given."""
        server = subprocess.Popen(
            ["sh", "-c", f"exec {command}"], cwd=self.folder, env=self.environment, stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL, text=True,
        )  # fmt: skip
        self.addCleanup(server.wait, 30)
        self.addCleanup(server.stdout.close)
        self.addCleanup(server.kill)
        announced = server.stdout.readline()
        self.assertRegex(announced, "http://127.0.0.1:[0-9]+")
        return re.search("http://127.0.0.1:[0-9]+", announced).group()

    def test_every_command_prints_what_the_guide_says(self):
        script, promised, address = [], [], None
        for name, text in blocks(GUIDE.read_text()):
            match name.split():
                case ["toml", file]:
                    (self.folder / file).write_text(text)
                case ["sh"]:
                    script.append(f"echo '{MARK}'\n{text}")
                    promised.append([])
                case ["sh", "serve"]:
                    address = self.serve(text.strip())
                case ["text"]:
                    promised[-1] = lines(text)
                case other:
                    self.assertEqual(["sh", "setup"], other)
        # A command may fail where the guide shows how; where it shows nothing, all is well.
        checked = [text if said else f"{text}\n[ $? -eq 0 ] || exit 1" for text, said in zip(script, promised)]
        whole = "\n".join(["set -u", "exec 2>&1", *checked, "exit 0"])
        whole = whole.replace("http://127.0.0.1:8000", address)
        done = subprocess.run(
            ["bash", "-c", whole], cwd=self.folder, env=self.environment, capture_output=True, text=True, timeout=120
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
