"""Full texts of answers, with placeholders for the parts that vary from request to request.

`${number}` matches one number, `${type}` one type of a value. KINDS lists all kinds. A placeholder that occurs twice, in
one text or in the texts of both servers, has the same value everywhere; `${type-2}` is another one of the same kind.
"""

import re

from .outcome import number

PLACEHOLDER = re.compile(r"\$\{([a-z]+)(?:-(\d))?\}")
ATTRIBUTE_TYPE = r"(?:S|N|B|SS|NS|BS|M|L|BOOL|NULL)"
# The internal types of DynamoDB Local, which it lists in the order of a hash table.
INNER_TYPE = "(?:S|SS|N|NS|B|BS|M|L|BOOL|NULL|DICT|INT|INTSET|FLOAT|FS|DOUBLE|DOUBLESET|DECIMAL|DECIMALSET|HD|HDS)"
NAME = r"[#:]?\w+"

KINDS = {
    "table": r"[\w.-]+",
    "index": r"\w+",
    "name": NAME,
    "names": rf"{NAME}(?:, {NAME})*",
    "path": r"\[\w+(?:, (?:\w+|\[\d+\]))*\]",
    "expression": r"(?:Condition|Filter|KeyCondition|Projection|Update)Expression",
    "placeholders": r"ExpressionAttribute(?:Names|Values)",
    "function": r"\w+",
    "language": r"an update expression|a condition expression",
    "operator": r"[<>=+-]+|[A-Z]+|[a-z_]+",
    "type": ATTRIBUTE_TYPE,
    "types": rf"{ATTRIBUTE_TYPE}(?:, ?{ATTRIBUTE_TYPE})*",
    "innertypes": rf"{INNER_TYPE}(?:,{INNER_TYPE}){{20}}",
    "number": r"-?\d+(?:\.\d+)?(?:[eE][+-]?\d+)?",
    "count": r"\d+",
    # A text that the generator has made.
    "text": r"[^{}]*",
    "word": r"[A-Za-z_]+",
    "trail": r"[\w.\[\]]+",
    # A position in a statement: line, column, length.
    "position": r"\d+:\d+:\d+",
    # A part of the request between quotation marks, unchanged.
    "quoted": r'"(?:[^"\\]|\\.|"(?=[^,]))*"',
    # The statement of the request.
    "statement": r"(?s:.+)",
    # The codes of a cancelled transaction.
    "codes": r"(?:None|ConditionalCheckFailed|ValidationError)(?:, (?:None|ConditionalCheckFailed|ValidationError))*",
}

NORMAL = {
    "number": number,
    "names": lambda found: sorted(found.split(", ")),
    "types": lambda found: sorted(re.split(", ?", found)),
}


class Text:
    """One text. It matches only whole answers."""

    def __init__(self, written):
        self.written = written
        pattern, at, seen = "", 0, set()
        for found in PLACEHOLDER.finditer(written):
            kind, group = found[1], group_of(found)
            if kind not in KINDS:
                raise ValueError(f"{found[0]} in {written!r} is no placeholder; there are {', '.join(sorted(KINDS))}")
            pattern += re.escape(written[at : found.start()])
            pattern += f"(?P={group})" if group in seen else f"(?P<{group}>{KINDS[kind]})"
            seen.add(group)
            at = found.end()
        self.pattern = re.compile(pattern + re.escape(written[at:]))

    def match(self, said):
        """The values of its placeholders; None if it does not match."""
        found = self.pattern.fullmatch(said)
        return None if found is None else found.groupdict()

    def fixed_letters(self):
        """The number of letters outside placeholders."""
        return sum(letter.isalpha() for letter in PLACEHOLDER.sub("", self.written))


def group_of(placeholder):
    return placeholder[1] + (f"_{placeholder[2]}" if placeholder[2] else "")


def agree(ours, theirs):
    """Whether placeholders that occur in both texts have the same values."""
    return all(normal(group, ours[group]) == normal(group, theirs[group]) for group in ours.keys() & theirs.keys())


def normal(group, found):
    return NORMAL.get(group.split("_")[0], str)(found)
