"""`trestle docs` at a desktop: the book in a browser."""

import contextlib
import os
import pathlib
import pty
import select
import subprocess
import tempfile
import unittest

ROOT = pathlib.Path(__file__).resolve().parents[3]
TRESTLE = pathlib.Path(os.environ.get("TRESTLE_PROGRAM", ROOT / "target" / "debug" / "trestle"))


class Book(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)
        opener = self.folder / "xdg-open"
        opener.write_text(f'#!/bin/sh\nprintf %s "$1" > {self.folder}/new && mv {self.folder}/new {self.folder}/opened\n')
        opener.chmod(0o755)

    def said(self, *words, desktop=":0"):
        """What the command says in a terminal."""
        environment = {**os.environ, "PATH": f"{self.folder}:{os.environ['PATH']}", "XDG_CACHE_HOME": str(self.folder / "cache")}
        environment |= {"DISPLAY": desktop, "WAYLAND_DISPLAY": ""}
        ours, theirs = pty.openpty()
        self.addCleanup(os.close, ours)
        with subprocess.Popen([TRESTLE, "docs", *words], env=environment, stdout=theirs) as command:
            os.close(theirs)
            shown = b"".join(self.read(ours)).decode()
        self.assertEqual(0, command.returncode, shown)
        return shown

    @staticmethod
    def read(terminal):
        """Until no process has the other end any more, which is an error of its own on Linux."""
        with contextlib.suppress(OSError):
            while select.select([terminal], [], [], 60)[0]:
                yield os.read(terminal, 4096)

    def opened(self):
        """The file that the desktop was asked to open."""
        asked = self.folder / "opened"
        for _ in range(600):
            if asked.exists():
                return pathlib.Path(asked.read_text())
            select.select([], [], [], 0.05)
        self.fail("nothing was opened")

    def test_a_page_opens_with_links_to_the_others(self):
        said = self.said("python")
        page = self.opened()
        self.assertIn(str(page), said)
        text = page.read_text()
        self.assertIn('<h1 id="five-minutes-with-python">', text)
        self.assertIn('<a href="install.html">', text)
        self.assertIn('<a href="../../COMPAT.html">', text)
        for other in ["install.html", "../index.html", "../../COMPAT.html", "../images/architecture.svg"]:
            self.assertTrue((page.parent / other).exists(), other)

    def test_the_first_page_is_the_index(self):
        self.said()
        self.assertEqual("index.html", self.opened().name)

    def test_without_a_desktop_or_with_the_flag_a_page_is_printed(self):
        self.assertIn("# Five minutes with Python", self.said("python", desktop=""))
        self.assertIn("# Five minutes with Python", self.said("python", "--print"))
        self.assertFalse((self.folder / "cache").exists())


if __name__ == "__main__":
    unittest.main()
