"""The short form of tables in case files.

    "pk:S sk:N"                                        a key
    {"key": "pk:S", "gsi": {"by_a": "a:S b:N"},         indexes project everything
     "lsi": {"by_c": {"key": "pk:S c:N", "project": "KEYS_ONLY"}}, "stream": "NEW_IMAGE"}

`project` is KEYS_ONLY, ALL, or a list of attributes. Several partition attributes are written before a `/`:
"tenant:S region:S / year:N month:N". Any other member is passed to CreateTable as it stands.
"""


def split_key(text):
    """([partition attributes], [sort attributes]), each as (name, type)."""
    hash_text, _, range_text = text.partition("/")
    words = [tuple(word.split(":")) for word in hash_text.split()]
    if range_text:
        return words, [tuple(word.split(":")) for word in range_text.split()]
    return words[:1], words[1:]


def key_schema(text):
    hash_part, range_part = split_key(text)
    schema = [{"AttributeName": name, "KeyType": "HASH"} for name, _ in hash_part]
    return schema + [{"AttributeName": name, "KeyType": "RANGE"} for name, _ in range_part]


def index(name, short):
    key = short if isinstance(short, str) else short["key"]
    project = "ALL" if isinstance(short, str) else short.get("project", "ALL")
    projection = {"ProjectionType": project}
    if isinstance(project, list):
        projection = {"ProjectionType": "INCLUDE", "NonKeyAttributes": project}
    return {"IndexName": name, "KeySchema": key_schema(key), "Projection": projection}


def attribute_definitions(keys):
    types = {}
    for key in keys:
        for part in split_key(key):
            types.update(part)
    return [{"AttributeName": name, "AttributeType": kind} for name, kind in sorted(types.items())]


def create_table(name, short):
    """The CreateTable request of a table in the short form."""
    spec = {"key": short} if isinstance(short, str) else dict(short)
    key, gsi, lsi = spec.pop("key"), spec.pop("gsi", {}), spec.pop("lsi", {})
    stream = spec.pop("stream", None)
    keys = [key] + [i if isinstance(i, str) else i["key"] for i in [*gsi.values(), *lsi.values()]]
    request = {
        "TableName": name,
        "KeySchema": key_schema(key),
        "AttributeDefinitions": attribute_definitions(keys),
        "BillingMode": "PAY_PER_REQUEST",
    }
    if gsi:
        request["GlobalSecondaryIndexes"] = [index(name, short) for name, short in gsi.items()]
    if lsi:
        request["LocalSecondaryIndexes"] = [index(name, short) for name, short in lsi.items()]
    if stream:
        request["StreamSpecification"] = {"StreamEnabled": True, "StreamViewType": stream}
    return {**request, **spec}
