"""The tables that random requests use: every key type, with and without indexes."""

import pathlib
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent))
from runner import tables  # noqa: E402

SHORT = {
    "plain": "pk:S",
    "wide": {"key": "pk:S sk:S", "gsi": {"by_g": "g:S r:N"}, "lsi": {"by_lx": "pk:S lx:S"}},
    "numbers": {"key": "pk:N sk:N", "gsi": {"by_g": {"key": "g:S", "project": "KEYS_ONLY"}}},
    "bytes": "pk:B sk:B",
    "mixed": {
        "key": "pk:S sk:N",
        "gsi": {"by_r": {"key": "r:N", "project": ["a", "b"]}},
        "lsi": {"by_a": {"key": "pk:S a:N", "project": "KEYS_ONLY"}},
    },
}


class Table:
    """One table: its name, its key as (name, type), its indexes as (name, key, is global), and the attributes of partial indexes."""

    def __init__(self, short_name, name):
        short = SHORT[short_name]
        spec = {"key": short} if isinstance(short, str) else short
        self.name = name
        self.create_request = tables.create_table(name, short)
        self.key = self.flat(spec["key"])
        self.indexes = [
            (index, self.flat(given if isinstance(given, str) else given["key"]), kind == "gsi")
            for kind in ("gsi", "lsi")
            for index, given in spec.get(kind, {}).items()
        ]
        self.types = {part["AttributeName"]: part["AttributeType"] for part in self.create_request["AttributeDefinitions"]}
        self.held = {
            given["IndexName"]: self.held_by(given)
            for kind in ("GlobalSecondaryIndexes", "LocalSecondaryIndexes")
            for given in self.create_request.get(kind, [])
            if given["Projection"]["ProjectionType"] != "ALL"
        }

    def held_by(self, index):
        """The attributes that an index without the whole rows has."""
        keys = {name for name, _ in self.key} | {part["AttributeName"] for part in index["KeySchema"]}
        return keys | set(index["Projection"].get("NonKeyAttributes", []))

    @staticmethod
    def flat(text):
        hash_part, range_part = tables.split_key(text)
        return hash_part + range_part


def all_tables(prefix):
    return [Table(short, f"{prefix}_{short}") for short in SHORT]
