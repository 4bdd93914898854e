"""One process of a differential run: its own seed, its own tables, its own list of differences."""

import json
import random
import re
import time

from . import requests, schema
from .outcome import places, shorten
from .session import Session

CLAUSE = re.compile(r"\b(?:SET|REMOVE|ADD|DELETE)\b")


class Difference:
    """One class of differences with its shortest example."""

    def __init__(self, operation, ours, theirs, at):
        self.operation, self.ours, self.theirs, self.at = operation, ours, theirs, at
        self.count = 0
        self.example = None

    def add(self, request, ours, theirs):
        self.count += 1
        text = json.dumps(request, ensure_ascii=True)
        if self.example is None or len(text) < len(self.example[0]):
            self.example = (text, answer_text(ours), answer_text(theirs))

    def merge(self, other):
        self.count += other.count
        if len(other.example[0]) < len(self.example[0]):
            self.example = other.example


def answer_text(outcome):
    said = outcome.message if outcome.error else ""
    return f"{outcome.error or 'ok'} {said} {json.dumps(outcome.body)}"[:700]


def has_several_actions(request):
    """Whether an update can have more than one fault that only the row shows."""
    expression = re.sub(r"\([^()]*\)", "", str(request.get("UpdateExpression", "")))
    return expression.count(",") + len(CLAUSE.findall(expression)) > 1


def compare(operation, request, ours, theirs, tables):
    """None, or the key of the class of difference."""
    templates = ours.template(tables), theirs.template(tables)
    if ours.error != theirs.error or ours.message != theirs.message:
        if templates[0] == templates[1]:
            return operation, *templates, "details of the message"
        return operation, *templates, "several actions" if has_several_actions(request) else ""
    if ours.body != theirs.body:
        return operation, *templates, shorten(places(ours.body, theirs.body))
    return None


def tables_of(request, tables):
    text = json.dumps(request)
    return [table for table in tables if table.name in text]


def run(ours, theirs, seed, count, spoiled_share):
    """(requests sent, seconds, {key: Difference})"""
    chance = random.Random(seed)
    tables = schema.all_tables(f"d{seed}x{int(time.time() * 1000) % 10_000_000}")
    session = Session(ours, theirs, tables)
    session.create_tables()
    found = {}
    started = time.monotonic()
    try:
        for _ in range(count):
            operation, request = requests.any_request(chance, tables, spoiled_share)
            step(session, operation, request, found)
        final_states(session, found)
    finally:
        session.delete_tables()
    return count, time.monotonic() - started, found


def step(session, operation, request, found):
    ours, theirs = session.outcomes(operation, request)
    key = compare(operation, request, ours, theirs, session.tables)
    if key is None:
        return
    note(found, key, request, ours, theirs)
    if ours.error is None or theirs.error is None:
        # The two may no longer have the same rows, and then one difference would be reported many times.
        for table in tables_of(request, session.tables):
            session.wipe(table)


def note(found, key, request, ours, theirs):
    if key not in found:
        found[key] = Difference(*key)
    found[key].add(request, ours, theirs)


def final_states(session, found):
    """A write that was answered alike but stored differently shows here."""
    for table in session.tables:
        request = {"TableName": table.name}
        ours, theirs = session.outcomes("Scan", request)
        if ours.body != theirs.body:
            note(found, ("the rows left at the end", "ok", "ok", shorten(places(ours.body, theirs.body))), request, ours, theirs)
