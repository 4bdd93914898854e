"""One process of a differential run: its own seed, its own tables, its own list of differences."""

import json
import random
import time

from . import known, requests, schema
from .exchange import Exchange
from .session import Session


class Difference:
    """One class of differences with its shortest example, and the numbers of the entries that explain it, if there are any."""

    def __init__(self, operation, ours, theirs, at, explained_by):
        self.operation, self.ours, self.theirs, self.at = operation, ours, theirs, at
        self.explained_by = explained_by
        self.count = 0
        self.example = None

    def add(self, exchange):
        self.count += 1
        text = json.dumps(exchange.request, ensure_ascii=True)
        if self.example is None or len(text) < len(self.example[0]):
            self.example = (text, answer_text(exchange.ours), answer_text(exchange.theirs))

    def merge(self, other):
        self.count += other.count
        if len(other.example[0]) < len(self.example[0]):
            self.example = other.example


def answer_text(outcome):
    return f"{outcome.said()} {json.dumps(outcome.body)}"[:700]


class Found:
    """The differences of a run by class, and their explanations."""

    def __init__(self, explanations):
        self.explanations = explanations
        self.by_class = {}

    def note(self, exchange):
        key = (
            exchange.operation,
            exchange.ours.template(exchange.tables),
            exchange.theirs.template(exchange.tables),
            exchange.where(),
            known.explain(self.explanations, exchange),
        )
        self.by_class.setdefault(key, Difference(*key)).add(exchange)


def tables_of(request, tables):
    text = json.dumps(request)
    return [table for table in tables if table.name in text]


def run(ours, theirs, seed, count, spoiled_share):
    """(requests sent, seconds, {class: Difference})"""
    chance = random.Random(seed)
    tables = schema.all_tables(f"d{seed}x{int(time.time() * 1000) % 10_000_000}")
    session = Session(ours, theirs, tables)
    session.create_tables()
    found = Found(known.load())
    started = time.monotonic()
    try:
        for _ in range(count):
            operation, request = requests.any_request(chance, tables, spoiled_share)
            step(session, operation, request, found)
        final_states(session, found)
    finally:
        session.delete_tables()
    return count, time.monotonic() - started, found.by_class


def step(session, operation, request, found):
    exchange = Exchange(operation, request, *session.outcomes(operation, request), session.tables)
    if exchange.is_alike():
        return
    found.note(exchange)
    if exchange.ours.error is None or exchange.theirs.error is None:
        # The servers may no longer hold the same rows, so that one difference would be reported many times.
        for table in tables_of(request, session.tables):
            session.wipe(table)


def final_states(session, found):
    """Compares the rows at the end, to find writes with equal answers that were stored differently."""
    for table in session.tables:
        request = {"TableName": table.name}
        exchange = Exchange("the rows left at the end", request, *session.outcomes("Scan", request), session.tables)
        if not exchange.is_alike():
            found.note(exchange)
