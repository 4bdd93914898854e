"""The Celery application of test_celery.py, as its worker imports it."""

import os
from urllib.parse import urlsplit

from celery import Celery

server = urlsplit(os.environ.get("TRESTLE_ENDPOINT", "http://127.0.0.1:8000"))

app = Celery("tasks", broker=f"sqs://anybody:anything@{server.hostname}:{server.port}//")
app.conf.update(
    broker_transport_options={
        "region": "us-east-1",
        "is_secure": False,
        "queue_name_prefix": os.environ.get("CELERY_PREFIX", "celery-"),
        "polling_interval": 0.1,
        "wait_time_seconds": 1,
        "visibility_timeout": 30,
    },
    broker_connection_retry_on_startup=True,
    task_acks_late=True,
    worker_prefetch_multiplier=1,
)


def note(line):
    """Tells the test what ran. One line is one write, so lines of two processes do not mix."""
    with open(os.environ["CELERY_NOTES"], "a") as notes:
        notes.write(line + "\n")


@app.task
def add(left, right):
    note(f"add {left} {right} {left + right}")


@app.task(bind=True, max_retries=3)
def fail_twice(self):
    note(f"attempt {self.request.retries}")
    if self.request.retries < 2:
        raise self.retry(countdown=1)
