"""Compares an answer with the expectation of a case.

Plain JSON must be equal, objects in both directions, arrays in order; the members of a set may come in any order.
An object whose only key starts with `$` is a matcher instead:

    {"$any": true}            anything, but it must be there
    {"$absent": true}         the member must not be there
    {"$string": "regex"}      a string that matches as a whole
    {"$number": [low, high]}  a number within these bounds, both included
    {"$has": {…}}             an object with at least these members
    {"$unordered": […]}       an array with these elements in any order
    {"$size": 3}              an array of that length
    {"$save": "name"}         anything; later steps write it as "${name}"
    {"$json": …}              text that is JSON, and as JSON matches
    {"$plain": {…}}           an item written as plain values: {"pk": "a", "n": 1}
    {"$plains": [{…}, …]}     a list of such items
"""

import json
import re

SETS = {"SS", "NS", "BS"}


def wire_value(plain):
    """A plain JSON value as an attribute value. A one-key object that already is one stays as it is."""
    if plain is None:
        return {"NULL": True}
    if isinstance(plain, bool):
        return {"BOOL": plain}
    if isinstance(plain, (int, float)):
        return {"N": str(plain)}
    if isinstance(plain, str):
        return {"S": plain}
    if isinstance(plain, list):
        return {"L": [wire_value(value) for value in plain]}
    if len(plain) == 1 and next(iter(plain)) in SETS | {"S", "N", "B", "M", "L", "BOOL", "NULL"}:
        return plain
    return {"M": wire_item(plain)}


def wire_item(plain):
    return {name: wire_value(value) for name, value in plain.items()}


def matcher_of(expected):
    if isinstance(expected, dict) and len(expected) == 1:
        name = next(iter(expected))
        if name.startswith("$"):
            return name, expected[name]
    return None, None


def faults(expected, actual, saved, path="answer"):
    """A list of sentences, one for each difference between the answer and the expectation."""
    name, argument = matcher_of(expected)
    if name is not None:
        return MATCHERS[name](argument, actual, saved, path)
    if isinstance(expected, dict) and isinstance(actual, dict):
        return object_faults(expected, actual, saved, path)
    if isinstance(expected, list) and isinstance(actual, list):
        return array_faults(expected, actual, saved, path)
    return [] if same(expected, actual) else [f"{path}: expected {expected!r}, got {actual!r}"]


def same(expected, actual):
    """Whether two JSON values are equal. Unlike in Python, True is not 1, and -0.0 is not 0."""
    if isinstance(expected, bool) != isinstance(actual, bool):
        return False
    return expected == actual and (actual != 0 or not str(actual).startswith("-"))


def object_faults(expected, actual, saved, path, extra_allowed=False):
    found = []
    for member, wanted in expected.items():
        if matcher_of(wanted)[0] == "$absent":
            if member in actual:
                found.append(f"{path}.{member}: must be absent, is {actual[member]!r}")
        elif member not in actual:
            found.append(f"{path}.{member}: missing")
        elif member in SETS and isinstance(wanted, list):
            found += unordered_faults(wanted, actual[member], saved, f"{path}.{member}")
        else:
            found += faults(wanted, actual[member], saved, f"{path}.{member}")
    if not extra_allowed:
        found += [f"{path}.{member}: unexpected {actual[member]!r}" for member in actual if member not in expected]
    return found


def array_faults(expected, actual, saved, path):
    if len(expected) != len(actual):
        return [f"{path}: expected {len(expected)} elements, got {len(actual)}: {actual!r}"]
    found = []
    for position, (wanted, given) in enumerate(zip(expected, actual)):
        found += faults(wanted, given, saved, f"{path}[{position}]")
    return found


def unordered_faults(expected, actual, saved, path):
    if not isinstance(actual, list) or len(expected) != len(actual):
        return [f"{path}: expected {len(expected)} elements in any order, got {actual!r}"]
    left = list(actual)
    for wanted in expected:
        hit = next((given for given in left if not faults(wanted, given, {}, path)), None)
        if hit is None:
            return [f"{path}: nothing matches {wanted!r} in {left!r}"]
        left.remove(hit)
    return []


def string_faults(pattern, actual, _saved, path):
    ok = isinstance(actual, str) and re.fullmatch(pattern, actual, re.DOTALL)
    return [] if ok else [f"{path}: {actual!r} does not match /{pattern}/"]


def number_faults(bounds, actual, _saved, path):
    ok = isinstance(actual, (int, float)) and not isinstance(actual, bool) and bounds[0] <= actual <= bounds[1]
    return [] if ok else [f"{path}: {actual!r} is not a number in {bounds}"]


def has_faults(expected, actual, saved, path):
    if not isinstance(actual, dict):
        return [f"{path}: expected an object, got {actual!r}"]
    return object_faults(expected, actual, saved, path, extra_allowed=True)


def size_faults(length, actual, _saved, path):
    ok = isinstance(actual, list) and len(actual) == length
    return [] if ok else [f"{path}: expected {length} elements, got {actual!r}"]


def json_faults(expected, actual, saved, path):
    try:
        return faults(expected, json.loads(actual), saved, path)
    except (TypeError, ValueError):
        return [f"{path}: {actual!r} is no JSON"]


def save(name, actual, saved, _path):
    saved[name] = actual
    return []


MATCHERS = {
    "$any": lambda _argument, _actual, _saved, _path: [],
    "$absent": lambda _argument, actual, _saved, path: [f"{path}: must be absent, is {actual!r}"],
    "$string": string_faults,
    "$number": number_faults,
    "$has": has_faults,
    "$unordered": unordered_faults,
    "$size": size_faults,
    "$save": save,
    "$json": json_faults,
    "$plain": lambda plain, actual, saved, path: faults(wire_item(plain), actual, saved, path),
    "$plains": lambda plains, actual, saved, path: faults([wire_item(p) for p in plains], actual, saved, path),
}
