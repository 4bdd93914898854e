"""The differences that are explained, each with who is right and why."""

import json
import pathlib
import re

FILE = pathlib.Path(__file__).resolve().parent / "known_differences.json"


class Known:
    """One explanation. Its patterns are searched for in the operation and in both kinds of answer."""

    def __init__(self, written):
        self.operation = re.compile(written.get("operation", ""))
        self.ours = re.compile(written.get("ours", ""))
        self.theirs = re.compile(written.get("theirs", ""))
        self.at = re.compile(written.get("at", ""))
        self.who_is_right = written["who_is_right"]
        self.why = written["why"]

    def explains(self, operation, ours, theirs, at):
        return bool(
            self.operation.search(operation)
            and self.ours.search(ours)
            and self.theirs.search(theirs)
            and self.at.search(at)
        )


def load(path=FILE):
    with open(path, encoding="utf-8") as file:
        return [Known(written) for written in json.load(file)["differences"]]
