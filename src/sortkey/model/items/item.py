"""`Item`: a typed class whose instances are rows of a table, or maps inside them.

    class Price(sk.Item, table="prices"):
        store: str
        product: str
        amount: Decimal

        key = sk.Key("STORE#{store}", "{product}")

An item is a `msgspec.Struct`: fast to make and to compare, and editors and type checkers know its constructor. A class
without `table` is a part of other items, or a base class.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from inspect import signature
from typing import TYPE_CHECKING, Any, ClassVar, Final, TypeVar, cast, dataclass_transform

import msgspec

from sortkey.model.errors import DeclarationError, shown, suggestion
from sortkey.model.fields.codec import Row, codec_of, extra, set_extra, set_stored_forms, stored_forms
from sortkey.model.fields.stored_forms import StoredForms
from sortkey.model.items.family import inherited_table
from sortkey.model.items.key import SCHEMA, WHOLE
from sortkey.model.items.partial_item import partial_error
from sortkey.model.items.pydantic_schema import core_schema, json_schema
from sortkey.model.items.schema import Schema, Upgrade
from sortkey.model.items.schema_compiler import compile_schema
from sortkey.model.items.table import Table

T = TypeVar("T", bound="Item")

_MSGSPEC_OPTIONS: Final = frozenset(signature(msgspec.defstruct).parameters) - {
    *("name", "fields", "bases", "module", "namespace"),
    *("kw_only", "dict"),  # items always have these
}


class ItemMeta(msgspec.StructMeta):
    """Makes the class, compiles its declarations and adds it to its table. Raises DeclarationError."""

    def __new__(
        mcls,
        name: str,
        bases: tuple[type, ...],
        namespace: dict[str, Any],
        *,
        table: str | Table | None = None,
        version: int = 1,
        **config: Any,
    ) -> ItemMeta:
        _check_options(name, config)
        try:
            cls = super().__new__(mcls, name, bases, namespace, kw_only=True, dict=True, **config)
        except UnicodeEncodeError as error:
            raise DeclarationError(f"{name}: {shown(error.object)} is no name of an attribute") from None
        if hasattr(cls, "__post_init__"):
            raise DeclarationError(
                f"{name}.__post_init__: an item has none, since what it sets would be shown but not stored; declare "
                f"computed fields with sk.computed, or make them properties"
            )
        _add_to_table(cast("type[Item]", cls), table, version)
        return cls

    def upgrade(self, version: int) -> Callable[[Upgrade], Upgrade]:
        """Registers a function that makes rows of the next version from rows of this one, as dicts of plain values:
        `@Price.upgrade(1)`."""

        def register(function: Upgrade) -> Upgrade:
            schema_of(cast("type[Item]", self)).add_upgrade(version, function)
            return function

        return register


def _check_options(cls: str, config: Iterable[str]) -> None:
    """Rejects options that neither we nor msgspec have. msgspec's message names neither the class nor the option."""
    for option in config:
        if option not in _MSGSPEC_OPTIONS:
            known = sorted({"table", "version", *_MSGSPEC_OPTIONS})
            raise DeclarationError(f"{cls}: a class has no option {option!r}{suggestion(option, known)}")


def _add_to_table(cls: type[Item], table: str | Table | None, version: int) -> None:
    codec_of(cls)
    if table is None and WHOLE not in vars(cls):
        # A class of partial items is no further class of the table.
        table = inherited_table(cls)
    if table is None:
        if version != 1:
            raise DeclarationError(f"{cls.__name__} has a version but no table")
        return
    owner = Table.named(table) if isinstance(table, str) else table
    if not isinstance(owner, Table):
        raise DeclarationError(f"{cls.__name__}: table= takes a name or a sk.Table, not {shown(owner)}")
    codec_of(cls).ttl = owner.settings.ttl
    schema = compile_schema(cls, owner.name, version)
    owner.add(schema)
    cls.__table__, cls.__schema__ = owner, schema


@dataclass_transform(kw_only_default=True, field_specifiers=(msgspec.field,))
class Item(msgspec.Struct, metaclass=ItemMeta):
    """The base of all item classes: `class Price(sk.Item, table="prices")`.

    `table=` is a name or a `sk.Table`; a class without it is a part of other items, or their base. `version=` is the
    version of its rows. msgspec's options of a class work, too, such as `frozen=True` and `rename="camel"`.
    """

    __table__: ClassVar[Table]
    __schema__: ClassVar[Schema[Any]]
    __extra__: ClassVar[Row] = {}
    __stored_forms__: ClassVar[StoredForms] = {}

    if not TYPE_CHECKING:
        # A type checker that saw this method would accept every name.
        def __setattr__(self, name: str, value: Any) -> None:
            if name not in self.__struct_fields__ and not _is_settable(type(self), name):
                raise AttributeError(_unassignable(type(self), name))
            super().__setattr__(name, value)

    def __copy__(self: T) -> T:
        return self.__replace__()

    def __replace__(self: T, **changes: Any) -> T:
        made = msgspec.structs.replace(self, **changes)
        kept, schema = extra(self), vars(type(self)).get(SCHEMA)
        set_extra(made, kept if schema is None or not kept else schema.extra_after(kept, changes))
        set_stored_forms(made, stored_forms(self))
        return made

    @classmethod
    def __get_pydantic_core_schema__(cls, _source: Any, _handler: Any) -> Any:
        """How pydantic, and so FastAPI, reads and writes items."""
        return core_schema(cls)

    @classmethod
    def __get_pydantic_json_schema__(cls, _core_schema: Any, _handler: Any) -> dict[str, Any]:
        return json_schema(cls)

    def __reduce__(self) -> tuple[Any, ...]:
        return _rebuilt, (type(self), msgspec.structs.asdict(self), extra(self), stored_forms(self))


def _is_settable(cls: type, name: str) -> bool:
    """Whether an attribute that is not a field may be assigned: one with a setter, or a private one, which is not
    stored."""
    return name.startswith("_") or hasattr(getattr(cls, name, None), "__set__")


def _unassignable(cls: type[Item], name: str) -> str:
    if hasattr(cls, name):
        return f"{cls.__name__}.{name} is not a field; an item's keys and entries follow from its fields"
    return f"{cls.__name__} has no field {name!r}{suggestion(name, cls.__struct_fields__)}"


def _rebuilt(cls: type[T], values: dict[str, Any], extra: Row, forms: StoredForms | None = None) -> T:
    made = cls(**values)
    set_extra(made, extra)
    set_stored_forms(made, forms or {})
    return made


def replace(item: T, **changes: Any) -> T:
    """A copy with some fields changed. It keeps what the item's row has besides the fields, and in what forms."""
    return item.__replace__(**changes)


def schema_of(cls: type[T]) -> Schema[T]:
    """The schema of a class with a table."""
    try:
        schema: Schema[T] | None = vars(cls).get(SCHEMA)
    except TypeError:
        raise DeclarationError(f"expected a class with a table, not {cls!r}") from None
    if schema is None:
        if WHOLE in vars(cls):
            raise partial_error(cls, "a put")
        raise DeclarationError(f"{cls.__name__} has no table")
    return schema
