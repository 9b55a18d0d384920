"""Item collections: all items of one partition, of every class, in one query."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, ParamSpec, TypeVar, overload

from sortkey.model.errors import NoAccessPath
from sortkey.model.items.item import Item
from sortkey.model.keys.key import BoundKey
from sortkey.model.paths.access_path import AccessPath
from sortkey.model.paths.arguments import require_key

if TYPE_CHECKING:
    from sortkey.model.keys.key import SignedKey, UnsignedKey

T = TypeVar("T", bound=Item)
P = ParamSpec("P")


@overload
def collection(key: SignedKey[P, T], /, *args: P.args, **partition: P.kwargs) -> AccessPath[Item]: ...
@overload
def collection(key: UnsignedKey[T], /, **partition: Any) -> AccessPath[Item]: ...


def collection(key: BoundKey[T], /, *positional: Any, **partition: Any) -> AccessPath[Item]:
    """The path to all items of one partition of a table or an index: `sk.collection(User.key, user="alice")`."""
    require_key(key)
    needed = key.layout.partition_fields
    if positional:
        raise TypeError(f"a collection of {key.name} takes its fields by name: {', '.join(needed)}")
    if set(partition) != set(needed):
        given = ", ".join(partition) or "nothing"
        raise NoAccessPath(f"a collection of {key.name} needs exactly {', '.join(needed)}, not {given}")
    return key(**partition).of_all_classes()
