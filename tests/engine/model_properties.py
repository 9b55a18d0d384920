"""The engine against a dictionary: whatever is written, every read shows the same items.

One table with local and global indexes of every kind (hash only and composite, several attributes, S and N keys, all
projections) is written to at random. Few partitions and few values make items meet: the same keys again, equal index
keys, sparse rows.
"""

from __future__ import annotations

from base64 import b64decode
from collections.abc import Callable
from decimal import Decimal
from typing import Any, Final, NamedTuple

from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, rule

from sortkey.clock import ManualClock
from sortkey.engine.check.database_check import check_database
from sortkey.engine.database import Database
from sortkey.errors import ConditionalCheckFailedException, TransactionCanceledException
from tests.engine.samples import b, create, index, n, s, walk

Item = dict[str, dict[str, Any]]
Key = tuple[str, str]
KeyValue = Decimal | str | bytes


class Access(NamedTuple):
    """A table or an index: the names of its keys, and the attributes that it shows."""

    name: str | None
    partition: tuple[str, ...]
    sort: tuple[str, ...] = ()
    shown: frozenset[str] | None = None
    ties: tuple[str, ...] = ()
    """What orders items with equal sort keys, if that is known."""

    def show(self, item: Item) -> Item:
        return item if self.shown is None else {name: value for name, value in item.items() if name in self.shown}

    def holds(self, item: Item) -> bool:
        return all(name in item for name in self.partition + self.sort)

    def position(self, item: Item) -> tuple[KeyValue, ...]:
        """The position of an item in its partition."""
        return tuple(python_value(item[name]) for name in self.sort + self.ties)


TABLE: Final = Access(None, ("id",), ("at",))
INDEXES: Final = (
    Access("near_numbers", ("id",), ("num",), frozenset({"id", "at", "num"}), ties=("at",)),
    Access("near_texts", ("id",), ("text",), frozenset({"id", "at", "text", "load"}), ties=("at",)),
    Access("by_kind", ("kind",), ("num",)),
    Access("by_text", ("text",), (), frozenset({"id", "at", "text"})),
    Access("by_number", ("num",), ("kind",), frozenset({"id", "at", "num", "kind", "load"})),
    Access("inverted", ("at",), ("id",)),
    Access("by_kind_and_text", ("kind", "text")),
    Access("by_levels", ("id",), ("text", "num", "kind")),
    Access("by_raw", ("kind", "raw"), ("raw2", "num")),
    Access("by_all", ("id", "kind"), ("num", "at"), frozenset({"id", "kind", "num", "at", "load"})),
)

PARTITIONS: Final = ("a", "b")
NUMBERS: Final = ("-10", "-1.5", "0", "0.001", "2", "10")
TEXTS: Final = ("A", "a", "ab", "b", "é")
# Lengths around eight bytes, the groups of binary keys.
BINARIES: Final = (b"\x00", b"\x00\x00", b"\xff", b"\x01" * 8, b"\x01" * 9)
OPERATORS: Final[dict[str, Callable[..., bool]]] = {
    "#s = :x": lambda value, x, _: value == x,
    "#s < :x": lambda value, x, _: value < x,
    "#s <= :x": lambda value, x, _: value <= x,
    "#s > :x": lambda value, x, _: value > x,
    "#s >= :x": lambda value, x, _: value >= x,
    "#s BETWEEN :x AND :y": lambda value, x, y: x <= value <= y,
    "begins_with(#s, :x)": lambda value, x, _: value.startswith(x),
}

keys = st.tuples(st.sampled_from(PARTITIONS), st.sampled_from(NUMBERS))
attributes = st.fixed_dictionaries(
    {},
    optional={
        "kind": st.sampled_from(TEXTS).map(s),
        "num": st.sampled_from(NUMBERS).map(n),
        "text": st.sampled_from(TEXTS).map(s),
        "raw": st.sampled_from(BINARIES).map(b),
        "raw2": st.sampled_from(BINARIES).map(b),
        "load": st.sampled_from(["", "x", "é" * 600]).map(s),
        "hits": st.integers(-3, 3).map(n),
    },
)
writes = st.dictionaries(keys, st.none() | attributes, min_size=1, max_size=6)
"""What to leave at some keys: an item's other attributes, or nothing."""


def python_value(value: dict[str, Any]) -> KeyValue:
    """A key attribute's value as Python orders it: numbers by value, text by code point, binary by its bytes."""
    if "B" in value:
        return b64decode(value["B"])
    return Decimal(value["N"]) if "N" in value else str(value["S"])


def key_of(key: Key) -> Item:
    return {"id": s(key[0]), "at": n(key[1])}


class EngineAgainstDictionary(RuleBasedStateMachine):
    def __init__(self) -> None:
        super().__init__()
        self.database = Database(None, ManualClock())
        self.items: dict[Key, Item] = {}
        create(
            self.call,
            "table",
            "id:S",
            "at:N",
            local=[
                index("near_numbers", "id:S", "num:N", projection="KEYS_ONLY"),
                index("near_texts", "id:S", "text:S", include=["load"]),
            ],
            indexes=[
                index("by_kind", "kind:S", "num:N"),
                index("by_text", "text:S", projection="KEYS_ONLY"),
                index("by_number", "num:N", "kind:S", include=["load"]),
                index("inverted", "at:N", "id:S"),
                index("by_kind_and_text", "kind:S text:S"),
                index("by_levels", "id:S", "text:S num:N kind:S"),
                index("by_raw", "kind:S raw:B", "raw2:B num:N"),
                index("by_all", "id:S kind:S", "num:N at:N", include=["load"]),
            ],
        )

    def call(self, operation: str, **members: Any) -> dict[str, Any]:
        return self.database.call(operation, members)

    def leave(self, key: Key, item: Item | None) -> None:
        if item is None:
            self.items.pop(key, None)
        else:
            self.items[key] = item

    # writing

    @rule(key=keys, others=attributes)
    def put(self, key: Key, others: Item) -> None:
        answer = self.call("PutItem", TableName="table", Item={**key_of(key), **others}, ReturnValues="ALL_OLD")
        assert answer.get("Attributes") == self.items.get(key)
        self.items[key] = {**key_of(key), **others}

    @rule(key=keys, others=attributes)
    def put_once(self, key: Key, others: Item) -> None:
        item = {**key_of(key), **others}
        try:
            self.call("PutItem", TableName="table", Item=item, ConditionExpression="attribute_not_exists(id)")
        except ConditionalCheckFailedException:
            assert key in self.items
        else:
            assert key not in self.items
            self.items[key] = item

    @rule(key=keys, assigned=attributes, removed=st.sets(st.sampled_from(["kind", "num", "text", "load"])))
    def update(self, key: Key, assigned: Item, removed: set[str]) -> None:
        assigned = {name: value for name, value in assigned.items() if name not in removed}
        hits = assigned.pop("hits", n(1))
        names = {f"#{name}": name for name in {*assigned, *removed}}
        clauses = ["ADD hits :hits"]
        if assigned:
            clauses.append("SET " + ", ".join(f"#{name} = :{name}" for name in assigned))
        if removed:
            clauses.append("REMOVE " + ", ".join(f"#{name}" for name in removed))
        request: dict[str, Any] = {"ExpressionAttributeNames": names} if names else {}
        answer = self.call(
            "UpdateItem",
            TableName="table",
            Key=key_of(key),
            UpdateExpression=" ".join(clauses),
            ExpressionAttributeValues={":hits": hits, **{f":{name}": value for name, value in assigned.items()}},
            ReturnValues="ALL_NEW",
            **request,
        )
        before = self.items.get(key, key_of(key))
        after = {name: value for name, value in {**before, **assigned}.items() if name not in removed}
        after["hits"] = n(int(before.get("hits", n(0))["N"]) + int(hits["N"]))
        assert answer["Attributes"] == after
        self.items[key] = after

    @rule(key=keys)
    def delete(self, key: Key) -> None:
        answer = self.call("DeleteItem", TableName="table", Key=key_of(key), ReturnValues="ALL_OLD")
        assert answer.get("Attributes") == self.items.pop(key, None)

    @rule(writes=writes)
    def batch_write(self, writes: dict[Key, Item | None]) -> None:
        requests = [
            {"DeleteRequest": {"Key": key_of(key)}}
            if others is None
            else {"PutRequest": {"Item": {**key_of(key), **others}}}
            for key, others in writes.items()
        ]
        self.call("BatchWriteItem", RequestItems={"table": requests})
        for key, others in writes.items():
            self.leave(key, None if others is None else {**key_of(key), **others})

    # All puts go to new keys and all deletes to old ones, or nothing happens at all.
    @rule(writes=writes)
    def transact(self, writes: dict[Key, Item | None]) -> None:
        actions = [
            {"Delete": {"TableName": "table", "Key": key_of(key), "ConditionExpression": "attribute_exists(id)"}}
            if others is None
            else {
                "Put": {
                    "TableName": "table",
                    "Item": {**key_of(key), **others},
                    "ConditionExpression": "attribute_not_exists(id)",
                }
            }
            for key, others in writes.items()
        ]
        passing = [(key in self.items) == (others is None) for key, others in writes.items()]
        try:
            self.call("TransactWriteItems", TransactItems=actions)
        except TransactionCanceledException as error:
            reasons = [reason["Code"] == "None" for reason in error.members["CancellationReasons"]]
            assert reasons == passing
        else:
            assert all(passing)
            for key, others in writes.items():
                self.leave(key, None if others is None else {**key_of(key), **others})

    # reading

    @rule(wanted=st.sets(keys, min_size=1))
    def get_several(self, wanted: set[Key]) -> None:
        expected = [self.items.get(key) for key in wanted]
        single = [self.call("GetItem", TableName="table", Key=key_of(key)).get("Item") for key in wanted]
        assert single == expected
        gets = [{"Get": {"TableName": "table", "Key": key_of(key)}} for key in wanted]
        together = self.call("TransactGetItems", TransactItems=gets)["Responses"]
        assert [response.get("Item") for response in together] == expected
        batch = self.call("BatchGetItem", RequestItems={"table": {"Keys": [key_of(key) for key in wanted]}})
        assert batch["Responses"]["table"] == [item for item in expected if item is not None]

    @rule(
        access=st.sampled_from((TABLE, *INDEXES)),
        operator=st.none() | st.sampled_from(list(OPERATORS)),
        draw=st.data(),
        limit=st.none() | st.integers(1, 8),
    )
    def query(self, access: Access, operator: str | None, draw: st.DataObject, limit: int | None) -> None:
        # Some leading attributes of the sort key; the operator is for the last of them.
        given = access.sort[: draw.draw(st.integers(0, len(access.sort)))]
        equal = {name: draw.draw(_values_of(name)) for name in access.partition + given[:-1]}
        ranged, values, fits = _last_condition(given[-1] if given else None, operator, draw)
        names = {f"#{number}": name for number, name in enumerate(equal)}
        request: dict[str, Any] = {
            "TableName": "table",
            "KeyConditionExpression": " AND ".join([*(f"{name} = :{name[1:]}" for name in names), *ranged]),
            "ExpressionAttributeNames": names | ({"#s": given[-1]} if ranged else {}),
            "ExpressionAttributeValues": {f":{name[1:]}": equal[names[name]] for name in names} | values,
        }
        if access.name is not None:
            request["IndexName"] = access.name
        if limit is not None:
            request["Limit"] = limit
        forward = walk(self.call, "Query", **request)
        backward = walk(self.call, "Query", ScanIndexForward=False, **request)
        expected = [
            item
            for item in self._in(access)
            if all(item[name] == value for name, value in equal.items()) and fits(item)
        ]
        assert backward == forward[::-1]
        assert _by_key(forward) == _by_key([access.show(item) for item in expected])
        assert [access.position(item) for item in forward] == sorted(access.position(item) for item in expected)

    @rule(
        access=st.sampled_from((TABLE, *INDEXES)),
        segments=st.none() | st.integers(1, 5),
        limit=st.none() | st.integers(1, 8),
    )
    def scan(self, access: Access, segments: int | None, limit: int | None) -> None:
        request: dict[str, Any] = {"TableName": "table"}
        if access.name is not None:
            request["IndexName"] = access.name
        if limit is not None:
            request["Limit"] = limit
        parts: list[dict[str, Any]] = [{}]
        if segments is not None:
            parts = [{"Segment": number, "TotalSegments": segments} for number in range(segments)]
        found = [item for part in parts for item in walk(self.call, "Scan", **request, **part)]
        assert _by_key(found) == _by_key([access.show(item) for item in self._in(access)])

    def _in(self, access: Access) -> list[Item]:
        return [item for item in self.items.values() if access.holds(item)]

    @invariant()
    def counts_agree(self) -> None:
        table = self.call("DescribeTable", TableName="table")["Table"]
        counted = {None: table["ItemCount"]}
        for described in table["LocalSecondaryIndexes"] + table["GlobalSecondaryIndexes"]:
            counted[described["IndexName"]] = described["ItemCount"]
        assert counted == {access.name: len(self._in(access)) for access in (TABLE, *INDEXES)}

    def teardown(self) -> None:
        problems = check_database(self.database).problems
        self.database.close()
        assert problems == []


def _values_of(attribute: str) -> st.SearchStrategy[dict[str, Any]]:
    if attribute == "id":
        return st.sampled_from(PARTITIONS).map(s)
    if attribute in ("at", "num"):
        return st.sampled_from(NUMBERS).map(n)
    if attribute in ("raw", "raw2"):
        return st.sampled_from(BINARIES).map(b)
    return st.sampled_from(TEXTS).map(s)


def _last_condition(
    sort: str | None, operator: str | None, draw: st.DataObject
) -> tuple[list[str], dict[str, Any], Callable[[Item], bool]]:
    """What a key condition ends in, its values, and what it means in Python."""
    if sort is None or operator is None or (operator.startswith("begins") and sort in ("at", "num")):
        return [], {}, lambda _item: True
    low, high = sorted((draw.draw(_values_of(sort)), draw.draw(_values_of(sort))), key=python_value)
    values = {":x": low, ":y": high} if ":y" in operator else {":x": low}
    matches = OPERATORS[operator]
    return (
        [operator],
        values,
        lambda item: matches(python_value(item[sort]), python_value(low), python_value(high)),
    )


def _by_key(items: list[Item]) -> dict[Key, Item]:
    found = {(item["id"]["S"], item["at"]["N"]): item for item in items}
    assert len(found) == len(items)
    return found


EngineAgainstDictionary.TestCase.settings = settings(stateful_step_count=30, deadline=None)
TestEngineAgainstDictionary = EngineAgainstDictionary.TestCase
