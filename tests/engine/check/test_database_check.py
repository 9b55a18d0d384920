"""The check reports nothing for a sound store, and a precise problem for each type of damage."""

from __future__ import annotations

import zlib
from collections.abc import Callable
from pathlib import Path

import lmdb
import orjson
import pytest

from sortkey.clock import ManualClock
from sortkey.engine.check import database_check
from sortkey.engine.check.database_check import CheckReport, check, check_database
from sortkey.engine.database import Database
from sortkey.engine.janitor.backups import block_key
from sortkey.engine.operations.backups import remove
from sortkey.engine.rows import records, stored_item
from sortkey.engine.rows.job_records import BACKUPS
from sortkey.engine.rows.write_batch import WriteBatch
from sortkey.engine.streams.stream_writer import HEADER, RECORD_KEY, reshard
from sortkey.storage import StorageError, Transaction, after_prefix, ascending, payload_of, seal
from sortkey.values.attribute import Item
from tests.engine.conftest import Call
from tests.engine.orders import Orders, number, text
from tests.engine.samples import create, s

TABLE, INDEX, STREAM = (records.space_bytes(records.FIRST_FREE + at) for at in (0, 2, 1))
Damage = Callable[[Transaction], object]


@pytest.fixture
def folder(tmp_path: Path, clock: ManualClock) -> Path:
    """A table with an index, a stream of two generations of shards, a TTL, and three items."""
    path = tmp_path / "data"
    db = Database(path, clock)
    orders = Orders(db, "NEW_IMAGE")
    orders.add_index("city", projection="KEYS_ONLY")
    orders.expire_by("ends")
    db.janitor.sweep()
    orders.put("a", city=text("x"), ends=number(1_800_000_000))
    reshard(db, orders.name, 2)
    orders.put("b", city=text("y"), photo={"B": "AAEC"})
    orders.put("c")
    db.close()
    return path


def damage(folder: Path, harm: Damage) -> None:
    with (
        lmdb.open(str(folder), map_size=1 << 30, lib_version=1) as environment,
        environment.begin(write=True) as transaction,
    ):
        harm(transaction)


def put(transaction: Transaction, key: bytes, payload: bytes) -> None:
    """Put a record as a faulty program would, with a right checksum."""
    transaction.put(key, seal(key, payload))


def entries(transaction: Transaction, space: bytes) -> list[tuple[bytes, bytes]]:
    """Keys and payloads."""
    return [(key, payload_of(value)) for key, value in ascending(transaction, space, after_prefix(space))]


def row_of(transaction: Transaction, key: str, space: bytes = TABLE) -> tuple[bytes, bytes]:
    return next(entry for entry in entries(transaction, space) if item_of(entry[1])["id"]["S"] == key)


def item_of(payload: bytes) -> Item:
    item: Item = orjson.loads(payload[stored_item.HEADER_BYTES :])
    return item


def only_problem(folder: Path) -> str:
    (problem,) = check(folder).problems
    return problem


def test_sound_folder(folder: Path) -> None:
    assert check(folder) == CheckReport(tables=1, items=3, index_rows=2, problems=[])


def test_progress_is_reported_by_table(folder: Path) -> None:
    reported: list[tuple[str, int, int]] = []
    check(folder, lambda *step: reported.append(step))
    assert reported == [("orders", 3, 3)]


# The command takes any path; a typing error must not create an empty database.
@pytest.mark.parametrize("name", ["missing", "empty"])
def test_folder_without_a_database_is_rejected_and_not_changed(tmp_path: Path, name: str) -> None:
    (tmp_path / "empty").mkdir()
    with pytest.raises(StorageError, match="is not a data folder of Sortkey"):
        check(tmp_path / name)
    assert list(tmp_path.rglob("*")) == [tmp_path / "empty"]


def test_database_of_another_program_is_rejected(tmp_path: Path) -> None:
    damage(tmp_path, lambda transaction: transaction.put(b"other", b"thing"))
    with pytest.raises(StorageError, match="holds a database, but not one of Sortkey"):
        check(tmp_path)


def test_folder_in_use_can_be_checked_within_the_process(db: Database) -> None:
    Orders(db).put("a")
    assert check_database(db) == CheckReport(tables=1, items=1, index_rows=0, problems=[])


def test_row_that_is_not_json(folder: Path) -> None:
    def harm(transaction: Transaction) -> None:
        key, row = row_of(transaction, "c")
        put(transaction, key, row[:-1] + b"?")

    damage(folder, harm)
    assert "does not contain an item of this table (JSONDecodeError" in only_problem(folder)


def test_row_that_is_shorter_than_its_header(folder: Path) -> None:
    damage(folder, lambda transaction: put(transaction, row_of(transaction, "c")[0], b"\0"))
    lost, wrong_count = check(folder).problems
    assert "does not contain an item of this table" in lost
    assert "counted" in wrong_count


def test_item_without_the_tables_key(folder: Path) -> None:
    def harm(transaction: Transaction) -> None:
        key, row = row_of(transaction, "c")
        put(transaction, key, stored_item.payload({"di": text("c")}, stored_item.size(row), binary=False))

    damage(folder, harm)
    assert "does not contain an item of this table (KeyError: 'id')" in only_problem(folder)


def test_item_under_a_wrong_row_key(folder: Path) -> None:
    def harm(transaction: Transaction) -> None:
        key, row = row_of(transaction, "c")
        transaction.delete(key)
        put(transaction, key[:-1] + bytes([key[-1] ^ 1]), row)

    damage(folder, harm)
    assert "its item belongs under" in only_problem(folder)


def test_item_that_is_not_canonical(folder: Path) -> None:
    def harm(transaction: Transaction) -> None:
        key, row = row_of(transaction, "c")
        # The same size by AWS's rules as before; only the number's text is wrong.
        item = {"id": text("c"), "n": {"N": "1.0"}}
        put(transaction, key, stored_item.payload(item, stored_item.size(row), binary=False))

    damage(folder, harm)
    assert any("its item is not canonical" in problem for problem in check(folder).problems)


def test_wrong_size(folder: Path) -> None:
    def harm(transaction: Transaction) -> None:
        key, row = row_of(transaction, "c")
        put(transaction, key, stored_item.payload(item_of(row), 99, binary=False))

    damage(folder, harm)
    size, count = check(folder).problems
    assert "its size is stored as 99, but is 3" in size
    assert "counted" in count


def test_wrong_mark_of_binary(folder: Path) -> None:
    def harm(transaction: Transaction) -> None:
        key, row = row_of(transaction, "b")
        put(transaction, key, bytes([row[0] ^ 0x80]) + row[1:])

    damage(folder, harm)
    assert "it is marked as not binary" in only_problem(folder)


def test_missing_row_is_seen_in_the_count(folder: Path) -> None:
    damage(folder, lambda transaction: transaction.delete(row_of(transaction, "c")[0]))
    assert only_problem(folder).startswith("table orders: counted 3 items of")


def test_missing_index_row(folder: Path) -> None:
    damage(folder, lambda transaction: transaction.delete(row_of(transaction, "a", INDEX)[0]))
    lacking, count = check(folder).problems
    assert "index orders/by_attribute: has no row for table row" in lacking
    assert "index orders/by_attribute: counted 2 items" in count


def test_index_row_that_differs_from_its_item(folder: Path) -> None:
    def harm(transaction: Transaction) -> None:
        key, row = row_of(transaction, "a", INDEX)
        item = {**item_of(row), "city": text("z")}
        put(transaction, key, stored_item.payload(item, stored_item.size(row), binary=False))

    damage(folder, harm)
    assert "differs from the item" in only_problem(folder)


def test_index_row_of_no_item(folder: Path) -> None:
    def harm(transaction: Transaction) -> None:
        key, row = row_of(transaction, "a", INDEX)
        put(transaction, key[:-1] + bytes([key[-1] ^ 1]), row)

    damage(folder, harm)
    extra, count = check(folder).problems
    assert extra == "index orders/by_attribute: 1 rows belong to no item"
    assert "counted" in count


def test_missing_expiry_entry(folder: Path) -> None:
    damage(folder, lambda transaction: transaction.delete(entries(transaction, records.EXPIRY)[0][0]))
    assert "table orders: has no expiry entry for row" in only_problem(folder)


def test_expiry_entry_of_no_item(folder: Path) -> None:
    def harm(transaction: Transaction) -> None:
        put(transaction, entries(transaction, records.EXPIRY)[0][0] + b"x", b"")

    damage(folder, harm)
    assert only_problem(folder) == "table orders: 1 expiry entries belong to no item"


def test_space_of_nothing(folder: Path) -> None:
    damage(folder, lambda transaction: put(transaction, records.space_bytes(99) + b"x", b""))
    assert only_problem(folder) == "space 99 has no owner"


def test_count_of_nothing(folder: Path) -> None:
    damage(folder, lambda transaction: put(transaction, records.COUNTS + records.space_bytes(99), b""))
    assert only_problem(folder) == "space 99 has a count, but is not a table or index"


def test_space_marked_as_garbage_while_in_use(folder: Path) -> None:
    damage(folder, lambda transaction: put(transaction, records.GARBAGE + TABLE, b""))
    assert only_problem(folder) == f"space {records.FIRST_FREE} is in use, but marked as garbage"


def test_space_that_would_be_assigned_again(folder: Path) -> None:
    damage(folder, lambda transaction: put(transaction, records.NEXT_SPACE, b"\1"))
    assert only_problem(folder).endswith("is in use, but would be assigned again")


def test_catalog_that_cannot_be_read(folder: Path) -> None:
    damage(folder, lambda transaction: put(transaction, records.TABLE_PREFIX + b"orders", b"{"))
    assert check(folder).problems[0].startswith("the catalog cannot be read")


def first_record(transaction: Transaction) -> tuple[bytes, bytes]:
    return entries(transaction, STREAM)[0]


def moved(shard: int, sequence: int) -> Damage:
    def harm(transaction: Transaction) -> None:
        key, value = first_record(transaction)
        transaction.delete(key)
        content = orjson.loads(value[HEADER.size :])
        content["dynamodb"]["SequenceNumber"] = f"{sequence:021}"
        put(transaction, STREAM + RECORD_KEY.pack(shard, sequence), value[: HEADER.size] + orjson.dumps(content))

    return harm


def edited(**members: object) -> Damage:
    def harm(transaction: Transaction) -> None:
        key, value = first_record(transaction)
        content = orjson.loads(value[HEADER.size :])
        content["dynamodb"].update(members)
        put(transaction, key, value[: HEADER.size] + orjson.dumps(content))

    return harm


def marked_as_binary(transaction: Transaction) -> None:
    key, value = first_record(transaction)
    put(transaction, key, bytes([value[0] | 0x80]) + value[1:])


def trimmed_beyond(transaction: Transaction) -> None:
    put(transaction, STREAM + RECORD_KEY.pack(0, 0), (5).to_bytes(8, "big"))


@pytest.mark.parametrize(
    ("harm", "problem"),
    [
        pytest.param(moved(7, 1), "record 1 is in shard 7, which does not exist", id="unknown shard"),
        pytest.param(moved(0, 4), "record 4 is outside its shard's range, 1 to 2", id="after the shard's end"),
        pytest.param(edited(SequenceNumber="0"), "record 1 has the sequence number 0", id="another number"),
        pytest.param(edited(Keys={"id": {}}), "record 1 is not a change of this table", id="no key"),
        pytest.param(edited(OldImage={}), "record 1 does not have the images of NEW_IMAGE", id="wrong images"),
        pytest.param(marked_as_binary, "record 1 has a wrong binary mark", id="wrong mark"),
        pytest.param(trimmed_beyond, "record 1 exists, but its shard was trimmed past it", id="trimmed"),
    ],
)
def test_damaged_stream_record(folder: Path, harm: Damage, problem: str) -> None:
    damage(folder, harm)
    assert problem in only_problem(folder)


def test_stream_record_in_a_shard_of_other_items(folder: Path) -> None:
    def harm(transaction: Transaction) -> None:
        key, value = next(entry for entry in entries(transaction, STREAM) if RECORD_KEY.unpack_from(entry[0], 4)[0] > 0)
        shard, sequence = RECORD_KEY.unpack_from(key, 4)
        transaction.delete(key)
        put(transaction, STREAM + RECORD_KEY.pack(3 - shard, sequence), value)

    damage(folder, harm)
    assert "belongs to an item outside its shard's slice" in only_problem(folder)


def test_problems_above_the_limit_are_only_counted(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(database_check, "MOST_PROBLEMS", 2)

    def harm(transaction: Transaction) -> None:
        for number_of_space in range(90, 95):
            put(transaction, records.space_bytes(number_of_space) + b"x", b"")

    damage(folder, harm)
    assert check(folder).problems[2:] == ["and 3 more"]


def test_a_backup_that_lacks_rows(db: Database, call: Call) -> None:
    create(call, "saved", "id:S")
    for key in "abc":
        call("PutItem", TableName="saved", Item={"id": s(key)})
    call("CreateBackup", TableName="saved", BackupName="daily")
    db.janitor.sweep()

    def lose(batch: WriteBatch) -> None:
        (backup,) = BACKUPS.all(batch.transaction)
        batch.put_record(block_key(backup.space, 0), zlib.compress(b""))

    db.store.write(lose)
    (problem,) = check_database(db).problems
    assert "counted 3 items of 9 bytes, there are 0 items of 0 bytes" in problem
    db.store.write(lambda batch: remove(batch, next(BACKUPS.all(batch.transaction))))
