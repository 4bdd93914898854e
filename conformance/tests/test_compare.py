"""Runs `conformance/compare` on two small servers, one of which has a fault."""

import http.server
import json
import pathlib
import subprocess
import sys
import threading
import unittest

COMPARE = pathlib.Path(__file__).resolve().parent.parent / "compare"
ROW = {"pk": {"S": "a"}, "sk": {"S": "b"}, "a": {"N": "1"}}
EMPTY = {"CreateTable", "DeleteTable", "BatchWriteItem", "PutItem", "DeleteItem", "TransactWriteItems"}


def answer_of(operation):
    """The answer of a server without a fault, as (status, body)."""
    if operation in EMPTY:
        return 200, {}
    if operation in ("Query", "Scan"):
        return 200, {"Count": 1, "ScannedCount": 1, "Items": [ROW]}
    if operation == "GetItem":
        return 200, {"Item": ROW}
    return 400, {"__type": "com.amazonaws.dynamodb.v20120810#ResourceNotFoundException", "message": "Requested resource not found"}


class Server:
    """A server whose answers are fixed, except for those that `faults` changes."""

    def __init__(self, faults):
        class Handler(http.server.BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"
            # Sends headers and body in one packet, because a second packet would wait for the client's acknowledgement.
            wbufsize = -1

            def do_POST(self):
                self.rfile.read(int(self.headers["Content-Length"]))
                operation = self.headers["X-Amz-Target"].rpartition(".")[2]
                status, body = faults.get(operation, lambda status, body: (status, body))(*answer_of(operation))
                raw = json.dumps(body).encode()
                self.send_response(status)
                self.send_header("Content-Length", str(len(raw)))
                self.end_headers()
                self.wfile.write(raw)

            def log_message(self, *_):
                pass

        self.http = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.endpoint = f"http://127.0.0.1:{self.http.server_address[1]}"
        threading.Thread(target=self.http.serve_forever, daemon=True).start()

    def stop(self):
        self.http.shutdown()
        self.http.server_close()


def compare(**faults):
    """Runs the comparison while our server has the faults, and returns (exit code, output)."""
    servers = [Server(faults), Server({})]
    command = [sys.executable, COMPARE, "--requests", "120", "--processes", "2", "--seed", "3", "--ours", servers[0].endpoint, "--theirs", servers[1].endpoint]
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=120, check=False)
    finally:
        for server in servers:
            server.stop()
    return done.returncode, done.stdout + done.stderr


class Compare(unittest.TestCase):
    def assert_reported(self, said, **faults):
        code, output = compare(**faults)
        self.assertEqual(code, 1, output)
        self.assertIn("UNEXPLAINED", output)
        self.assertIn(said, output)
        self.assertNotIn(" 0 unexplained", output)

    def test_servers_that_answer_alike_pass_and_every_entry_is_listed_as_unused(self):
        code, output = compare()
        self.assertEqual(code, 0, output)
        self.assertIn("120 alike, 0 explained, 0 unexplained", output)
        self.assertRegex(output, r"(\d+) of \1 entries of known_differences.json explained nothing")

    def test_a_known_difference_passes_and_is_not_listed_as_unused(self):
        wording = {"__type": "x#ResourceNotFoundException", "message": "Requested resource not found"}
        theirs = {**wording, "message": "Cannot do operations on a non-existent table"}
        servers = [Server({}), Server({"UpdateItem": lambda *_: (400, theirs)})]
        command = [sys.executable, COMPARE, "--requests", "60", "--processes", "1", "--ours", servers[0].endpoint, "--theirs", servers[1].endpoint]
        done = subprocess.run(command, capture_output=True, text=True, timeout=120, check=False)
        for server in servers:
            server.stop()
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
        self.assertRegex(done.stdout, r"[1-9]\d* explained, 0 unexplained")
        self.assertNotIn("| ResourceNotFoundException: Cannot do operations on a non-existent table", done.stdout.split("explained nothing")[0])

    def test_an_item_too_many(self):
        self.assert_reported("at:      .Count, .Items[], .ScannedCount", Query=lambda status, body: (status, {"Count": 2, "ScannedCount": 2, "Items": [ROW, ROW]}))

    def test_an_attribute_that_is_missing(self):
        self.assert_reported(".Item (only one)", GetItem=lambda status, body: (status, {"Item": {"pk": ROW["pk"], "sk": ROW["sk"]}}))

    def test_another_status(self):
        self.assert_reported("status 404 and 400", UpdateItem=lambda status, body: (404, body))

    def test_another_kind_of_error(self):
        self.assert_reported("ValidationException", UpdateItem=lambda status, body: (status, {**body, "__type": "x#ValidationException"}))

    def test_another_text(self):
        self.assert_reported("no such table", UpdateItem=lambda status, body: (status, {**body, "message": "no such table"}))

    def test_an_error_for_a_success_and_a_success_for_an_error(self):
        self.assert_reported("ours:    ResourceNotFoundException", GetItem=lambda *_: answer_of("UpdateItem"))
        self.assert_reported("ours:    ok", UpdateItem=lambda *_: (200, {}))

    def test_rows_left_at_the_end(self):
        self.assert_reported("the rows left at the end", Scan=lambda status, body: (status, {**body, "Items": [{**ROW, "a": {"N": "2"}}]}))


if __name__ == "__main__":
    unittest.main()
