"""Random attribute values from small pools, so that many requests are about the same rows."""

import base64

STRINGS = ["", "a", "b", "ab", "a#b", "é", "\u0000", "zz", "10", "9"]
KEY_STRINGS = ["a", "b", "ab", "a#b", "a\u0000", "é", "~"]
NUMBERS = ["0", "1", "-1", "2", "10", "1.5", "-0.5", "1e2", "100", "99999999999999999999", "0.000001", "1E-20"]
BYTES = [b"", b"\x00", b"\x00\x00", b"a", b"\xff", b"ab"]
ATTRIBUTES = ["a", "b", "c", "m", "l", "ss", "ns", "g", "r", "lx"]

BAD_VALUES = [
    {"N": "ten"},
    {"N": "1" * 39},
    {"N": "1e126"},
    {"SS": []},
    {"SS": ["x", "x"]},
    {"NS": ["1", "1.0"]},
    {"NULL": False},
    {"S": "x", "N": "1"},
    {},
    {"N": ""},
]


def text_of(raw):
    return base64.b64encode(raw).decode()


def key_value(random, kind):
    if kind == "S":
        return {"S": random.choice(KEY_STRINGS)}
    if kind == "N":
        return {"N": random.choice(NUMBERS)}
    return {"B": text_of(random.choice(BYTES[1:]))}


def scalar(random):
    kind = random.choice("SSNNNBLZ")
    if kind == "S":
        return {"S": random.choice(STRINGS)}
    if kind == "N":
        return {"N": random.choice(NUMBERS)}
    if kind == "B":
        return {"B": text_of(random.choice(BYTES))}
    return {"BOOL": random.random() < 0.5} if kind == "L" else {"NULL": True}


def distinct(random, pool, most):
    return random.sample(pool, random.randint(1, most))


def value(random, depth=2):
    """Any value. Deeper values are simpler."""
    roll = random.random()
    if depth == 0 or roll < 0.6:
        return scalar(random)
    if roll < 0.7:
        return {"SS": distinct(random, STRINGS, 3)}
    if roll < 0.8:
        return {"NS": distinct(random, ["0", "1", "2.5", "-1", "10"], 3)}
    if roll < 0.82:
        return {"BS": [text_of(raw) for raw in distinct(random, BYTES, 2)]}
    if roll < 0.91:
        return {"L": [value(random, depth - 1) for _ in range(random.randint(0, 3))]}
    return {"M": {name: value(random, depth - 1) for name in distinct(random, ["x", "y", "z"], 2)}}


def attribute_value(random, name):
    """A value that usually fits the attribute's name: `ss` is a string set, `g` the key of an index."""
    if random.random() < 0.08:
        return value(random)
    if name == "ss":
        return {"SS": distinct(random, ["a", "b", "c", "d"], 3)}
    if name == "ns":
        return {"NS": distinct(random, ["0", "1", "2.5", "-1"], 3)}
    if name == "m":
        return {"M": {member: scalar(random) for member in distinct(random, ["x", "y", "z"], 3)}}
    if name == "l":
        return {"L": [scalar(random) for _ in range(random.randint(0, 4))]}
    if name in ("a", "r"):
        return {"N": random.choice(NUMBERS)}
    if name in ("b", "g", "lx"):
        return {"S": random.choice(KEY_STRINGS)}
    return value(random)


def item(random, table):
    chosen = {name: attribute_value(random, name) for name in distinct(random, ATTRIBUTES, 6)}
    return {**chosen, **key(random, table)}


def key(random, table):
    return {name: key_value(random, kind) for name, kind in table.key}
