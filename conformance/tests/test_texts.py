"""A placeholder matches one value of its kind, and a text matches a whole answer."""

import unittest

from differential.texts import Text, agree


class Texts(unittest.TestCase):
    def test_a_text_matches_a_whole_answer_only(self):
        text = Text("ValidationException: The table has no index ${index}")
        self.assertEqual(text.match("ValidationException: The table has no index by_g"), {"index": "by_g"})
        for other in (
            "ValidationException: The table has no index by_g.",
            "Some ValidationException: The table has no index by_g",
            "InternalFailure: The table has no index by_g",
            "ValidationException: The table has no index by_g\n",
            "ValidationException: The table has no index ",
        ):
            self.assertIsNone(text.match(other), other)

    def test_signs_that_mean_something_in_patterns_stand_for_themselves(self):
        self.assertIsNotNone(Text("E: operator: +, type: {M} (a|b).").match("E: operator: +, type: {M} (a|b)."))
        self.assertIsNone(Text("E: a.b").match("E: axb"))

    def test_a_placeholder_that_occurs_twice_stands_for_the_same(self):
        text = Text("E: ${type} is not ${type}, but ${type-2}")
        self.assertIsNotNone(text.match("E: S is not S, but N"))
        self.assertIsNone(text.match("E: S is not N, but N"))

    def test_placeholders_in_both_texts_stand_for_the_same(self):
        ours, theirs = Text("E: key ${name} of ${number}"), Text("E: of ${number} (${name})")
        self.assertTrue(agree(ours.match("E: key a of 100"), theirs.match("E: of 1e2 (a)")))
        self.assertFalse(agree(ours.match("E: key a of 100"), theirs.match("E: of 101 (a)")))
        self.assertFalse(agree(ours.match("E: key a of 100"), theirs.match("E: of 100 (b)")))

    def test_lists_of_names_and_types_agree_in_any_order(self):
        ours, theirs = Text("E: {${names}} {${types}}"), Text("E: [${names}] [${types}]")
        self.assertTrue(agree(ours.match("E: {#a, #b} {S, N}"), theirs.match("E: [#b, #a] [N,S]")))
        self.assertFalse(agree(ours.match("E: {#a, #b} {S, N}"), theirs.match("E: [#b, #c] [N,S]")))
        self.assertFalse(agree(ours.match("E: {#a, #b} {S, N}"), theirs.match("E: [#b, #a] [N,S,B]")))

    def test_a_placeholder_of_no_kind_is_refused(self):
        with self.assertRaisesRegex(ValueError, "anything"):
            Text("E: ${anything}")


if __name__ == "__main__":
    unittest.main()
