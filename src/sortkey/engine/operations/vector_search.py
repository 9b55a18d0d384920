"""SearchVectors: the items of a vector index that are most similar to a vector, the most similar first.

The search is exact. With numpy it looks at the vectors in memory (`vectors/vector_memory.py`), block by block; without
it, at the rows, one by one. Both work in slices, on one snapshot.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import cache, partial
from heapq import nsmallest
from importlib import import_module
from importlib.util import find_spec
from itertools import islice
from types import ModuleType
from typing import TYPE_CHECKING, Any, Final, NamedTuple

import orjson

from sortkey.engine.operations.answers import is_requested
from sortkey.engine.operations.slices import Slices
from sortkey.engine.requests import table_name_of
from sortkey.engine.requests.expression_parameters import bindings_of, projection_of
from sortkey.engine.requests.items import SearchVectors
from sortkey.engine.rows import records, stored_item
from sortkey.engine.rows.stored_item import Json
from sortkey.engine.tables import vector_rows
from sortkey.engine.tables.core import Answer, Core
from sortkey.engine.tables.table import Table
from sortkey.engine.tables.vector_index import NO_PARTITION, VectorIndex, is_component, vector_value
from sortkey.engine.vectors.scores import Scope, components, rank, score
from sortkey.errors import ValidationException
from sortkey.expressions import Bindings, condition
from sortkey.expressions.tree import Comparison, Junction, Path, Value
from sortkey.expressions.tree import Condition as Tree
from sortkey.limits import VECTOR_ANSWER_BYTES, VECTOR_RESULTS
from sortkey.storage import Transaction, after_prefix, ascending, is_sound
from sortkey.values.attribute import AttributeValue, Item, type_of
from sortkey.values.key_bytes import partition_hash

if TYPE_CHECKING:
    from sortkey.engine.vectors.vector_memory import Search, VectorMemory

_EXPRESSIONS: Final = ("projection_expression", "search_condition_expression")
_PARAMETER: Final = "SearchConditionExpression"

SCORED_A_SLICE: Final = 16
"""Rows that are scored one by one in a slice."""
READ_A_SLICE: Final = 256
"""Candidates whose rows are read in a slice."""

BYTES_A_DIMENSION: Final = 17.6
"""What AWS charges for a search, by measurements, with the size of what it returns; at least a KiB."""


class _Equality(NamedTuple):
    path: tuple[str | int, ...]
    value: AttributeValue


class _Hit(NamedTuple):
    score: float
    key: bytes
    """The row key, which orders rows with equal scores."""
    row: bytes


Searching = Callable[[Transaction], Slices[list[_Hit]]]
"""The best rows of a snapshot."""


def search_vectors(core: Core, request: SearchVectors) -> Slices[Answer]:
    name = table_name_of(request.table_name)
    if request.top_k > VECTOR_RESULTS:
        raise ValidationException(
            f"Provided TopK value '{request.top_k}' is out of valid range. "
            f"The value must be between 1 and {VECTOR_RESULTS} inclusive"
        )
    bindings = bindings_of(request, _EXPRESSIONS)
    equalities = _equalities(request.search_condition_expression, bindings)
    projection = projection_of(request, bindings)
    if bindings is not None:
        bindings.check_all_used()
    while True:
        with core.read() as snapshot:
            index = _index(core.catalog.require(snapshot, name), request.index_name)
            vector = _vector(index, request.search_vector)
            scope = _scope(index, equalities)
        begun = _begin(core, index, scope, vector, request.top_k)
        if begun is not None:
            break
        yield
    snapshot, search = begun
    try:
        hits = yield from search(snapshot)
    finally:
        snapshot.abort()
    return _answer(index, request, projection, hits)


def _begin(
    core: Core, index: VectorIndex, scope: Scope, vector: bytes, wanted: int
) -> tuple[Transaction, Searching] | None:
    """A snapshot that has the index, and how to search it; None if the memory needs another step until it is as
    current as the store, or if the index has gone."""
    memory = _memory_of(core, index)
    if memory is None:
        return core.read(), partial(_walk, index, scope, vector, wanted)
    with memory.lock:
        # Begun under the lock, a snapshot is never older than the memory.
        snapshot = core.read()
        try:
            if _has(core, snapshot, index) and memory.advance(snapshot):
                return snapshot, partial(_search, index, memory.search(scope, vector, wanted))
        except BaseException:
            snapshot.abort()
            raise
    snapshot.abort()
    return None


def _has(core: Core, snapshot: Transaction, index: VectorIndex) -> bool:
    tables = core.catalog.tables(snapshot).values()
    return any(each.space == index.space for table in tables for each in table.vector_indexes.values())


def _equalities(text: str | None, bindings: Bindings | None) -> list[_Equality]:
    """The parts of the condition: comparisons by `=`, joined by AND."""
    if text is None or bindings is None:
        return []
    tree = condition(text, bindings, _PARAMETER).tree
    return [_equality(each, bindings) for each in _conjuncts(tree)]


def _conjuncts(tree: Tree) -> Iterator[Tree]:
    if isinstance(tree, Junction) and tree.operator == "AND":
        for part in tree.conditions:
            yield from _conjuncts(part)
    else:
        yield tree


def _equality(tree: Tree, bindings: Bindings) -> _Equality:
    if isinstance(tree, Comparison) and tree.operator == "=":
        match tree.operands:
            case (Path() as path, Value() as value) | (Value() as value, Path() as path):
                return _Equality(bindings.path(path), bindings.value(value))
    raise _invalid("Invalid comparator used in SearchConditionExpression")


def _invalid(rule: str) -> ValidationException:
    return ValidationException(f"Invalid {_PARAMETER}: {rule}")


def _index(table: Table, name: str) -> VectorIndex:
    index = table.vector_indexes.get(name)
    if index is None:
        raise ValidationException(f"The table does not have the specified index: {name}")
    if index.entry.backfilled_to is not None:
        raise ValidationException(f"Cannot search backfilling vector index: {name}")
    return index


def _vector(index: VectorIndex, elements: list[dict[str, Any]]) -> bytes:
    packed = index.packed(elements)
    if packed is not None:
        return packed
    if all(is_component(element) for element in elements):
        raise ValidationException(
            f"Input search vector dimension {len(elements)} does not match vector index dimension {index.dimensions}"
        )
    raise ValidationException(
        "Search vector contains invalid values. All values in the search vector must be a 32-bit floating-point number "
        "attribute"
    )


def _scope(index: VectorIndex, equalities: list[_Equality]) -> Scope:
    """Raises AWS's error if the index cannot have the condition."""
    names = [str(each.path[0]) for each in equalities]
    for name in names:
        if name not in index.schema:
            raise ValidationException(
                f"{_PARAMETER} must not contain any attributes that is not in SearchSchema. Invalid attribute: {name}"
            )
    if any(len(each.path) > 1 for each in equalities):
        raise _invalid(f"{_PARAMETER} cannot have conditions on nested attributes")
    if len(set(names)) < len(names):
        raise _invalid(f"{_PARAMETER} must only contain one condition per attribute")
    if index.partition is not None and index.partition.name not in names:
        raise ValidationException(f"{_PARAMETER} must be provided when SearchSchema has a HASH key")
    values = {name: each.value for name, each in zip(names, equalities, strict=True)}
    for name, value in values.items():
        if index.schema[name] not in value:
            raise ValidationException(
                f"Type of '{name}' attribute in {_PARAMETER} ({type_of(value)}) does not match type in search schema "
                f"({index.schema[name]})"
            )
    if index.partition is None:
        return Scope(NO_PARTITION, values)
    name, tag = index.partition
    text = values.pop(name)[tag]
    if not text:
        kind = "string" if tag == "S" else "binary"
        raise ValidationException(
            "One or more parameter values are not valid. The AttributeValue for a key attribute cannot contain an "
            f"empty {kind} value. Key: {name}"
        )
    return Scope(partition_hash(tag, text), values)


@cache
def _numpy() -> ModuleType | None:
    """The module that needs numpy, imported when it is first needed; None where numpy is not installed."""
    return None if find_spec("numpy") is None else import_module("sortkey.engine.vectors.vector_memory")


def _memory_of(core: Core, index: VectorIndex) -> VectorMemory | None:
    """What this process keeps of an index; None without numpy."""
    module = _numpy()
    if module is None:
        return None
    memory: VectorMemory | None = core.vector_memories.get(index.space)
    if memory is None:
        used = {each.space for each in _all_indexes(core)}
        for space in [space for space in core.vector_memories if space not in used]:
            core.vector_memories.pop(space).close()
        folder = None if core.path is None else core.path / module.FOLDER
        if folder is not None:
            module.forget(folder, {space.hex() for space in used})
        return core.vector_memories.setdefault(index.space, module.VectorMemory(index, folder))  # type: ignore[no-any-return]
    return memory


def _all_indexes(core: Core) -> Iterator[VectorIndex]:
    with core.read() as snapshot:
        for table in core.catalog.tables(snapshot).values():
            yield from table.vector_indexes.values()


def _search(index: VectorIndex, search: Search, snapshot: Transaction) -> Slices[list[_Hit]]:
    """The best rows, found in memory and read in the snapshot."""
    for block in search.views:
        search.block(block)
        if block is not search.views[-1]:
            yield
    candidates = search.candidates()
    hits: list[_Hit] = []
    while keys := list(islice(candidates, READ_A_SLICE)):
        if hits:
            yield
        keys = [index.space + key for key in keys]
        rows = [_row(snapshot, key) for key in keys]
        found = search.scores([vector_rows.vector_in(index, row) for row in rows])
        hits = _best(index, [*hits, *map(_Hit, found, keys, rows)], search.wanted)
    return hits


def _row(snapshot: Transaction, key: bytes) -> bytes:
    row = snapshot.get(key)
    if row is None or not is_sound(row):
        raise records.damaged(snapshot, key)
    return row


def _walk(index: VectorIndex, scope: Scope, vector: bytes, wanted: int, snapshot: Transaction) -> Slices[list[_Hit]]:
    """The best rows, found by looking at each."""
    start = index.space + scope.partition
    wanted_components = components(vector)
    hits: list[_Hit] = []
    rows = ascending(snapshot, start, after_prefix(start))
    while chunk := list(islice(rows, SCORED_A_SLICE)):
        for key, row in chunk:
            if not is_sound(row):
                raise records.damaged(snapshot, key)
            if scope.filters and not _passes(orjson.loads(vector_rows.text_in(index, row)), scope):
                continue
            found = score(index.entry.function, wanted_components, components(vector_rows.vector_in(index, row)))
            hits.append(_Hit(found, key, row))
        hits = _best(index, hits, wanted)
        yield
    return hits


def _passes(item: Item, scope: Scope) -> bool:
    return all(item.get(name) == value for name, value in scope.filters.items())


def _best(index: VectorIndex, hits: list[_Hit], wanted: int) -> list[_Hit]:
    function = index.entry.function
    return nsmallest(wanted, hits, key=lambda hit: (rank(function, hit.score), hit.key))


def _answer(index: VectorIndex, request: SearchVectors, projection: Any, hits: list[_Hit]) -> Answer:
    results: list[dict[str, Any]] = []
    size = 0
    for hit in hits:
        text = vector_rows.text_in(index, hit.row)
        item = Json(text, stored_item.has_binary(hit.row)) if projection is None else _projected(index, projection, hit)
        size += len(item.text)
        if size > VECTOR_ANSWER_BYTES:
            break
        results.append({"Item": item, "Score": hit.score})
    answer: Answer = {"SearchResults": results}
    if is_requested(request.return_consumed_capacity):
        read = sum(stored_item.size(hit.row) - index.vector_bytes for hit in hits)
        examined = max(float(vector_rows.FEWEST_BYTES), BYTES_A_DIMENSION * index.dimensions + read)
        answer["ConsumedCapacity"] = {"VectorSearchRequestBytes": examined}
    return answer


def _projected(index: VectorIndex, projection: Any, hit: _Hit) -> Json:
    item: Item = orjson.loads(vector_rows.text_in(index, hit.row))
    if index.projects_vector and index.attribute in projection.attributes:
        item[index.attribute] = vector_value(vector_rows.vector_in(index, hit.row))
    return Json.of(projection(item), stored_item.has_binary(hit.row))
