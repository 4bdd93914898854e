"""Reads case files and runs them, one case after another. Each case has its own tables and queues."""

import base64
import gzip
import json
import re
import time
import uuid

from . import matching, queues, streams, tables, wire

FULL_TYPE = {
    "ValidationException": "com.amazon.coral.validate#ValidationException",
    "SerializationException": "com.amazon.coral.service#SerializationException",
    "UnknownOperationException": "com.amazon.coral.service#UnknownOperationException",
    "MissingAuthenticationTokenException": "com.amazon.coral.service#MissingAuthenticationTokenException",
    "IncompleteSignatureException": "com.amazon.coral.service#IncompleteSignatureException",
}
CAPITAL_MESSAGE = {"SerializationException", "TransactionCanceledException"}
CALLS = ("call", "http", "queue", "query")
STREAM_STEPS = {"records", "records_from", "latest"}
READ_CLOCK = "/_trestle/read-clock"
ADMIN = {"Content-Type": "application/json", "X-Trestle-Admin": "1"}
CLOCK = "the virtual clock"
QUEUES = "queues"
UNTIL_SECONDS = 20


def full_type(short):
    return FULL_TYPE.get(short, f"com.amazonaws.dynamodb.v20120810#{short}")


def substitute(value, names):
    """Replaces "${name}" everywhere; a string that is nothing else takes the saved value with its type.

    "${now+100}" is a hundred seconds after the case began, by the server's clock.
    """
    if isinstance(value, str):
        whole = re.fullmatch(r"\$\{(\w+)\}", value)
        if whole and whole[1] in names:
            return names[whole[1]]
        value = re.sub(r"\$\{now\+(\d+)\}", lambda m: str(names["now"] + int(m[1])), value)
        return re.sub(r"\$\{(\w+)\}", lambda m: str(names.get(m[1], m[0])), value)
    if isinstance(value, list):
        return [substitute(element, names) for element in value]
    if isinstance(value, dict):
        return {substitute(name, names): substitute(element, names) for name, element in value.items()}
    return value


def expand(value):
    """Makes a request from its written form, which may have plain items and short forms of long texts."""
    if isinstance(value, list):
        return [expand(element) for element in value]
    if not isinstance(value, dict):
        return value
    name, argument = matching.matcher_of(value)
    if name == "$plain":
        return matching.wire_item(argument)
    if name == "$repeat":
        text, times = argument
        return text * times
    if name == "$deep":
        nested = {"S": "x"}
        for _ in range(argument):
            nested = {"L": [nested]}
        return nested
    if name == "$times":
        template, count = argument
        return [expand(substitute(template, {"i": str(i), "padded": f"{i:05}"})) for i in range(count)]
    return {member: expand(element) for member, element in value.items()}


def encoded(request):
    """Replaces `{"$base64": {…}}` by the JSON of the object in base64, as in the handle of a task."""
    if not isinstance(request, dict):
        return request
    if matching.matcher_of(request)[0] == "$base64":
        return base64.b64encode(json.dumps(request["$base64"]).encode()).decode()
    return {name: encoded(value) for name, value in request.items()}


def expand_expected(expected):
    """Replaces only `$times` in an expectation, where the other forms are matchers."""
    if isinstance(expected, dict):
        if matching.matcher_of(expected)[0] == "$times":
            return expand(expected)
        return {name: expand_expected(value) for name, value in expected.items()}
    return expected


class Skip(Exception):
    """The case cannot run on this endpoint; the text has the reason."""


class Case:
    """One claim, with the steps that show it."""

    def __init__(self, file, shared, written):
        self.file = file
        self.name = written["name"]
        self.steps = written["steps"]
        self.items = written.get("items", {})
        self.tables = {**shared.get("tables", {}), **written.get("tables", {})}
        # The case's own first, so that the shared ones can refer to them.
        own = written.get("queues", {})
        self.queues = own | {short: shape for short, shape in shared.get("queues", {}).items() if short not in own}
        self.needs = written.get("needs", []) + [QUEUES] * bool(self.queues)
        self.saved = written.get("saved", {})

    @property
    def title(self):
        return f"{self.file}: {self.name}"

    def run(self, connection, features):
        """A list of faults, empty when the claim holds."""
        for need in self.needs:
            if need not in features:
                raise Skip(f"needs {need}, which this endpoint does not offer")
        suffix = uuid.uuid4().hex[:10]
        names = {**expand(self.saved), **{short: f"{short}_{suffix}" for short in self.tables}}
        used = [short for short in self.tables if short in self.items or self.mentions(short)]
        if CLOCK in self.needs:
            names["now"] = int(connection.exchange("POST", READ_CLOCK, ADMIN, b"").body["now"])
        try:
            for short in used:
                self.create(connection, names[short], self.tables[short])
            for short, attributes in self.queues.items():
                names.update(queues.create(connection, short, substitute(attributes, names), suffix))
            self.seed(connection, names)
            return self.run_steps(connection, names)
        finally:
            for short in self.queues.keys() & names.keys():
                queues.delete(connection, names[short])
            for short in used:
                connection.call("DeleteTable", {"TableName": names[short]})

    def mentions(self, short):
        return "${%s}" % short in json.dumps(self.steps)

    def create(self, connection, name, short):
        answer = connection.call("CreateTable", tables.create_table(name, short))
        if answer.status != 200:
            raise AssertionError(f"could not create {name}: {answer.raw.decode()}")
        deadline = time.monotonic() + UNTIL_SECONDS
        while time.monotonic() < deadline:
            table = connection.call("DescribeTable", {"TableName": name}).body["Table"]
            indexes = table.get("GlobalSecondaryIndexes", [])
            if table["TableStatus"] == "ACTIVE" and all(i.get("IndexStatus", "ACTIVE") == "ACTIVE" for i in indexes):
                return
            time.sleep(0.02)
        raise AssertionError(f"{name} did not become ACTIVE within {UNTIL_SECONDS} s")

    def seed(self, connection, names):
        for short, items in self.items.items():
            for item in substitute(expand(items), names):
                request = {"TableName": names[short], "Item": matching.wire_item(item)}
                answer = connection.call("PutItem", request)
                if answer.status != 200:
                    raise AssertionError(f"could not put {item}: {answer.raw.decode()}")

    def run_steps(self, connection, names):
        for number, step in enumerate(self.steps, 1):
            found = run_step(connection, step, names)
            if found:
                label = next((step[kind] for kind in CALLS if kind in step), next(iter(step)))
                return [f"step {number} ({label}): {fault}" for fault in found]
        return []


def run_step(connection, step, names):
    """Runs one step. With `until`, it is repeated within bounds, for effects that are visible only a little later."""
    deadline = time.monotonic() + (UNTIL_SECONDS if step.get("until") else 0)
    while True:
        found = attempt(connection, step, names)
        if not found or time.monotonic() >= deadline:
            return found
        time.sleep(0.05)


def attempt(connection, step, names):
    if "clock" in step:
        body = json.dumps(substitute(step["clock"], names)).encode()
        answer = connection.exchange("POST", "/_trestle/move-clock", ADMIN, body)
        return [] if answer.status == 200 else [f"the clock answered {answer.status}: {answer.raw.decode()}"]
    if STREAM_STEPS & step.keys():
        found = streams.run_step(connection, step, names, substitute)
        return [] if found is None else matching.faults(substitute(step["gives"], names), found, names, "records")
    if "join" in step:
        joined = [element for name in step["join"] for element in names[name]]
        return matching.faults(substitute(expand_expected(step["gives"]), names), joined, names)
    if "queue" in step or "query" in step:
        filled = substitute({**step, "with": expand(step.get("with", {}))}, names)
        return queues.attempt(connection, {**filled, "with": encoded(filled["with"])}, names)
    answer = send(connection, step, names)
    plain_http = "http" in step or "status" in step  # Refused before it is a request of the protocol.
    found = [] if plain_http or not connection.strict else wire.envelope_faults(answer)
    if "status" in step and answer.status != step["status"]:
        found.append(f"status {answer.status} instead of {step['status']}: {answer.raw.decode()[:300]}")
    if "fails" in step:
        return found + failure_faults(substitute(step["fails"], names), answer, names, connection.strict)
    if "call" in step and "status" not in step and answer.status != 200:
        return found + [f"refused: {answer.raw.decode()}"]
    if "headers_given" in step:
        found += matching.has_faults(substitute(step["headers_given"], names), answer.headers, names, "headers")
    if "raw" in step and answer.raw.decode() != step["raw"]:
        found.append(f"the body is {answer.raw.decode()[:300]!r} instead of {step['raw']!r}")
    if "gives" in step:
        found += matching.faults(substitute(step["gives"], names), answer.body, names)
    return found


def send(connection, step, names):
    if "http" in step:
        method, path = step["http"].split()
        body = substitute(step.get("body", ""), names).encode()
        return connection.exchange(method, path, step.get("headers", {}), body)
    headers = step.get("headers")
    if "body" in step:
        return connection.call(step["call"], substitute(step["body"], names).encode(), headers)
    request = substitute(expand(step.get("with", {})), names)
    if step.get("gzip"):
        return connection.call(step["call"], gzip.compress(json.dumps(request).encode()), {**(headers or {}), "Content-Encoding": "gzip"})
    return connection.call(step["call"], request, headers)


def failure_faults(expected, answer, names, strict):
    """Checks an error: status, whole `__type`, message and its casing, and further members if any are named.

    If it is not strict, only the exception's name is compared.
    """
    kind = expected["type"]
    if not strict:
        return [] if answer.error == kind else [f"expected {kind}, got {answer.error or answer.raw.decode()[:300]}"]
    status = expected.get("status", 400)
    if answer.status != status:
        return [f"expected {kind}, got status {answer.status}: {answer.raw.decode()[:400]}"]
    wanted = {"__type": full_type(kind), **{k: v for k, v in expected.items() if k not in ("type", "status", "message", "exact")}}
    body = answer.body if isinstance(answer.body, dict) else {}
    if "message" in expected:
        member = "Message" if kind in CAPITAL_MESSAGE else "message"
        wanted[member] = expected["message"]
        if not expected.get("exact"):
            body = {**body, member: without_prefix(body.get(member), kind)}
    else:
        wanted = {"$has": wanted}
    return matching.faults(wanted, body, names)


def without_prefix(message, kind):
    """Removes the count of errors before a validation message, because cases are written without it.

    Since 2026, AWS sends the count before most validation messages. Messages that name a member's constraint
    ("Value … at …") have always had it, and keep it.
    """
    prefix = "1 validation error detected: "
    if kind == "ValidationException" and isinstance(message, str) and message.startswith(prefix):
        rest = message.removeprefix(prefix)
        return message if re.match(r"Value (null|at|')", rest) else rest
    return message


class File:
    """The cases of one file, and the flags of `trestle serve` that their server needs."""

    def __init__(self, name, written):
        self.server = written.get("server", "")
        self.cases = [Case(name, written, case) for case in written["cases"]]


def read(path):
    with open(path, encoding="utf-8") as file:
        return File(path.stem, json.load(file))
