"""Queues of a case, and the steps that call SQS's operations.

    "queues": {"q": {}, "f": {"FifoQueue": "true"}}     queues by their attributes, made in the order written
    {"queue": "SendMessage", "with": {"QueueUrl": "${q}", "MessageBody": "x"}, "gives": {…}}       the JSON protocol
    {"query": "SendMessage", "at": "${q}", "with": {"MessageBody": "x"}, "gives": {…}}             the older protocol: a form
    {"query": "SendMessage", "at": "${q}", "method": "GET", "with": {"MessageBody": "x"}}          the same as a URL

`"headers": {…}` of a step are sent as well. Every answer in XML is checked for its content type, namespace and request id.

`${q}` is a queue's URL, `${q_name}` its name and `${q_arn}` its ARN; the name of a FIFO queue ends in `.fifo`. Without `at` a form goes to
the server's root. What a form `gives` is the result in its XML: an element with children is an object, repeated elements are a list,
everything else is text. A step `fails` with `{"type", "message", "status", "code"}`: the exception's name in JSON and the code of the older
protocol beside it; in XML the type is that code.
"""

import urllib.parse
import xml.etree.ElementTree

from . import matching, wire

NAMESPACE = "{http://queue.amazonaws.com/doc/2012-11-05/}"
FORM = {"Content-Type": "application/x-www-form-urlencoded; charset=utf-8"}


def call(connection, operation, request, headers=None):
    return connection.call(operation, request, {"X-Amz-Target": f"AmazonSQS.{operation}", **(headers or {})})


def create(connection, short, attributes, suffix):
    """Creates a queue, and returns the names by which its case refers to it."""
    name = f"{short}_{suffix}" + (".fifo" if attributes.get("FifoQueue") == "true" else "")
    made = call(connection, "CreateQueue", {"QueueName": name, "Attributes": attributes})
    if made.status != 200:
        raise AssertionError(f"could not create {name}: {made.raw.decode()}")
    url = made.body["QueueUrl"]
    shown = call(connection, "GetQueueAttributes", {"QueueUrl": url, "AttributeNames": ["QueueArn"]})
    return {short: url, f"{short}_name": name, f"{short}_arn": shown.body["Attributes"]["QueueArn"]}


def delete(connection, url):
    call(connection, "DeleteQueue", {"QueueUrl": url})


def attempt(connection, step, names):
    """The faults of one step, whose names are filled in already."""
    answer = send_form(connection, step) if "query" in step else call(connection, step["queue"], step.get("with", {}), step.get("headers"))
    found = envelope_faults(step, answer) if connection.strict else []
    if "fails" in step:
        return found + failure_faults(step["fails"], step, answer, names, connection.strict)
    if answer.status != 200:
        return found + [f"refused: {answer.raw.decode()}"]
    if "gives" in step:
        body = result(answer) if "query" in step else answer.body
        found += matching.faults(step["gives"], body, names)
    return found


def send_form(connection, step):
    parameters = urllib.parse.urlencode({"Action": step["query"], **step.get("with", {})})
    path = urllib.parse.urlsplit(step.get("at", "/")).path
    if step.get("method") == "GET":
        return connection.exchange("GET", f"{path}?{parameters}", step.get("headers", {}), b"")
    return connection.exchange("POST", path, {**FORM, **step.get("headers", {})}, parameters.encode())


def envelope_faults(step, answer):
    """Checks the headers and members that every answer must have, success or error."""
    if "query" not in step:
        return wire.envelope_faults(answer)
    faults = []
    kind = answer.headers.get("content-type")
    if kind != "text/xml":
        return [f"content-type is {kind!r}: {answer.raw.decode()[:300]}"]
    root = xml.etree.ElementTree.fromstring(answer.raw)
    wanted = f"{NAMESPACE}{'ErrorResponse' if answer.status != 200 else step['query'] + 'Response'}"
    if root.tag != wanted:
        faults.append(f"the root element is {root.tag!r} instead of {wanted!r}")
    ids = [element.text for element in root.iter(f"{NAMESPACE}RequestId")]
    if ids != [answer.headers.get("x-amzn-requestid")]:
        faults.append(f"the request ids are {ids}, the header's is {answer.headers.get('x-amzn-requestid')!r}")
    return faults


def failure_faults(expected, step, answer, names, strict):
    told = error_of_xml(answer) if "query" in step else error_of_json(answer)
    wanted = {"type": expected["type"]}
    if strict:
        wanted |= {"status": 400, **expected}
    found = matching.has_faults(wanted, {**told, "status": answer.status}, names, "the refusal")
    return [f"{fault}; it is {answer.status} {answer.raw.decode()[:400]}" for fault in found]


def error_of_json(answer):
    code = answer.headers.get("x-amzn-query-error", "").partition(";")[0]
    return {"type": answer.error, "message": answer.message, "code": code}


def error_of_xml(answer):
    error = tree(answer).get("Error", {})
    return {"type": error.get("Code"), "message": error.get("Message"), "sender": error.get("Type")}


def tree(answer):
    return members(xml.etree.ElementTree.fromstring(answer.raw))


def result(answer):
    """The element that is named after the operation; none for an operation that only succeeds."""
    found = [value for name, value in tree(answer).items() if name.endswith("Result")]
    return (found[0] or {}) if found else {}


def members(element):
    if len(element) == 0:
        return element.text or ""
    found = {}
    for child in element:
        name = child.tag.rsplit("}", 1)[-1]
        found.setdefault(name, []).append(members(child))
    return {name: values[0] if len(values) == 1 else values for name, values in found.items()}
