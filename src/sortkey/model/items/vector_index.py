"""`sk.VectorIndex`, the declaration in a class, and `VectorPath`, which `db.nearest` searches.

On the class, `Product.similar` is a `BoundVectorIndex`: called with fields, it makes a path. On an item,
`product.similar` is the path to the items in the same partition.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Annotated, Any, Final, Generic, Literal, Never, TypeVar, overload

import msgspec
import orjson

from sortkey.limits import VECTOR_DIMENSIONS, VECTOR_FILTERS, VECTOR_RESULTS
from sortkey.model.errors import DeclarationError, NoAccessPath, shown, suggestion
from sortkey.model.fields.annotation import inexact
from sortkey.model.fields.codec import Codec, Row
from sortkey.model.items.key import SCHEMA, WHOLE, reject_name
from sortkey.model.items.schema import Schema, VectorLayout
from sortkey.model.keys.key_attribute import NativeAttribute

T = TypeVar("T", bound=msgspec.Struct)
T_co = TypeVar("T_co", covariant=True)

Vector = list[Annotated[float, inexact]]
"""The type of a field with a vector. Its numbers are stored as they are, and searched as 32-bit numbers."""

Distance = Literal["COSINE", "EUCLIDEAN", "DOT_PRODUCT"]
DISTANCES: Final = ("COSINE", "EUCLIDEAN", "DOT_PRODUCT")
_SCALARS: Final = frozenset({"S", "N", "B"})


class VectorIndex:
    """A vector index: `sk.VectorIndex("by_embedding", "embedding", dimensions=384)`.

    `index` is its name in DynamoDB, `vector` the field with a list of numbers. `partition` names the field whose value
    every search must give, `filters` those that a search may give; an item without the vector or the partition is not
    in the index. `projection` is what the index copies of each item.
    """

    def __init__(
        self,
        index: str,
        vector: str,
        *,
        dimensions: int,
        distance: Distance = "COSINE",
        partition: str | None = None,
        filters: Sequence[str] = (),
        projection: Literal["ALL", "KEYS_ONLY"] | Sequence[str] = "ALL",
    ) -> None:
        reject_name("an index", index)
        self.index = index
        self.vector = vector
        self.dimensions = dimensions
        self.distance = distance
        self.partition = partition
        self.filters = tuple(filters)
        self.projection = projection
        self.name = ""
        self._bound: dict[type, BoundVectorIndex[Any]] = {}
        self._reject_wrong()

    def _reject_wrong(self) -> None:
        dimensions: Any = self.dimensions
        if type(dimensions) is not int or not 1 <= dimensions <= VECTOR_DIMENSIONS:
            raise DeclarationError(
                f"{self.index}: dimensions is a number from 1 to {VECTOR_DIMENSIONS}, not {shown(dimensions)}"
            )
        if self.distance not in DISTANCES:
            raise DeclarationError(f"{self.index}: distance is one of {', '.join(DISTANCES)}, not {self.distance!r}")
        names = [*self.filters, *([] if self.partition is None else [self.partition])]
        if len(set(names)) < len(names):
            raise DeclarationError(f"{self.index}: a field is its partition or one of its filters only once")
        if len(self.filters) > VECTOR_FILTERS:
            raise DeclarationError(f"{self.index}: an index has at most {VECTOR_FILTERS} filters")
        copied: Any = self.projection
        if isinstance(copied, str) and copied not in ("ALL", "KEYS_ONLY"):
            raise DeclarationError(f"{self.index}: the projection must be 'ALL', 'KEYS_ONLY' or a list of fields")

    def __set_name__(self, owner: type, name: str) -> None:
        self.name = name

    @overload
    def __get__(self, instance: None, owner: type[T]) -> BoundVectorIndex[T]: ...

    @overload
    def __get__(self, instance: T, owner: type[T]) -> VectorPath[T]: ...

    def __get__(self, instance: T | None, owner: type[T]) -> BoundVectorIndex[T] | VectorPath[T]:
        bound: BoundVectorIndex[T] | None = self._bound.get(owner)
        if bound is None:
            schema: Schema[T] | None = vars(vars(owner).get(WHOLE, owner)).get(SCHEMA)
            if schema is None:
                raise AttributeError(f"{owner.__name__} has no table, so {self.name} cannot be used")
            bound = self._bound[owner] = BoundVectorIndex(schema, schema.vectors[self.name])
        return bound if instance is None else bound.of(instance)


def compile_vector_index(owner: type, codec: Codec, declared: VectorIndex) -> VectorLayout:
    """Raises DeclarationError for what the class cannot have."""
    fields = owner.__struct_fields__  # type: ignore[attr-defined]

    def attribute(name: str) -> str:
        if name not in fields:
            raise DeclarationError(
                f"{owner.__name__}.{declared.name}: there is no field {name!r}{suggestion(name, fields)}"
            )
        if name in codec.in_key:
            raise DeclarationError(f"{owner.__name__}.{declared.name}: {name} is in_key, so it is not an attribute")
        return codec.field(name).attribute

    def native(name: str) -> NativeAttribute:
        attribute(name)
        field = codec.field(name)
        if field.tag not in _SCALARS:
            raise DeclarationError(
                f"{owner.__name__}.{declared.name}: {name} is stored as {field.stored}; a search compares text, "
                f"numbers and binary"
            )
        if field.annotation.optional and not field.left_out:
            raise DeclarationError(
                f"{owner.__name__}.{declared.name}: {name} is stored as NULL when it is None; make None its default"
            )
        return NativeAttribute(field.attribute, field)

    vector = attribute(declared.vector)
    if codec.field(declared.vector).tag != "L":
        raise DeclarationError(
            f"{owner.__name__}.{declared.name}: {declared.vector} is stored as "
            f"{codec.field(declared.vector).stored}, but a vector is a list of numbers, such as sk.Vector"
        )
    projection = declared.projection
    listed = projection if isinstance(projection, str) else tuple(map(attribute, projection))
    return VectorLayout(
        declared.name,
        declared.index,
        declared.vector,
        vector,
        declared.dimensions,
        declared.distance,
        None if declared.partition is None else native(declared.partition),
        tuple(map(native, declared.filters)),
        listed,
    )


class BoundVectorIndex(Generic[T]):
    """A vector index of one class. Call it with fields to make a path."""

    def __init__(self, schema: Schema[T], layout: VectorLayout) -> None:
        self.schema = schema
        self.layout = layout

    @property
    def name(self) -> str:
        return f"{self.schema.name}.{self.layout.name}"

    def __repr__(self) -> str:
        return f"<{self.name}: {self.layout.vector}>"

    def __call__(self, /, *positional: Never, **given: Any) -> VectorPath[T]:
        """The path to the items with these fields. Raises NoAccessPath without the partition, and for other fields."""
        if positional:
            raise TypeError(f"{self.name} takes its fields by name")
        layout = self.layout
        compared = {each.field.name: each for each in layout.compared}
        for name in given:
            if name not in compared:
                allowed = f"; a search may give {', '.join(compared)}" if compared else ""
                raise NoAccessPath(f"{self.name} cannot be searched by {name}{allowed}")
        if layout.partition is not None and layout.partition.field.name not in given:
            raise NoAccessPath(f"{self.name} needs {layout.partition.field.name}, its partition")
        equal = {compared[name].name: compared[name].of(value) for name, value in given.items()}
        return VectorPath(self.schema.name, self.schema.table, layout, self.schema, equal, given)

    def of(self, item: T) -> VectorPath[T]:
        """The path to the items in an item's partition."""
        partition = self.layout.partition
        return self() if partition is None else self(**{partition.field.name: getattr(item, partition.field.name)})


class VectorPath(msgspec.Struct, Generic[T_co], frozen=True):
    """A search of a vector index, but for the vector: `Product.similar(category="tea")`."""

    entity: str
    table: str
    layout: VectorLayout
    schema: Schema[Any]
    """The class whose index this is."""
    equal: Row
    given: Mapping[str, Any]

    @property
    def name(self) -> str:
        return f"{self.entity}.{self.layout.name}"

    def __repr__(self) -> str:
        return f"{self.name}({', '.join(f'{name}={value!r}' for name, value in self.given.items())})"

    def request(self, vector: Sequence[float], k: int) -> dict[str, Any]:
        """The SearchVectors, in boto3's shape. Raises ValueError for a vector that the index cannot be searched for."""
        request = self.search(k)
        request["SearchVector"] = [{"N": text} for text in _texts(_numbers(self, vector))]
        return request

    def search(self, k: int) -> dict[str, Any]:
        """The same without the vector."""
        if type(k) is not int or not 1 <= k <= VECTOR_RESULTS:
            raise ValueError(f"k is a number from 1 to {VECTOR_RESULTS}, not {k!r}")
        request: dict[str, Any] = {"TableName": self.table, "IndexName": self.layout.index, "TopK": k}
        if self.equal:
            names = {f"#v{number}": name for number, name in enumerate(self.equal)}
            values = {f":v{number}": value for number, value in enumerate(self.equal.values())}
            pairs = zip(names, values, strict=True)
            request["SearchConditionExpression"] = " AND ".join(f"{name} = {value}" for name, value in pairs)
            request["ExpressionAttributeNames"] = names
            request["ExpressionAttributeValues"] = values
        return request


def _numbers(path: VectorPath[Any], vector: Any) -> list[float]:
    """Numbers that JSON has: those of numpy are not Python's."""
    given = vector.tolist() if hasattr(vector, "tolist") else list(vector)
    if len(given) != path.layout.dimensions:
        raise ValueError(f"{path.name} has {path.layout.dimensions} dimensions, but the vector has {len(given)}")
    return [float(number) for number in given]


def _texts(numbers: list[float]) -> list[str]:
    """Their reprs, in a tenth of the time; of one that is not finite, too, which the store rejects."""
    text = orjson.dumps(numbers).decode()
    return [repr(number) for number in numbers] if "n" in text else text[1:-1].split(",")


def vector_declarations(owner: type) -> dict[str, VectorIndex]:
    """The vector indexes of a class and its bases, by name."""
    found = {name: value for base in reversed(owner.__mro__) for name, value in vars(base).items()}
    return {name: value for name, value in found.items() if isinstance(value, VectorIndex)}
