"""The revision of an item, which counts its writes: a field that is marked `sk.version`.

    revision: Annotated[int, sk.version] = 0

A put writes the next revision, on the condition that the stored item has the item's: 0 if there is none, or if the row
is older than the field. An update names a key and not a copy, so it adds one to whatever is stored, in the same
request. So a put of a copy that was read before any other write fails. A new item has revision 1.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

from msgspec import NODEFAULT

from sortkey.model.errors import DeclarationError
from sortkey.model.fields.annotation import Annotation
from sortkey.model.fields.converter import Value
from sortkey.model.fields.records import declared_default

if TYPE_CHECKING:
    from sortkey.model.fields.codec import Codec


def revision_of(codec: Codec, annotations: Mapping[str, Annotation]) -> str | None:
    """The field of a class that is marked `sk.version`; None if there is none. Raises DeclarationError for a field that
    cannot be one."""
    found = [name for name, each in annotations.items() if each.version]
    cls = codec.struct.__name__
    if len(found) > 1:
        raise DeclarationError(f"{cls}: {' and '.join(found)} have sk.version; an item has one revision")
    for name in found:
        annotation, default = annotations[name], declared_default(codec.struct, name)
        if annotation.base is not int or annotation.optional or annotation.constraints or annotation.in_key:
            raise DeclarationError(f"{cls}.{name}: a field with sk.version must be a plain int")
        if default is not NODEFAULT and (type(default) is not int or default != 0):
            raise DeclarationError(f"{cls}.{name}: a field with sk.version must have the default 0, not {default!r}")
    return found[0] if found else None


def next_revision(stored: Value | None) -> Value | None:
    """The revision after this one, as a row has it; None if what is stored is no revision."""
    if stored is None:
        return {"N": "1"}
    try:
        return {"N": str(int(stored["N"]) + 1)}
    except (KeyError, ValueError):
        return None
