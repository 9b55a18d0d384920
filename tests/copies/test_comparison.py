"""Which rows of a table and its copy differ."""

from __future__ import annotations

from unittest.mock import patch

from hypothesis import given
from hypothesis import strategies as st

import sortkey
from sortkey.client.interface import Client
from sortkey.copies import comparison, row_reads
from sortkey.copies.comparison import Comparison
from sortkey.copies.row_form import Row, RowForm, Selection, fingerprint
from sortkey.copies.table_shape import shape_of

TABLE = "things"
Numbers = dict[int, int]
NUMBERS = st.dictionaries(st.integers(0, 40), st.integers(0, 1), max_size=40)


def key(number: int) -> Row:
    return {"p": {"S": f"thing {number}"}}


def store(client: Client, values: Numbers) -> None:
    client.create_table(
        TableName=TABLE,
        KeySchema=[{"AttributeName": "p", "KeyType": "HASH"}],
        AttributeDefinitions=[{"AttributeName": "p", "AttributeType": "S"}],
        BillingMode="PAY_PER_REQUEST",
    )
    for number, value in values.items():
        client.put_item(TableName=TABLE, Item={**key(number), "value": {"N": str(value)}})


@given(NUMBERS, NUMBERS)
def test_suspects_are_the_rows_that_differ(ours: Numbers, theirs: Numbers) -> None:
    with (
        sortkey.client("memory:") as source,
        sortkey.client("memory:") as target,
        patch.object(comparison, "FEWEST_SLICES", 8),
        patch.object(comparison, "SLICES_AT_ONCE", 3),
        patch.object(row_reads, "PAGE_ROWS", 5),
    ):
        store(source, ours)
        store(target, theirs)
        form = RowForm(shape_of(source, TABLE), Selection())
        compared = Comparison(source, target, TABLE, form, len(ours))
        suspects = compared.suspects(lambda _: None)
        differ = {number for number in ours | theirs if ours.get(number) != theirs.get(number)}
        assert suspects == {fingerprint(key(number)) for number in differ}
        assert len(compared.differences(suspects)) == len(differ)
        assert compared.rows == len(ours)
