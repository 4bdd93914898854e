"""Every entry of known_differences.json explains its own two texts, and no similar ones."""

import json
import pathlib
import re
import tempfile
import unittest

from differential import known
from differential.exchange import Part
from differential.requests import WEIGHTS
from differential.texts import PLACEHOLDER, agree

from .answers import exchange, success

CONFORMANCE = pathlib.Path(__file__).resolve().parent.parent
OPERATIONS = {
    "PutItem", "GetItem", "UpdateItem", "DeleteItem", "Query", "Scan", "BatchGetItem", "BatchWriteItem", "TransactWriteItems",
    "TransactWriteItems reason", "TransactGetItems", "ExecuteStatement",
}
KIND_OF_ERROR = re.compile(r"(?:[A-Z]\w+(?:Exception|Error|Failure)|DuplicateItem|ConditionalCheckFailed): ")
LETTERS_MIN = 12
REQUEST = {"Statement": "SELECT"}
SAMPLES = {
    "table": "d1_plain", "index": "by_g", "name": "#a", "names": "#a, #b", "path": "[m, x]", "expression": "FilterExpression",
    "placeholders": "ExpressionAttributeNames", "function": "size", "language": "an update expression", "operator": "ADD", "type": "S", "types": "S, N", "number": "1.5", "count": "2", "word": "MAP",
    "innertypes": "S,L,BS,B,DOUBLESET,BOOL,DICT,DECIMALSET,HD,HDS,DOUBLE,INT,DECIMAL,SS,FS,M,FLOAT,INTSET,NS,NULL,N",
    "position": "1:20:3", "trail": "root", "quoted": '")"', "text": "ab", "statement": "SELECT", "codes": "None, ValidationError",
}


def sample(text):
    return PLACEHOLDER.sub(lambda found: SAMPLES[found[1]], text.written)


def near_misses(said):
    """The same answer with one fault planted."""
    return [miss for miss in faults_in(said) if miss != said]


def faults_in(said):
    if said == "ok":
        return ["InternalFailure: The request processing has failed", "ValidationException: no"]
    if said == "None":
        return ["ConditionalCheckFailed: it failed", "ValidationError: no", "ok"]
    kind, _, message = said.partition(": ")
    words = message.split(" ")
    return [
        f"Other{kind}: {message}",
        f"InternalFailure: {message}",
        f"{kind}: {message} and more",
        f"{kind}: x{message}",
        f"{kind}: {' '.join(words[1:])}",
        f"{kind}: {' '.join(words[:-1])}",
        f"{kind}: ",
        "ok",
    ]


def is_one_of(texts, said):
    found = [found for found in (text.match(said) for text in texts) if found is not None]
    return any(agree(one, {"statement": REQUEST["Statement"]}) for one in found)


class KnownDifferences(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.entries = known.load()
        cls.any = exchange("GetItem", success({}), success({}), REQUEST)

    def pairs(self):
        for entry in self.entries:
            for ours in entry.ours:
                for theirs in entry.theirs:
                    yield entry, sample(ours), sample(theirs)

    def test_each_entry_explains_its_own_texts(self):
        for entry, ours, theirs in self.pairs():
            self.assertTrue(entry.pair_matches(ours, theirs, REQUEST), (ours, theirs))

    def test_no_entry_explains_a_text_that_is_near_its_own(self):
        for entry, ours, theirs in self.pairs():
            for wrong in near_misses(ours):
                if not is_one_of(entry.ours, wrong):
                    self.assertFalse(entry.pair_matches(wrong, theirs, REQUEST), (wrong, theirs))
            for wrong in near_misses(theirs):
                if not is_one_of(entry.theirs, wrong):
                    self.assertFalse(entry.pair_matches(ours, wrong, REQUEST), (ours, wrong))

    def test_no_text_is_near_another_of_the_same_entry(self):
        # Otherwise the previous test would skip such a text.
        for entry in self.entries:
            for texts in (entry.ours, entry.theirs):
                for text in texts:
                    wrong = [miss for miss in near_misses(sample(text)) if miss != "ok" and is_one_of(texts, miss)]
                    self.assertEqual(wrong, [], text.written)

    def test_no_entry_explains_another_operation(self):
        for entry in self.entries:
            self.assertLessEqual(entry.operations, OPERATIONS)
            part = Part("the rows left at the end", sample(entry.ours[0]), sample(entry.theirs[0]), True)
            self.assertFalse(entry.explains(part, self.any))

    def test_no_entry_explains_other_members_beside_an_error(self):
        for entry, ours, theirs in self.pairs():
            part = Part(min(entry.operations), ours, theirs, False)
            self.assertFalse(entry.explains(part, self.any), (ours, theirs))

    def test_every_text_names_a_kind_of_error_and_has_words_of_its_own(self):
        for entry in self.entries:
            for text in entry.ours + entry.theirs:
                if text.written in ("ok", "None"):
                    continue
                kind = KIND_OF_ERROR.match(text.written)
                self.assertIsNotNone(kind, text.written)
                self.assertGreaterEqual(text.fixed_letters() - sum(map(str.isalpha, kind[0])), LETTERS_MIN, text.written)

    def test_every_entry_has_a_reason_and_a_source_and_cases_that_it_names_exist(self):
        for entry in self.entries:
            self.assertGreater(len(entry.why), 10, entry.title())
            self.assertGreater(len(entry.source), 10, entry.title())
            for case in re.findall(r"cases/\w+\.json", entry.source):
                self.assertTrue((CONFORMANCE / case).exists(), case)

    def test_every_text_that_entries_share_is_used(self):
        written = known.FILE.read_text(encoding="utf-8")
        for name in json.loads(written)["texts"]:
            self.assertIn(f'"@{name}"', written)

    def test_two_entries_do_not_explain_the_same(self):
        for entry, ours, theirs in self.pairs():
            same = [
                other.title()
                for other in self.entries
                if other is not entry and other.condition == entry.condition and other.operations & entry.operations and other.pair_matches(ours, theirs, REQUEST)
            ]
            self.assertEqual(same, [], entry.title())

    def test_the_operations_are_those_that_requests_are_made_of(self):
        self.assertEqual(len(WEIGHTS), len(OPERATIONS) - 1)


class Loading(unittest.TestCase):
    """Refuses an entry that would explain more than it names."""

    ENTRY = {"operations": ["Scan"], "ours": "E: a text", "theirs": "E: another", "who_is_right": "ours", "why": "wording", "source": "none"}

    def load(self, **changes):
        entry = {name: value for name, value in {**self.ENTRY, **changes}.items() if value is not None}
        with tempfile.NamedTemporaryFile("w", suffix=".json") as file:
            json.dump({"texts": {}, "differences": [entry]}, file)
            file.flush()
            return known.load(file.name)

    def test_an_entry_of_the_right_form_is_taken(self):
        self.assertEqual(len(self.load()), 1)

    def test_an_entry_without_operations_texts_or_source_is_refused(self):
        for member in self.ENTRY:
            with self.assertRaises((ValueError, KeyError), msg=member):
                self.load(**{member: None})
        with self.assertRaises(ValueError):
            self.load(operations=[])

    def test_an_entry_with_an_unknown_member_or_condition_is_refused(self):
        for changes in ({"at": ".Items"}, {"when": "always"}, {"who_is_right": "nobody"}):
            with self.assertRaises(ValueError, msg=changes):
                self.load(**changes)

    def test_two_successes_need_a_condition(self):
        with self.assertRaises(ValueError):
            self.load(ours="ok", theirs="ok")
        self.assertEqual(len(self.load(ours="ok", theirs="ok", when="start key made up")), 1)


if __name__ == "__main__":
    unittest.main()
