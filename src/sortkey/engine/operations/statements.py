"""PartiQL: ExecuteStatement, BatchExecuteStatement, ExecuteTransaction.

A statement becomes what the other operations are made of (see `statement_plans`), so it has their effects, their costs
and their errors. Each of the three operations is a read or a write by its statements.
"""

from __future__ import annotations

from base64 import urlsafe_b64decode, urlsafe_b64encode
from collections.abc import Mapping
from hashlib import blake2b
from typing import Any, Final, NamedTuple

import orjson

from sortkey.engine.operations.answers import Consumed, is_requested, total_by_table
from sortkey.engine.operations.items import ANY_KEY, attributes_of, row_by_key
from sortkey.engine.operations.pages import PageWalk, start_row
from sortkey.engine.operations.rehearsal import rehearsed
from sortkey.engine.operations.slices import SLICE_UNITS, Slices, units_of_rows, units_of_text
from sortkey.engine.operations.statement_plans import (
    Given,
    Rows,
    check_in_transaction,
    given,
    item_of_several,
    read_plan,
    returned,
    write_plan,
    writes,
)
from sortkey.engine.operations.transactions import (
    Action,
    Get,
    Prepared,
    check_distinct,
    map_actions,
    read_together,
    reason_code,
    token_of,
    write_together,
)
from sortkey.engine.requests.statements import (
    AnyStatements,
    BatchExecuteStatement,
    ExecuteStatement,
    ExecuteTransaction,
    statements_of,
)
from sortkey.engine.rows.stored_item import Json
from sortkey.engine.rows.write_batch import WriteBatch
from sortkey.engine.tables.core import Answer, Core, Work, not_found, require_table
from sortkey.engine.tables.table import Table, checked_row_key
from sortkey.errors import DynamoDBError, ResourceNotFoundException, ValidationException
from sortkey.expressions.partiql_parser import parse_statement
from sortkey.expressions.partiql_tree import Exists
from sortkey.limits import PAGE_BYTES
from sortkey.values.attribute import AttributeValue

BAD_TOKEN: Final = "Invalid NextToken"
OTHER_TOKEN: Final = "NextToken does not match request"
DUPLICATES: Final = "Provided list of item keys contains duplicates"
MIXED_BATCH: Final = "Read and write requests together in the same batch is not supported."
MIXED_TRANSACTION: Final = "ExecuteTransaction API does not support both read and write operations in the same request."
ONLY_IN_TRANSACTIONS: Final = "EXISTS can only be used in ExecuteTransaction write requests."
NOT_ONE_ITEM: Final = "Select statements within BatchExecuteStatement must specify the primary key in the where clause."
DIGEST_BYTES: Final = 8
TOTAL: Final = ("TableName", "CapacityUnits")
"""The members of consumed capacity without its indexes."""


def is_write(request: AnyStatements) -> bool:
    """Whether the request's statements are writes. If they are mixed, the read rejects them."""
    return _kinds(request) == {True}


def _kinds(request: AnyStatements) -> set[bool]:
    """Whether there are writes, and whether there are reads; a text that cannot be parsed is neither."""
    return {kind for each in statements_of(request) if (kind := writes(each.statement)) is not None}


# ExecuteStatement


def select(core: Core, request: ExecuteStatement) -> Slices[Answer]:
    """ExecuteStatement of a SELECT."""
    one = given(request)
    snapshot, tables = core.read_tables()
    try:
        plan = read_plan(one, tables)
    finally:
        snapshot.abort()
    if isinstance(plan, Get):
        return _item(core, plan, request)
    return (yield from _RowsReader(core, plan, request, one.parameters).answer())


def _item(core: Core, plan: Get, request: ExecuteStatement) -> Answer:
    if request.next_token is not None:
        _read_token(request.next_token)
        raise ValidationException(OTHER_TOKEN)
    response, consumed = _read_item(core, plan, bool(request.consistent_read))
    answer: Answer = {"Items": [response["Item"]] if response else []}
    if is_requested(request.return_consumed_capacity):
        answer["ConsumedCapacity"] = consumed.shape(request.return_consumed_capacity)
    return answer


def _read_item(core: Core, plan: Get, consistent: bool) -> tuple[dict[str, Any], Consumed]:
    found = row_by_key(core, plan.name, plan.key, consistent, ANY_KEY)
    if found is None:
        raise not_found()
    table, row, units = found
    return plan.answer(row), Consumed(table, units)


class _RowsReader:
    """Reads the ranges of a SELECT, one after the other, up to a page."""

    def __init__(self, core: Core, plan: Rows, request: ExecuteStatement, parameters: list[AttributeValue]) -> None:
        self._core = core
        self._plan = plan
        self._limit = request.limit
        self._size = 0
        self._detail = request.return_consumed_capacity
        self._consistent = bool(request.consistent_read)
        self._consumed: dict[str, Any] = {}
        self._binding = _digest(plan.table.space, request.statement, parameters)
        self._range, self._start = self._position(request.next_token)

    def answer(self) -> Slices[Answer]:
        texts: list[bytes] = []
        binary = False
        last: Json | None = None
        while True:
            part = yield from self._part()
            items = part["Items"]
            if items.text != b"[]":
                texts.append(items.text[1:-1])
                binary = binary or items.binary
            last = part.get("LastEvaluatedKey")
            if last is None:
                self._range += 1
            if last is not None or self._range == len(self._plan.ranges) or self._is_full():
                break
            yield
        answer: Answer = {"Items": Json(b"[%b]" % b",".join(texts), binary)}
        if self._range < len(self._plan.ranges):
            answer["NextToken"] = self._token(last)
        if last is not None:
            answer["LastEvaluatedKey"] = last
        if is_requested(self._detail):
            indexed = self._detail == "INDEXES"
            kept = (
                self._consumed if indexed else {name: self._consumed[name] for name in ("TableName", "CapacityUnits")}
            )
            answer["ConsumedCapacity"] = kept
        return answer

    def _part(self) -> Slices[Answer]:
        """The answer of a Query or Scan of the current range."""
        plan = self._plan
        low, high = plan.ranges[self._range]
        snapshot = self._core.read()
        try:
            if self._start is not None:
                low, high = self._rest(low, high, self._start)
            walk = PageWalk(self._core, snapshot, low, high, plan.forward, self._limit, PAGE_BYTES - self._size)
            rows = walk.first_rows()
            part = plan.selection.answer_at_once(plan.table, plan.target, walk, rows)
            if part is None:
                part = yield from plan.selection.answer(plan.table, plan.target, walk, rows)
        finally:
            snapshot.abort()
        if not plan.scans:
            walk.charge(self._consistent)
        self._start = None
        self._size += walk.size
        if self._limit is not None:
            self._limit -= walk.rows_read
        self._consumed = _sum(self._consumed, part.get("ConsumedCapacity", {}))
        return part

    def _rest(self, low: bytes, high: bytes, start: dict[str, Any]) -> tuple[bytes, bytes]:
        _, row = start_row(self._plan.table, self._plan.target, start, BAD_TOKEN)
        if not low <= row < high:
            raise ValidationException(BAD_TOKEN)
        return (row + b"\0", high) if self._plan.forward else (low, row)

    def _is_full(self) -> bool:
        return self._size >= PAGE_BYTES or self._limit == 0

    def _token(self, last: Json | None) -> str:
        """Where the next page starts: the range, and the key that was evaluated last in it."""
        place = orjson.dumps([self._range, None if last is None else orjson.loads(last.text)])
        return urlsafe_b64encode(_sealed(place, self._binding) + place).decode()

    def _position(self, token: str | None) -> tuple[int, dict[str, Any] | None]:
        if token is None:
            return 0, None
        read = _read_token(token)
        if read.seal != _sealed(read.place, self._binding):
            raise ValidationException(OTHER_TOKEN)
        number, start = orjson.loads(read.place)
        return number, start


class _Token(NamedTuple):
    seal: bytes
    place: bytes


def _read_token(token: str) -> _Token:
    """The parts of a token, perhaps of another statement."""
    try:
        raw = urlsafe_b64decode(token)
        read = _Token(raw[:DIGEST_BYTES], raw[DIGEST_BYTES:])
        orjson.loads(read.place)
    except ValueError:
        raise ValidationException(BAD_TOKEN) from None
    if urlsafe_b64encode(raw).decode() != token:
        raise ValidationException(BAD_TOKEN)
    return read


def _digest(space: bytes, statement: str, parameters: list[AttributeValue]) -> bytes:
    """Stands for what a page must have in common with the next one: the table, the statement and its parameters, as the
    engine has read them."""
    content = orjson.dumps([statement, parameters], option=orjson.OPT_SORT_KEYS)
    return blake2b(space + content, digest_size=32).digest()


def _sealed(place: bytes, binding: bytes) -> bytes:
    return blake2b(place, digest_size=DIGEST_BYTES, key=binding).digest()


def _sum(one: Any, other: Any) -> Any:
    """Two shapes of consumed capacity, added."""
    if isinstance(one, dict) and isinstance(other, dict):
        return {name: _sum(one.get(name), other.get(name)) for name in {**one, **other}}
    if one is None or other is None:
        return other if one is None else one
    return one if isinstance(one, str) else one + other


def change(core: Core, request: ExecuteStatement) -> Work:
    """ExecuteStatement of an INSERT, UPDATE or DELETE."""
    one = given(request)
    action = _planned_write(core, one)

    def work(batch: WriteBatch) -> Answer:
        prepared = _prepare(core, batch, action)
        consumed = prepared.apply(batch)
        answer: Answer = {"Items": _returned(one, prepared)}
        if is_requested(request.return_consumed_capacity):
            answer["ConsumedCapacity"] = consumed.shape(request.return_consumed_capacity)
        return answer

    return rehearsed(work, (action.name, action.keyed, action.condition))


def _planned_write(core: Core, one: Given) -> Action:
    if isinstance(one.statement.body, Exists):
        raise ValidationException(ONLY_IN_TRANSACTIONS)
    snapshot, tables = core.read_tables()
    snapshot.abort()
    return write_plan(one, require_table(tables, one.table_name))


def _prepare(core: Core, batch: WriteBatch, action: Action) -> Prepared:
    found = action.find(batch, core.catalog.require_in(batch, action.name))
    action.check_expressions(found.table)
    return action.prepare(found)


def _returned(one: Given, prepared: Prepared) -> list[Json]:
    attributes = attributes_of(returned(one.statement), prepared.found, prepared.action.update, prepared.new)
    return [] if attributes is None else [attributes]


# BatchExecuteStatement


class _Entry:
    """A statement of a batch, and what has become of it."""

    def __init__(self, core: Core, tables: Mapping[str, Table], request: Any) -> None:
        self.request = request
        self.response: dict[str, Any] = {}
        self.consumed: Consumed | None = None
        self.get: Get | None = None
        self.action: Action | None = None
        self.prepared: Prepared | None = None
        try:
            self._plan(core, tables)
        except (ResourceNotFoundException, ValidationException) as error:
            self.fail(error)

    def _plan(self, core: Core, tables: Mapping[str, Table]) -> None:
        self.one = given(self.request)
        if self.one.statement.writes:
            self.action = _planned_write(core, self.one)
            return
        self.get = item_of_several(self.one, require_table(tables, self.one.table_name))
        if self.get is None:
            raise ValidationException(NOT_ONE_ITEM)

    def fail(self, error: DynamoDBError, table: str | None = None) -> None:
        # Without the item, even if ReturnValuesOnConditionCheckFailure asks for it.
        why = {"Code": reason_code(error), "Message": error.message}
        self.response = {"Error": why} | ({} if table is None else {"TableName": table})

    def row_key(self, tables: Mapping[str, Table]) -> bytes | None:
        found = self.get or self.action
        if found is None:
            return None
        keyed = found.key if isinstance(found, Get) else found.keyed
        table = tables[found.name]
        return checked_row_key(table, table.key_of(keyed))


def _entries(core: Core, request: BatchExecuteStatement) -> list[_Entry]:
    snapshot, tables = core.read_tables()
    snapshot.abort()
    entries = [_Entry(core, tables, each) for each in request.statements]
    row_keys = [key for entry in entries if (key := entry.row_key(tables)) is not None]
    if len(set(row_keys)) != len(row_keys):
        raise ValidationException(DUPLICATES)
    return entries


def batch_read(core: Core, request: BatchExecuteStatement) -> Slices[Answer]:
    """BatchExecuteStatement of SELECTs, each of one item."""
    if len(_kinds(request)) > 1:
        raise ValidationException(MIXED_BATCH)
    entries = _entries(core, request)
    work = 0
    for entry in entries:
        get = entry.get
        if get is None:
            continue
        try:
            response, entry.consumed = _read_item(core, get, bool(entry.request.consistent_read))
        except ResourceNotFoundException as error:
            entry.fail(error)
            continue
        entry.response = {"TableName": get.name, **response}
        rows = [response["Item"].text] if response else []
        work += units_of_text(rows) if get.projection is None else units_of_rows(rows, 0)
        if work >= SLICE_UNITS:
            work = 0
            yield
    return _batch_answer(request, entries)


def batch_write(core: Core, request: BatchExecuteStatement) -> Work:
    """BatchExecuteStatement of writes: they share a commit, but each of them succeeds or fails by itself."""
    entries = _entries(core, request)

    def work(batch: WriteBatch) -> Answer:
        # All are judged before any is applied: their items are distinct.
        for entry in entries:
            if entry.action is None:
                continue
            # The work runs again if it was not rehearsed, or the store was full.
            entry.prepared = entry.consumed = None
            try:
                entry.prepared = _prepare(core, batch, entry.action)
            except DynamoDBError as error:
                if error.status >= 500:
                    raise
                entry.fail(error, entry.action.name)
        for entry in entries:
            if entry.prepared is not None:
                entry.consumed = entry.prepared.apply(batch)
                items = _returned(entry.one, entry.prepared)
                entry.response = {"TableName": entry.prepared.action.name} | ({"Item": items[0]} if items else {})
        return _batch_answer(request, entries)

    actions = [entry.action for entry in entries if entry.action is not None]
    return rehearsed(work, *((action.name, action.keyed, action.condition) for action in actions))


def _batch_answer(request: BatchExecuteStatement, entries: list[_Entry]) -> Answer:
    answer: Answer = {"Responses": [entry.response for entry in entries]}
    detail = request.return_consumed_capacity
    if is_requested(detail):
        totals = total_by_table([entry.consumed for entry in entries if entry.consumed is not None])
        if totals:
            answer["ConsumedCapacity"] = [total.shape(detail) for total in totals.values()]
    return answer


# ExecuteTransaction


def transact_read(core: Core, request: ExecuteTransaction) -> Slices[Answer]:
    """ExecuteTransaction of SELECTs."""
    statements, tables = _transaction(core, request)
    if len(_kinds(request)) > 1:
        raise ValidationException(MIXED_TRANSACTION)
    gets = [get for one in statements if (get := item_of_several(one, tables[one.table_name])) is not None]
    responses, consumed = yield from read_together(core, gets)
    answer: Answer = {"Responses": responses}
    return _with_capacity(answer, request, consumed, "Read")


def transact_write(core: Core, request: ExecuteTransaction) -> Work:
    """ExecuteTransaction of writes and EXISTS."""
    statements, tables = _transaction(core, request)
    actions = map_actions(lambda one: write_plan(one, tables[one.table_name]), statements)
    check_distinct(
        [checked_row_key(tables[action.name], tables[action.name].key_of(action.keyed)) for action in actions]
    )
    token = token_of(request.client_request_token, actions)

    def answer(_batch: WriteBatch, prepared: list[Prepared] | None, consumed: list[Consumed]) -> Answer:
        return _with_capacity({"Responses": []}, request, consumed, "Read" if prepared is None else "Write")

    return write_together(core, actions, token, answer)


def _transaction(core: Core, request: ExecuteTransaction) -> tuple[list[Given], Mapping[str, Table]]:
    """The statements, checked, and the tables."""
    snapshot, tables = core.read_tables()
    snapshot.abort()
    for each in request.transact_statements:
        # Not as an error of its place.
        parse_statement(each.statement)
    statements: list[Given] = []
    for place, each in enumerate(request.transact_statements):
        try:
            one = given(each)
            check_in_transaction(one, tables.get(one.table_name))
        except ValidationException as error:
            raise ValidationException(f"Validation failed in TransactStatements[{place}]: {error.message}") from None
        statements.append(one)
    for one in statements:
        require_table(tables, one.table_name)
    return statements, tables


def _with_capacity(answer: Answer, request: ExecuteTransaction, consumed: list[Consumed], access: str) -> Answer:
    """The units of each statement, in their order."""
    detail = request.return_consumed_capacity
    if is_requested(detail):
        answer["ConsumedCapacity"] = [each.shape(detail, access) for each in consumed]
    return answer
