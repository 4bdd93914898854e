"""Writes what Cassandra's tools would export of a table: `schema.cql` as DESCRIBE KEYSPACE prints it, and `orders.csv` as COPY … TO writes it.

    python3 scripts/make_cassandra_export.py ROWS FOLDER

The same number of rows gives the same files. The table has eight columns, a set and a map among them.
"""

import csv
import pathlib
import random
import sys

SCHEMA = """CREATE KEYSPACE shop WITH replication = {'class': 'SimpleStrategy', 'replication_factor': '1'};

CREATE TABLE shop.orders (
    customer text,
    number int,
    note text,
    amount decimal,
    paid boolean,
    at timestamp,
    tags set<text>,
    extras map<text, text>,
    PRIMARY KEY (customer, number)
);
"""
COLUMNS = ["customer", "number", "note", "amount", "paid", "at", "tags", "extras"]
TAGS = ["express", "fragile", "gift", "returned", "wholesale"]
ORDERS_OF_A_CUSTOMER = 10


def row(number, chance):
    """An order, with its values as cqlsh writes them."""
    day, minute = 1 + number % 28, number % 60
    tags = ", ".join(f"'{tag}'" for tag in sorted(chance.sample(TAGS, 2)))
    return [
        f"customer-{number // ORDERS_OF_A_CUSTOMER:07}",
        number % ORDERS_OF_A_CUSTOMER,
        f"note of order {number}, {chance.randrange(10**12):012}",
        f"{chance.randrange(1, 100_000)}.{chance.randrange(100):02}",
        chance.random() < 0.5,
        f"2026-05-{day:02} 08:{minute:02}:00.000+0000",
        f"{{{tags}}}",
        f"{{'carrier': 'c{chance.randrange(9)}', 'shelf': 's{chance.randrange(99)}'}}",
    ]


def main(rows, folder):
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "schema.cql").write_text(SCHEMA)
    chance = random.Random(rows)
    with open(folder / "orders.csv", "w", newline="") as file:
        writer = csv.writer(file)
        writer.writerow(COLUMNS)
        writer.writerows(row(number, chance) for number in range(rows))


if __name__ == "__main__":
    if len(sys.argv) != 3 or not sys.argv[1].isdecimal():
        sys.exit("usage: make_cassandra_export.py ROWS FOLDER")
    main(int(sys.argv[1]), pathlib.Path(sys.argv[2]))
