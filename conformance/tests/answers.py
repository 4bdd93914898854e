"""Answers as a server sends them, for tests that need no server."""

import json

from differential.exchange import Exchange
from differential.outcome import Outcome
from runner.wire import Answer


def success(body, status=200):
    return Outcome.of(Answer(status, [], json.dumps(body).encode()))


def failure(kind, message, status=400, **members):
    body = {"__type": f"com.amazonaws.dynamodb.v20120810#{kind}", "message": message, **members}
    return Outcome.of(Answer(status, [], json.dumps(body).encode()))


def cancelled(*reasons):
    """A cancelled transaction. Each reason has a code and may have a text."""
    listed = [{"Code": code, **({"Message": text} if text else {})} for code, text in reasons]
    codes = ", ".join(code for code, _ in reasons)
    message = f"Transaction cancelled, please refer cancellation reasons for specific reasons [{codes}]"
    return failure("TransactionCanceledException", message, CancellationReasons=listed)


def said(text, status=None):
    """An answer from the text of an entry: `ok`, or the kind of error and its message."""
    if text == "ok":
        return success({}, status or 200)
    kind, _, message = text.partition(": ")
    return failure(kind, message, status or 400)


def exchange(operation, ours, theirs, request=None, tables=()):
    return Exchange(operation, request or {}, ours, theirs, tables)
