"""apps/warehouse with its built files in S3: moto's server, which boto3 looks into."""

import base64
import gzip
import io
import json
import tarfile
import time
import unittest
import urllib.error
import urllib.request

from bucket import PREFIX, WithBucket

LOCALES = ["de-DE", "en-US"]


class FilesInS3(WithBucket):
    def publish(self, version):
        manifest = {"name": "words", "version": version, "main": "index.js", "build": "es", "locales": LOCALES}
        contents = {"package.json": json.dumps(manifest), "dist/words.css": f"p::after {{ content: '{version}' }}"}
        contents |= {f"dist/{locale}/words.js": f"console.log('{locale}', '{version}')" for locale in LOCALES}
        packed = io.BytesIO()
        with tarfile.open(fileobj=packed, mode="w:gz") as tarball:
            for name, text in contents.items():
                entry = tarfile.TarInfo(f"package/{name}")
                entry.size = len(text)
                tarball.addfile(entry, io.BytesIO(text.encode()))
        data = base64.b64encode(packed.getvalue()).decode()
        attached = {f"words-{version}.tgz": {"data": data, "length": len(packed.getvalue())}}
        document = {"_id": "words", "name": "words", "dist-tags": {"latest": version}, "versions": {version: manifest}}
        self.call("PUT", "/words", {**document, "_attachments": attached})

    def wait_for(self, version, field):
        deadline = time.monotonic() + 60
        while not (status := self.call("GET", f"/status/words/dev/{version}"))[field]:
            self.assertLess(time.monotonic(), deadline, status)
            time.sleep(0.05)

    def urls(self, locale):
        return self.call("GET", f"/assets/files/words/dev?locale={locale}")["files"]

    def assert_fetched(self, begin):
        """Every URL begins so and gives the bytes of its object, beside which its gzip lies."""
        stored = self.stored()
        found = [url for locale in LOCALES for url in self.urls(locale)]
        self.assertEqual(len(LOCALES), len(found), found)
        for url, locale in zip(found, LOCALES, strict=True):
            self.assertTrue(url.startswith(begin), url)
            with urllib.request.urlopen(url, timeout=30) as answer:
                content = answer.read()
            name = url.removeprefix(begin)
            self.assertIn(locale, content.decode())
            self.assertEqual(content, stored[name])
            self.assertEqual(content, gzip.decompress(stored[f"{name}.gz"]))

    def test_files_are_objects_and_this_server_gives_them_out(self):
        self.serve("warehouse", "--assets", self.place())
        self.publish("1.0.0")
        self.wait_for("1.0.0", "complete")
        self.assert_fetched(f"{self.url}/cdn/")

    def test_files_are_fetched_from_the_bucket_itself(self):
        readable = {"Effect": "Allow", "Principal": "*", "Action": "s3:GetObject", "Resource": f"arn:aws:s3:::{self.bucket}/*"}
        policy = {"Version": "2012-10-17", "Statement": [readable]}
        self.s3.put_bucket_policy(Bucket=self.bucket, Policy=json.dumps(policy))
        self.serve("warehouse", "--assets", self.place(), "--cdn-url", f"{self.endpoint}/{self.bucket}/{PREFIX}")
        self.publish("1.0.0")
        self.wait_for("1.0.0", "complete")
        self.assert_fetched(f"{self.endpoint}/{self.bucket}/{PREFIX}/")

    def test_a_file_that_its_url_does_not_give_is_in_no_row(self):
        self.serve("warehouse", "--assets", self.place(), "--cdn-url", f"{self.endpoint}/{self.bucket}/elsewhere")
        self.publish("1.0.0")
        self.wait_for("1.0.0", "error")
        events = self.call("GET", "/status-events/words/dev/1.0.0")
        self.assertIn("does not give the file that was stored", json.dumps(events))
        with self.assertRaises(urllib.error.HTTPError) as refused:
            self.urls("en-US")
        refused.exception.close()
        self.assertEqual(404, refused.exception.code)


if __name__ == "__main__":
    unittest.main()
