"""One keep-alive connection that speaks DynamoDB's JSON over plain HTTP, without an SDK in between.

An SDK would hide what is checked here: the full `__type`, the casing of the message, the checksum, the headers.
"""

import gzip
import http.client
import json
import urllib.parse
import zlib

STREAMS = {"ListStreams", "DescribeStream", "GetShardIterator", "GetRecords"}

# Servers verify this signature only if keys are configured, but some require its parts.
SIGNED = {
    "Content-Type": "application/x-amz-json-1.0",
    "X-Amz-Date": "20260101T000000Z",
    "Authorization": "AWS4-HMAC-SHA256 Credential=AKIDEXAMPLE/20260101/us-east-1/dynamodb/aws4_request, "
    "SignedHeaders=content-type;host;x-amz-date;x-amz-target, Signature=" + "0" * 64,
}


def target_of(operation):
    family = "DynamoDBStreams_20120810" if operation in STREAMS else "DynamoDB_20120810"
    return f"{family}.{operation}"


class Answer:
    """Status, headers and body of one answer; the body is parsed when it is JSON."""

    def __init__(self, status, headers, raw):
        self.status = status
        self.headers = {name.lower(): value for name, value in headers}
        self.raw = raw
        plain = gzip.decompress(raw) if self.headers.get("content-encoding") == "gzip" else raw
        try:
            self.body = json.loads(plain) if plain else None
        except ValueError:
            self.body = None

    @property
    def error(self):
        """The exception's short name, or None when the request succeeded."""
        if self.status < 400:
            return None
        kind = (self.body or {}).get("__type", "") if isinstance(self.body, dict) else ""
        return kind.rsplit("#", 1)[-1] or f"status {self.status}"

    @property
    def message(self):
        body = self.body if isinstance(self.body, dict) else {}
        return body.get("message", body.get("Message", ""))


class Connection:
    def __init__(self, endpoint, timeout_seconds=30, strict=True):
        url = urllib.parse.urlsplit(endpoint)
        if url.scheme != "http":
            raise ValueError(f"only plain http:// endpoints are supported, not {endpoint!r}")
        self.host, self.port = url.hostname, url.port or 80
        self.timeout_seconds = timeout_seconds
        self.strict = strict
        self.http = None

    def exchange(self, method, path, headers, body):
        """Sends one request. If the server has closed the connection meanwhile, it is opened once more."""
        for attempt in (1, 2):
            if self.http is None:
                self.http = http.client.HTTPConnection(self.host, self.port, timeout=self.timeout_seconds)
            try:
                self.http.request(method, path, body=body, headers=headers)
                answer = self.http.getresponse()
                return Answer(answer.status, answer.getheaders(), answer.read())
            except (http.client.HTTPException, ConnectionError, BrokenPipeError):
                self.close()
                if attempt == 2:
                    raise

    def call(self, operation, request, headers=None):
        body = request if isinstance(request, bytes) else json.dumps(request).encode()
        return self.exchange("POST", "/", {**SIGNED, "X-Amz-Target": target_of(operation), **(headers or {})}, body)

    def close(self):
        if self.http is not None:
            self.http.close()
            self.http = None


def envelope_faults(answer):
    """Checks what every answer of the JSON protocol must have, success or error. The checksum is that of the bytes as sent."""
    faults = []
    if not answer.headers.get("x-amzn-requestid"):
        faults.append("no x-amzn-RequestId header")
    if answer.headers.get("content-type") != "application/x-amz-json-1.0":
        faults.append(f"content-type is {answer.headers.get('content-type')!r}")
    expected = str(zlib.crc32(answer.raw))
    if answer.headers.get("x-amz-crc32") != expected:
        faults.append(f"x-amz-crc32 is {answer.headers.get('x-amz-crc32')!r}, the body's is {expected}")
    return faults
