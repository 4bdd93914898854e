"""The answer of one server, in a form in which two servers can be compared."""

import decimal
import json
import re

PRECISE = decimal.Context(prec=60)
PREFIX = re.compile(r"^\d+ validation errors? detected: ")
SETS = ("SS", "NS", "BS")
# Members of an error that are compared separately.
MESSAGE = ("__type", "message", "Message")
# Reasons whose text adds nothing to the code. DynamoDB Local ends the text with a full stop.
PLAIN_REASONS = ("None", "ConditionalCheckFailed: The conditional request failed", "ConditionalCheckFailed: The conditional request failed.")


class Outcome:
    """An answer. `error` is None for a success, otherwise the exception's name; `message` is its text."""

    def __init__(self, status, error, message, body):
        self.status = status
        self.error = error
        self.message = message
        self.body = body

    @classmethod
    def of(cls, answer):
        if answer.error is None:
            return cls(answer.status, None, "", canonical(answer.body))
        extra = {}
        if isinstance(answer.body, dict):
            extra = {k: v for k, v in answer.body.items() if k not in MESSAGE}
        return cls(answer.status, answer.error, PREFIX.sub("", answer.message or ""), canonical(extra))

    def said(self):
        """The kind of error and its text; for a cancelled transaction also the reasons, except for failed conditions."""
        if self.error is None:
            return "ok"
        reasons = [text for text in map(reason_text, self.reasons()) if text not in PLAIN_REASONS]
        return "; ".join([f"{self.error}: {self.message}", *reasons])

    def reasons(self):
        return self.body.get("CancellationReasons", []) if self.error else []

    def items(self):
        """The members of an error that contain rows."""
        return {name: value for name, value in self.body.items() if name != "CancellationReasons"}

    def template(self, tables):
        """The kind of answer, without the details of this request."""
        return general(self.said(), tables)

    def same_as(self, other):
        return (self.status, self.error, self.message, self.body) == (other.status, other.error, other.message, other.body)


def reason_text(reason):
    """The reason for which one action of a transaction failed; the code `None` if it did not fail."""
    code = reason.get("Code", "no code")
    return f"{code}: {reason['Message']}" if "Message" in reason else code


def canonical(node):
    """Sorts sets and normalises numbers; everything else stays unchanged.

    DynamoDB Local returns numbers as they were written, and AWS does not. The conformance cases check the numbers of our server.
    """
    if isinstance(node, list):
        return [canonical(child) for child in node]
    if not isinstance(node, dict):
        return node
    if len(node) == 1:
        (kind, inner), = node.items()
        if kind == "N" and isinstance(inner, str):
            return {"N": number(inner)}
        if kind in SETS and isinstance(inner, list):
            return {kind: sorted(number(member) if kind == "NS" else member for member in inner)}
    return {name: canonical(child) for name, child in node.items()}


def number(text):
    try:
        return format(decimal.Decimal(text).normalize(PRECISE), "f")
    except decimal.InvalidOperation:
        return text


def general(message, tables):
    """A message with names, values and positions replaced, so that messages of one kind are equal."""
    for table in tables:
        message = message.replace(table.name, "T")
    message = re.sub(r"(can't be processed: ).*", r"\1…", message, flags=re.DOTALL)
    message = re.sub(r'"(?:[^"\\]|\\.)*"', '"…"', message)
    message = re.sub(r"(Value )'.*?'( at)", r"\1'…'\2", message, flags=re.DOTALL)
    message = re.sub(r"\{[^{}]*\}", "{…}", message)
    message = re.sub(r"\[[^\[\]]*\]", "[…]", message)
    message = re.sub(r"(?<=: )([:#]?)[\w.\[\]]+(?=,|$|;)", r"\1…", message)
    message = re.sub(r"-?\d[\d.eE+-]*", "0", message)
    return message[:220]


def places(ours, theirs, path=""):
    """The paths at which two bodies differ, without positions: {"Items[].m", …}."""
    if isinstance(ours, dict) and isinstance(theirs, dict):
        found = set()
        for name in ours.keys() | theirs.keys():
            if name not in ours or name not in theirs:
                side = "theirs only" if name not in ours else "ours only"
                found.add(f"{path}.{name} ({side})")
            else:
                found |= places(ours[name], theirs[name], f"{path}.{name}")
        return found
    if isinstance(ours, list) and isinstance(theirs, list):
        if len(ours) != len(theirs):
            return {f"{path}[] (length)"}
        found = set()
        for left, right in zip(ours, theirs):
            found |= places(left, right, f"{path}[]")
        return found
    return set() if ours == theirs else {path}


def shorten(found):
    """Reduces paths to the outermost members, so that attribute names do not split a class of differences."""
    kept = set()
    for path in found:
        head = re.match(r"\.[A-Za-z]+(\[\])?(\.(Item|Code|Message|CapacityUnits|Table|GlobalSecondaryIndexes|LocalSecondaryIndexes)\b)?", path)
        kept.add((head[0] if head else path) + (" (only one)" if "only)" in path else ""))
    return ", ".join(sorted(kept))


def sort_by_text(items):
    return sorted(items, key=lambda item: json.dumps(item, sort_keys=True))
