"""apps/reindexer with its payloads in S3: moto's server, which boto3 looks into."""

import json
import time
import unittest

from bucket import PREFIX, WithBucket


class PayloadsInS3(WithBucket):
    def setUp(self):
        super().setUp()
        self.serve("reindexer", "--objects", self.place())

    def test_payloads_are_objects_and_a_new_pipeline_is_filled_from_them(self):
        self.call("PUT", "/pipelines/first", {"transformer": 1})
        payload = {"image_title": "A pharmacist", "image_keywords": ["Scales"]}
        row = self.call("PUT", "/sources/miro/V0000001", payload)
        self.assertEqual(self.bucket, row["location"]["bucket"])
        stored = self.stored()
        self.assertEqual([row["location"]["key"]], list(stored))
        self.assertEqual(payload, json.loads(stored[row["location"]["key"]]))

        self.call("PUT", "/pipelines/second", {"transformer": 2})
        self.call("POST", "/reindexes", {"source": "miro", "destination": "catalogue"})
        self.wait_for("second")
        self.call("POST", "/pipelines/second/serve")
        self.assertEqual(["Scales"], self.call("GET", "/works/V0000001")["subjects"])

    def test_a_payload_that_is_gone_is_a_gap_with_a_reason(self):
        row = self.call("PUT", "/sources/miro/V0000001", {"image_title": "A pharmacist"})
        self.s3.delete_object(Bucket=self.bucket, Key=f"{PREFIX}/" + row["location"]["key"])
        self.call("PUT", "/pipelines/late", {"transformer": 2})
        self.assertEqual({"sent": 1}, self.call("POST", "/pipelines/late/resend"))
        gap = {"id": "V0000001", "source": "miro", "version": 1, "indexed": None, "missingAt": "transformer"}
        self.assertEqual([gap], self.call("GET", "/pipelines/late/gaps"))

    def wait_for(self, pipeline):
        deadline = time.monotonic() + 60
        while self.call("GET", f"/pipelines/{pipeline}/gaps"):
            self.assertLess(time.monotonic(), deadline, self.call("GET", f"/pipelines/{pipeline}/status"))
            time.sleep(0.05)


if __name__ == "__main__":
    unittest.main()
