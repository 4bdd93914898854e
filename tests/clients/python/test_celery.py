"""Celery's worker with its SQS transport: tasks are run once, later, and again after a failure."""

import os
import pathlib
import subprocess
import sys
import tempfile
import time
import unittest
import uuid
from collections import Counter

from support import client

FOLDER = pathlib.Path(__file__).parent


class CeleryTest(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.notes = pathlib.Path(folder.name) / "notes"
        self.notes.touch()
        self.prefix = f"celery-{uuid.uuid4().hex[:8]}-"
        os.environ["CELERY_NOTES"] = str(self.notes)
        os.environ["CELERY_PREFIX"] = self.prefix
        self.log = open(pathlib.Path(folder.name) / "log", "w+")
        self.addCleanup(self.log.close)
        command = ["-m", "celery", "-A", "celery_tasks", "worker", "--pool", "threads", "--concurrency", "4", "--loglevel", "info"]
        self.worker = subprocess.Popen(
            [sys.executable, *command], cwd=FOLDER, stdout=self.log, stderr=subprocess.STDOUT, stdin=subprocess.DEVNULL
        )
        self.addCleanup(self.stop)

    def stop(self):
        self.worker.terminate()
        try:
            self.worker.wait(20)
        except subprocess.TimeoutExpired:
            self.worker.kill()
            self.worker.wait()
        sqs = client("sqs")
        for url in sqs.list_queues(QueueNamePrefix=self.prefix).get("QueueUrls", []):
            sqs.delete_queue(QueueUrl=url)

    def wait_for(self, is_there, seconds=60):
        until = time.monotonic() + seconds
        while time.monotonic() < until:
            lines = self.notes.read_text().splitlines()
            if is_there(lines):
                return lines
            time.sleep(0.1)
        self.log.seek(0)
        self.fail(f"not there after {seconds} s: {lines}; the worker said: {self.log.read()[-3000:]}")

    def test_tasks_run_once_later_and_again_after_a_failure(self):
        from celery_tasks import add, app, fail_twice

        for number in range(20):
            add.delay(number, 1)
        fail_twice.delay()
        began = time.monotonic()
        add.apply_async((100, 1), countdown=2)
        lines = self.wait_for(lambda lines: len(lines) >= 24)
        self.assertGreaterEqual(time.monotonic() - began, 2)
        expected = [f"add {number} 1 {number + 1}" for number in [*range(20), 100]] + [f"attempt {n}" for n in range(3)]
        self.assertEqual(Counter(lines), Counter(expected))
        app.close()
        sqs = client("sqs")
        names = ["ApproximateNumberOfMessages", "ApproximateNumberOfMessagesNotVisible", "ApproximateNumberOfMessagesDelayed"]
        url = sqs.get_queue_url(QueueName=f"{self.prefix}celery")["QueueUrl"]
        until = time.monotonic() + 30
        while set((left := sqs.get_queue_attributes(QueueUrl=url, AttributeNames=names)["Attributes"]).values()) != {"0"}:
            self.assertLess(time.monotonic(), until, f"acknowledged messages are still there: {left}")
            time.sleep(0.1)


if __name__ == "__main__":
    unittest.main()
