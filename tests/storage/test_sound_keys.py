"""Which keys are known to be on sound leaves, with sound leaves beside them."""

from __future__ import annotations

from sortkey.storage.leaf_search import END, START, SoundKeys


def sound(*leaves: tuple[bytes, bytes]) -> SoundKeys:
    keys = SoundKeys()
    for low, high in leaves:
        keys.add(low, high)
    return keys


def test_nothing_is_known_at_first() -> None:
    assert sound().inside(b"a") is None
    assert not sound().includes(b"a", b"b")
    assert sound().run_with(b"a", b"b") == (b"a", b"b")


def test_leaf_is_inside_when_those_beside_it_are_sound() -> None:
    keys = sound((b"b", b"d"), (b"f", b"h"), (b"d", b"f"))
    assert keys.inside(b"d") == keys.inside(b"e") == (b"d", b"f")
    assert keys.inside(b"c") is None
    assert keys.inside(b"f") is None


def test_first_and_last_leaf_have_one_neighbour() -> None:
    keys = sound((START, b"c"), (b"c", b"e"), (b"p", b"r"), (b"r", END))
    assert keys.inside(START) == keys.inside(b"b") == (START, b"c")
    assert keys.inside(b"d") is None
    assert keys.inside(b"s") == keys.inside(END) == (b"r", END)
    assert keys.inside(b"q") is None


def test_only_leaf_has_no_neighbour() -> None:
    assert sound((START, END)).inside(b"a") == sound((START, END)).inside(END) == (START, END)


def test_includes_what_leaves_side_by_side_have() -> None:
    keys = sound((b"b", b"d"), (b"d", b"f"), (b"h", b"j"))
    assert keys.includes(b"c", b"e")
    assert not keys.includes(b"e", b"i")
    assert not keys.includes(b"a", b"c")


# A commit merged the leaf with one that this process has not seen; the other process that wrote has.
def test_leaf_of_a_later_commit_joins_those_that_it_overlaps() -> None:
    keys = sound((b"b", b"d"), (b"d", b"f"), (b"h", b"j"), (b"e", b"i"))
    assert keys.includes(b"b", b"j")
    assert keys.inside(b"d") == (b"d", b"h")


def test_run_has_the_leaves_that_a_leaf_touches() -> None:
    keys = sound((b"b", b"d"), (b"f", b"h"))
    assert keys.run_with(b"d", b"f") == (b"b", b"h")
    assert keys.run_with(b"c", b"e") == (b"b", b"e")
    assert keys.run_with(b"i", b"k") == (b"i", b"k")
