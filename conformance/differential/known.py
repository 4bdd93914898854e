"""The explained differences: each entry has the operations, both full texts, the server that is right, the reason, and the source."""

import json
import pathlib

from . import conditions
from .texts import Text, agree

FILE = pathlib.Path(__file__).resolve().parent / "known_differences.json"
MEMBERS = {"operations", "ours", "theirs", "when", "who_is_right", "why", "source"}
OPTIONAL = {"when"}
SHOWN = 90
SIDES = ("ours", "theirs", "both")


class Known:
    """One entry: the explanation of a difference."""

    def __init__(self, written, shared):
        missing, unknown = MEMBERS - OPTIONAL - written.keys(), written.keys() - MEMBERS
        if missing or unknown or written["who_is_right"] not in SIDES or not written["operations"]:
            raise ValueError(f"an entry is not of the form that `about` describes: {json.dumps(written)}")
        self.operations = set(written["operations"])
        self.ours = texts_of(written["ours"], shared)
        self.theirs = texts_of(written["theirs"], shared)
        self.condition = written.get("when")
        self.when = condition_of(written)
        self.who_is_right, self.why, self.source = written["who_is_right"], written["why"], written["source"]

    def explains(self, part, exchange):
        """Whether this entry explains one part of a difference."""
        return (
            part.operation in self.operations
            and self.pair_matches(part.ours, part.theirs, exchange.request)
            and part.members_are_alike
            and (self.when is None or self.when(exchange))
        )

    def title(self):
        """One line for a list."""
        pair = f"{short(self.ours[0].written)} | {short(self.theirs[0].written)}"
        return f"{', '.join(sorted(self.operations))}: {pair}" + (f", when {self.condition}" if self.condition else "")

    def pair_matches(self, ours, theirs, request):
        repeated = {"statement": request.get("Statement")}
        left = [found for found in (text.match(ours) for text in self.ours) if found is not None]
        right = [found for found in (text.match(theirs) for text in self.theirs) if found is not None]
        return any(agree(one, other) and agree(one, repeated) and agree(other, repeated) for one in left for other in right)


def short(text):
    return text if len(text) <= SHOWN else f"{text[:SHOWN]}…"


def listed(written):
    return [written] if isinstance(written, str) else written


def texts_of(written, shared):
    """The texts of one side. `@name` refers to one or several shared texts."""
    found = []
    for text in listed(written):
        found += texts_of(shared[text[1:]], shared) if text.startswith("@") else [Text(text)]
    return found


def condition_of(written):
    name = written.get("when")
    if name is None:
        if "ok" in listed(written["ours"]) and "ok" in listed(written["theirs"]):
            raise ValueError(f"two successes differ in their members: `when` must say how: {json.dumps(written)}")
        return None
    if name not in conditions.BY_NAME:
        raise ValueError(f"`when` is {name!r}; the conditions are {', '.join(sorted(conditions.BY_NAME))}")
    return conditions.BY_NAME[name]


def load(path=FILE):
    with open(path, encoding="utf-8") as file:
        written = json.load(file)
    return [Known(entry, written["texts"]) for entry in written["differences"]]


def explain(explanations, exchange):
    """The numbers of the entries that explain all parts of a difference; None if no entry explains one of them."""
    if not exchange.answers_are_sound():
        return None
    found = []
    for part in exchange.differing_parts():
        number = next((n for n, known in enumerate(explanations) if known.explains(part, exchange)), None)
        if number is None:
            return None
        found.append(number)
    return tuple(sorted(set(found))) or None
