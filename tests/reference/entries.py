"""Writes the entry of a public name: its signature as users write it, its docstring, and the members named with it."""

from __future__ import annotations

import inspect
import re
import textwrap
from importlib import import_module
from typing import Any, Final

from sortkey import public
from tests.reference.docstrings import Assigned, attributes_of, constant_doc

WIDTH: Final = 128
RECEIVERS: Final = {"Session": "db"}
"""What users call an object of the class."""

_TYPE_VARIABLE: Final = re.compile(r"\b(T_co|ItemT)\b")
_PAGE: Final = re.compile(r"\bdocs/([\w-]+\.md)\b")


class Undocumented(Exception):
    """A public name or member that has no docstring."""


def entry(line: str) -> str:
    """The entry for a line of the page's comment.

    `add` is a function, a class or a constant; `Key()` also shows how to make one; `Path after before` shows members,
    `Session *` all public ones. `package.module:Meter reading` is a class that is not public by itself. The text in
    `field: text` replaces the docstring, for a name of another library.
    """
    named, _, text = line.partition(": ")
    name, *members = named.split()
    shown, value = _resolve(name.removesuffix("()"))
    if inspect.isclass(value):
        return "".join([_class_entry(shown, value, name.endswith("()")), *_member_entries(value, members)])
    if inspect.isroutine(value):
        return _bullet(f"{shown}{_signature(value)}", text or _doc_of(value, shown))
    return _bullet(shown, _required(constant_doc(name), shown))


def _resolve(name: str) -> tuple[str, Any]:
    module, _, member = name.rpartition(":")
    if module:
        return member, getattr(import_module(module), member)
    return f"sk.{name}", getattr(public, name)


def _class_entry(shown: str, cls: type, made: bool) -> str:
    return _bullet(f"{shown}{_signature(cls, returns=False)}" if made else shown, _doc_of(cls, shown))


def _member_entries(cls: type, members: list[str]) -> list[str]:
    names = _public_members(cls) if members == ["*"] else members
    receiver = RECEIVERS.get(cls.__name__, "")
    return [textwrap.indent(_member(cls, name, receiver), "  ") for name in names]


def _public_members(cls: type) -> list[str]:
    return sorted(name for name in {*dir(cls), *attributes_of(cls)} if not name.startswith("_"))


def _member(cls: type, name: str, receiver: str) -> str:
    shown = f"{receiver}.{name}"
    value = inspect.getattr_static(cls, name, None)
    attribute = attributes_of(cls).get(name)
    if attribute is not None:
        annotation = f": {_plain(attribute.annotation)}" if attribute.annotation else ""
        return _bullet(f"{shown}{annotation}", attribute.doc)
    if isinstance(value, property):
        returned = inspect.signature(value.fget).return_annotation if value.fget else ""
        return _bullet(f"{shown}: {_plain(returned)}", _doc_of(value, f"{cls.__name__}.{name}"))
    if not inspect.isfunction(value):
        raise Undocumented(f"{cls.__name__} has no public member {name!r}")
    return _bullet(f"{shown}{_signature(value, method=True)}", _doc_of(value, f"{cls.__name__}.{name}"))


def _signature(value: Any, *, method: bool = False, returns: bool = True) -> str:
    signature = inspect.signature(value)
    parameters = list(signature.parameters.values())[method:]
    # What Python keeps of the annotations of tuples differs from version to version.
    fields = attributes_of(value) if inspect.isclass(value) and issubclass(value, tuple) else {}
    plain = [each.replace(annotation=_annotation(each, fields.get(each.name))) for each in parameters]
    text = str(signature.replace(parameters=plain, return_annotation=inspect.Signature.empty))
    returned = signature.return_annotation
    return _plain(text if not returns or returned is inspect.Signature.empty else f"{text} -> {_plain(returned)}")


class _Written(str):
    """An annotation that is shown without quotation marks."""

    __slots__ = ()

    def __repr__(self) -> str:
        return str(self)


def _annotation(parameter: inspect.Parameter, field: Assigned | None) -> Any:
    if parameter.annotation is inspect.Parameter.empty:
        return parameter.annotation
    return _Written(field.annotation if field is not None and field.annotation else parameter.annotation)


def _plain(annotation: Any) -> str:
    text = annotation if isinstance(annotation, str) else getattr(annotation, "__name__", repr(annotation))
    return _TYPE_VARIABLE.sub("T", text)


def _doc_of(value: Any, shown: str) -> str:
    # Not that of a base class, nor the one that Python makes for tuples and dataclasses.
    doc = vars(value).get("__doc__") if inspect.isclass(value) else value.__doc__
    generated = inspect.isclass(value) and doc is not None and doc.startswith(f"{value.__name__}(")
    return _required("" if doc is None or generated else inspect.cleandoc(doc), shown)


def _required(doc: str, shown: str) -> str:
    if not doc:
        raise Undocumented(f"{shown} has no docstring; its page would say nothing")
    return doc


def _bullet(code: str, doc: str) -> str:
    """One item of a list: the code, then the paragraphs of the docstring. A call has a line of its own."""
    first, *others = re.split(r"\n\s*\n", _PAGE.sub(r"[\1](\1)", doc)) if doc else [""]
    if code.endswith(")") or ") -> " in code:
        head = f"{_wrapped(f'- `{code}`', '', '  ')}\\\n{_paragraph(first)}"
    else:
        head = _wrapped(f"- `{code}`{': ' if first else ''}{' '.join(first.split())}", "", "  ")
    return "\n\n".join([head, *map(_paragraph, others)]) + "\n"


def _paragraph(text: str) -> str:
    if text.startswith(("    ", ">>>")):
        return textwrap.indent(f"```py\n{textwrap.dedent(text)}\n```", "  ")
    return _wrapped(" ".join(text.split()), "  ", "  ")


def _wrapped(text: str, first: str, others: str) -> str:
    return textwrap.fill(
        text, WIDTH, initial_indent=first, subsequent_indent=others, break_long_words=False, break_on_hyphens=False
    )
