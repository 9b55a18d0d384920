"""PartiQL: every kind of statement, on a few items of the tables `plain` and `orders`."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import pytest

from tests.oracle.difference import Request
from tests.oracle.pair import Pair
from tests.oracle.samples import VARIANTS
from tests.oracle.tables import ORDERS, PLAIN

# Tokens outlive their tables.
pytestmark = pytest.mark.own_namespace

DOCUMENT: dict[str, Any] = {
    "s": {"S": "abc"},
    "l": {"L": [{"N": "1"}, {"M": {"x": {"S": "y"}}}]},
    "m": {"M": {"a": {"N": "1"}, "b": {"M": {"c": {"S": "d"}}}}},
    "ss": {"SS": ["a", "b"]},
    "ns": {"NS": ["1", "2"]},
    "t": {"BOOL": True},
    "z": {"NULL": True},
    "bin": {"B": "AAEC"},
    "status": {"S": "it's"},
    "date": {"N": "7"},
}
OLD = {"ReturnValuesOnConditionCheckFailure": "ALL_OLD"}


@pytest.fixture
def filled(pair: Pair) -> Pair:
    """Three items of `plain` with values of every type, and six of `orders` in two partitions."""
    pair.create(PLAIN)
    pair.create(ORDERS)
    for number in range(3):
        item = {"pk": {"S": f"p{number}"}, "n": {"N": str(number)}, **DOCUMENT}
        pair.both("PutItem", {"TableName": "plain", "Item": item})
        for partition in "ab":
            item = {
                "pk": {"S": partition},
                "sk": {"S": f"s{number}"},
                "n": {"N": str(number)},
                "kind": {"S": "k"},
                "city": {"S": "Rome"},
                "note": {"S": "hi"},
                "x": {"N": str(10 * number)},
            }
            pair.both("PutItem", {"TableName": "orders", "Item": item})
    return pair


def execute(statement: str, *parameters: dict[str, Any], **members: Any) -> Request:
    given = {"Parameters": list(parameters)} if parameters else {}
    return "ExecuteStatement", {"Statement": statement, **given, **members}


def batch(*statements: str | dict[str, Any], **members: Any) -> Request:
    return "BatchExecuteStatement", {"Statements": [_one(each) for each in statements], **members}


def transaction(*statements: str | dict[str, Any], **members: Any) -> Request:
    return "ExecuteTransaction", {"TransactStatements": [_one(each) for each in statements], **members}


def _one(statement: str | dict[str, Any]) -> dict[str, Any]:
    return {"Statement": statement} if isinstance(statement, str) else statement


def each(pair: Pair, statements: Iterable[str]) -> None:
    pair.each(map(execute, statements))


def same_tables(pair: Pair) -> None:
    """What the writes have left."""
    pair.each(("Scan", {"TableName": name}) for name in ("plain", "orders"))


PROJECTIONS = """
*
pk
pk, n, s
"pk", "n"
m.a
m.b.c, m.a
m['a'], m."b"
l, l2
l[0]
l[0], l[1]
l[7], n
m.missing2, n
q
q, n
status, "date"
ss, ns, bin, t, z
n, n
m, m.a
m.a, a
n AS q
n + 1
size(s)
COUNT(*)
1
'x'
?
l[?]
l[-1]
m.*
m.
m.date
DISTINCT pk
VALUE n
date
,
pk,
"""


def test_projections(filled: Pair) -> None:
    lines = PROJECTIONS.strip().splitlines()
    each(filled, (f"SELECT {line} FROM plain WHERE pk = 'p1'" for line in lines))
    each(filled, (f"select {line} from \"plain\" where s = 'abc'" for line in lines))


CONDITIONS = """
pk = 'p1'
'p1' = pk
pk = 'p1' AND n = 1
pk = 'p1' AND n = 2
pk = 'p1' AND pk = 'p2'
pk = 'p1' AND pk > 'a'
(pk = 'p1') AND (n = 1)
(pk = 'p1' AND n = 1)
pk IN ['p1', 'p2']
pk IN ('p1', 'p2')
pk IN ('p1')
pk IN <<'p1', 'p3'>>
pk IN []
pk IN 'p1'
pk IN ['p1'] OR pk = 'p2'
pk = 'p1' OR pk = 'p2'
pk = 'p1' OR n = 2
NOT pk = 'p1'
pk <> 'p1'
pk > 'p0'
pk = s
pk = 1
pk > 1
pk IN [1]
pk = ''
begins_with(pk, 'p1')
contains(pk, '1')
pk BETWEEN 'p1' AND 'p2'
n > 0 AND n < 2
n >= 1 AND n <= 1
n <> 1
n != 1
NOT n = 1
NOT (n = 1 OR n = 2)
NOT NOT n = 1
n = 0 OR n = 1 AND s = 'zzz'
(n = 0 OR n = 1) AND s = 'abc'
n = 1.0
n = 1e0
n = 10E-1
n = +1
n = -1
n = .5
n = 1.
n = 0x10
n = 1x
n = 123456789012345678901234567890123456789
n = 1e200
n > 's'
n BETWEEN 1 AND 2
n NOT BETWEEN 1 AND 1
NOT n BETWEEN 1 AND 2 AND pk = 'p0'
n BETWEEN 2 AND 1
s BETWEEN 1 AND 'a'
n IN [1, 2]
n IN (1)
n IN [1, 'abc']
n NOT IN [1, 2]
m.b.c IN ['d']
size(s) IN [3]
n = n
s = s2
s > m.a
s = "abc"
s = 'it''s'
status = 'it''s'
"date" = 7
date = 7
ss = <<'b', 'a'>>
ns = <<1, 2.0>>
ns = <<>>
ns = <<1, 'a'>>
l = [1, {'x': 'y'}]
[1, {'x': 'y'}] = l
m = {'b': {'c': 'd'}, 'a': 1}
m.b = {'c': 'd'} AND l[0] = 1
m.a = 1
m['a'] = 1
m."b"."c" = 'd'
l[1].x = 'y'
l[1]['x'] = 'y'
l[9] = 1
t = true
t = TRUE
t <> false
t > false
z = NULL
NULL = z
z <> NULL
q IS MISSING
q IS NOT MISSING
n IS MISSING
n IS NOT MISSING
m.q IS MISSING
"missing" IS MISSING
NOT n IS MISSING
z IS NULL
z IS NOT NULL
q IS NULL
q IS NOT NULL
n IS NULL
n is not null and n Is Not Missing
q <> 1
begins_with(s, 'ab')
begins_with("s", 'ab') AND contains(s, 'b')
BEGINS_WITH(s, 'a')
begins_with(s, 1)
begins_with(n, '1')
begins_with(s)
contains(ss, 'a')
contains(ns, 1)
contains(l, 1)
contains(m, 'a')
contains('abcdef', s)
contains(s)
attribute_type(s, 'S')
attribute_type(m.b, 'M')
attribute_type(s, 'Q')
attribute_exists(n)
attribute_not_exists(q)
size(s) = 3
SIZE(s) >= 3
size(m) = 2 AND size(ss) = 2 AND size(bin) = 3 AND size(l) = 2
size(n) = 1
size(q) > 0
size(s) BETWEEN 1 AND 5
foo(s)
list_append(l, l)
pk
t
true
NOT t
n + 1 = 2
s = 'a' || 'bc'
s LIKE 'a%'
n == 1
n = 1 AND
(n = 1
n BETWEEN 1
n IS
n IS 1
s = 'x
s = 'a' 'b'
contains(s, 'a'
EXISTS(SELECT * FROM plain WHERE pk = 'p1')
"""


def test_conditions(filled: Pair) -> None:
    each(filled, (f"SELECT pk FROM plain WHERE {line}" for line in CONDITIONS.strip().splitlines()))


@pytest.mark.parametrize("operator", ["= ?", "<> ?", "< ?", ">= ?", "IN [?, 'x']", "BETWEEN ? AND 5"])
def test_operators_on_parameters_of_every_type(plain: Pair, operator: str) -> None:
    for name, stored in {**VARIANTS, "none": {"NULL": True}}.items():
        plain.both("PutItem", {"TableName": "plain", "Item": {"pk": {"S": name}, "a": stored}})
    plain.each(execute(f"SELECT pk FROM plain WHERE a {operator}", operand) for operand in VARIANTS.values())


KEYS = """
pk = 'a'
pk = 'a' AND sk = 's1'
pk = 'a' AND sk = 's1' AND n = 1
pk = 'a' AND sk = 's1' AND n = 99
pk = 'a' AND sk > 's0'
pk = 'a' AND 's1' >= sk
pk = 'a' AND sk BETWEEN 's0' AND 's1'
pk = 'a' AND begins_with(sk, 's1')
pk = 'a' AND begins_with(sk, 's') AND sk > 's0'
pk = 'a' AND sk > 's0' AND sk < 's2'
pk = 'a' AND sk <> 's0'
pk = 'a' AND NOT sk = 's0'
pk = 'a' AND sk IN ['s1', 's0']
pk = 'a' AND (sk = 's0' OR sk = 's2')
pk = 'a' AND contains(sk, '1')
pk = 'a' AND size(sk) = 2
pk = 'a' AND sk = n
pk = 'a' AND n >= 1
pk = 'a' AND n = 'x' AND x > 5
pk IN ['b', 'a']
pk IN ['b', 'a'] AND sk = 's1'
pk IN ['b', 'a'] AND sk IN ['s1', 's0']
sk = 's1'
pk > 'a'
pk = 'a' AND sk = 1
pk = 'a' AND sk = ''
pk = 1
pk = 'a' AND sk > 5
(pk = 'a' AND sk = 's1') OR (pk = 'b' AND sk = 's2')
"""


def test_keys(filled: Pair) -> None:
    lines = KEYS.strip().splitlines()
    each(filled, (f"SELECT * FROM orders WHERE {line}" for line in lines))
    each(filled, (f"SELECT sk FROM orders WHERE {line}" for line in lines))


@pytest.mark.parametrize(
    "rest",
    [
        "pk = 'a'",
        "pk = 'a' ORDER BY sk",
        "pk = 'a' ORDER BY sk ASC",
        "pk = 'a' ORDER BY pk, sk",
        "pk IN ['b', 'a']",
        "pk IN ['a', 'b'] ORDER BY sk DESC",
        "pk IN ['a', 'b'] ORDER BY pk, sk DESC",
    ],
)
def test_order(filled: Pair, rest: str) -> None:
    # Not ORDER BY pk: DynamoDB Local takes partitions in the order of IN, or in the opposite.
    ours, theirs = filled.both(*execute(f"SELECT pk, sk FROM orders WHERE {rest}"))
    assert ours["Items"] == theirs["Items"]


SOURCES = """
plain
"plain"
orders.by_kind WHERE kind = 'k'
"orders"."by_kind" WHERE kind = 'k' AND n > 1
"orders"."by_kind" WHERE kind = 'k' AND x > 1
"orders"."by_kind" WHERE kind = 'k' AND n = 'x'
"orders"."by_kind" WHERE pk = 'a'
"orders"."by_kind" WHERE kind IN ['k', 'l']
"orders"."by_kind"
"orders"."by_city" WHERE city = 'Rome'
"orders"."by_city" WHERE city = 'Rome' AND note = 'hi'
"orders"."by_n" WHERE pk = 'a' AND n > 0
"orders"."by_n" WHERE pk = 'a' ORDER BY n
"orders"."by_n" WHERE pk = 'a' ORDER BY sk DESC
"orders"."by_b"
"orders"."nope"
"orders"."by_n"."z"
orders.by_n.z
plain;
plain WHERE pk = 'p1';
plain; SELECT * FROM plain
plain -- a comment
plain /* one */ WHERE /* two */ pk = 'p1'
Plain
nothere
pl
"a b"
'plain'
?
(SELECT * FROM plain)
plain, orders
plain x
plain AS x
plain LIMIT 1
plain ORDER BY pk
plain WHERE n > 0 ORDER BY pk
plain WHERE pk = 'p1' ORDER BY n
plain WHERE pk = 'p1' ORDER BY
plain WHERE pk = 'p1' GROUP BY pk
plain JOIN orders
plain WHERE
"""


def test_sources(filled: Pair) -> None:
    each(filled, (f"SELECT * FROM {line}" for line in SOURCES.strip().splitlines()))
    each(filled, ['SELECT x FROM "orders"."by_city"', 'SELECT x FROM "orders"."by_city" WHERE city = \'Rome\''])


def test_pages(filled: Pair) -> None:
    for limit in (1, 2, 3, 4, 7):
        for where in ("pk = 'a'", "pk IN ['a', 'b']", "pk = 'a' AND x = 10", "pk = 'a' AND sk > 's0'"):
            request = execute(f"SELECT pk, sk FROM orders WHERE {where}", Limit=limit)[1]
            ours, theirs = dict(request), dict(request)
            while True:
                mine, other = filled.ours.call("ExecuteStatement", ours), filled.theirs.call("ExecuteStatement", theirs)
                assert filled.agree(("ExecuteStatement", request), mine, other), (request, mine, other)
                if "NextToken" not in mine:
                    break
                ours["NextToken"], theirs["NextToken"] = mine["NextToken"], other["NextToken"]


def test_parameters(filled: Pair) -> None:
    p1, p2, one = {"S": "p1"}, {"S": "p2"}, {"N": "1"}
    filled.each(
        [
            execute("SELECT pk FROM plain WHERE pk = ?", p1),
            execute("SELECT pk FROM plain WHERE pk = ?"),
            execute("SELECT pk FROM plain WHERE pk = ?", p1, p2),
            execute("SELECT pk FROM plain WHERE pk = 'p1'", p1),
            execute("SELECT pk FROM plain WHERE pk = ? AND n = ?", p1),
            execute("SELECT pk FROM plain WHERE pk = ? AND n = ?", p1, one),
            execute("SELECT pk FROM plain WHERE pk IN [?, ?]", p1, p2),
            execute("SELECT pk FROM plain WHERE pk IN (?, ?)", p1, p2),
            execute("SELECT pk FROM plain WHERE n BETWEEN ? AND ?", one, one),
            execute("SELECT pk FROM plain WHERE m = {'a': ?, 'b': {'c': ?}}", one, {"S": "d"}),
            execute("SELECT pk FROM plain WHERE l = [?, {'x': ?}]", one, {"S": "y"}),
            execute("SELECT pk FROM plain WHERE pk = ?", one),
            execute("SELECT pk FROM plain WHERE bin = ?", {"B": "AAEC"}),
            execute("SELECT pk FROM plain WHERE pk = ?", {"N": "x"}),
            execute("SELECT pk FROM plain", Limit=0),
            execute("SELECT pk FROM plain", NextToken="abc"),
            execute("SELECT pk FROM plain", NextToken=""),
            execute('SELECT pk FROM "orders"."by_kind" WHERE kind = \'k\'', ConsistentRead=True),
            execute('SELECT pk FROM "orders"."by_n" WHERE pk = \'a\'', ConsistentRead=True),
            execute("SELECT pk FROM plain WHERE pk = 'p1'", ReturnConsumedCapacity="TOTAL"),
            execute("SELECT pk FROM plain WHERE n = 1", ReturnConsumedCapacity="INDEXES", ConsistentRead=True),
            execute("INSERT INTO plain VALUE {'pk': ?, 'n': ?, 'b': ?}", p1 | {"S": "i"}, one, {"B": "AAEC"}),
            execute("UPDATE plain SET n = ?, d = ? WHERE pk = ? RETURNING ALL NEW *", one, p2, p1),
            execute("UPDATE plain SET n = 1 WHERE pk = 'p1'", ReturnConsumedCapacity="TOTAL"),
            execute("DELETE FROM plain WHERE pk = ? AND n = ?", p1, one),
        ]
    )


INSERTS = """
plain VALUE {'pk': 'i1', 'n': 1}
plain VALUE {'pk': 'i1', 'n': 1}
plain value {'pk': 'i2', 'a': 'x', 'b': true, 'c': NULL, 'd': [1, 'a', [2]], 'e': {'f': {'g': 1}}, 'j': -1.5e3}
plain VALUE {'pk': 'i3', 'h': <<1, 2>>, 'i': <<'a'>>, 'k': [], 'l': {}, 'm': '', 'o': 'it''s'}
plain VALUE {'pk': 'i4', 'a': [[[[1]]]], 'b': -5, 'c': +5, 'd': 1E3, 'e': 0.10}
plain VALUE {'pk': 'i5', 'a': (1)}
plain VALUE {}
plain VALUE {'n': 1}
plain VALUE {'pk': 1}
plain VALUE {'pk': ''}
plain VALUE {"pk": 'i6'}
plain VALUE {pk: 'i6'}
plain VALUE {'pk': 'i6', 'pk': 'i7'}
plain VALUE {'pk': 'i6', '': 1}
plain VALUE {'pk': 'i6',}
plain VALUE {'pk': 'i6' 'b': 1}
plain VALUE {'pk': 'i6', 's': <<>>}
plain VALUE {'pk': 'i6', 's': <<1, 'a'>>}
plain VALUE {'pk': 'i6', 's': <<1, 1>>}
plain VALUE {'pk': 'i6', 's': MISSING}
plain VALUE {'pk': 'i6', 's': [n]}
plain VALUE {'pk': 'i6', 's': `1`}
plain VALUE {'pk': 'i6'} RETURNING ALL OLD *
plain VALUE {'pk': 'i6'} ON CONFLICT DO NOTHING
plain VALUES {'pk': 'i6'}
plain VALUE ?
plain VALUE 'x'
plain VALUE [{'pk': 'i6'}]
plain VALUE <<{'pk': 'i6'}>>
"orders"."by_kind" VALUE {'pk': 'i6'}
orders VALUE {'pk': 'i6'}
orders VALUE {'pk': 'i6', 'sk': 'a', 'n': 'text'}
orders VALUE {'pk': 'i6', 'sk': 'a', 'n': 1, 'kind': 'k'}
nothere VALUE {'pk': 'i6'}
"""


def test_inserts(filled: Pair) -> None:
    each(filled, (f"INSERT INTO {line}" for line in INSERTS.strip().splitlines()))
    same_tables(filled)


UPDATES = """
SET n = 5
SET n = 6, q = 'x'
SET n = 7 SET q = 'y'
SET n = 8 SET r = 'y' REMOVE q
REMOVE r
REMOVE r REMOVE t
REMOVE n, t
REMOVE n SET n2 = 1
SET n = 1
SET n = n + 1
SET n = n - 1, q = 1 + 2
SET n = 5 - n
SET n = (n + 2)
SET n = n + n
SET n = n + 1 + 1
SET n = n * 2
SET n = -n
SET n = n || 'x'
SET n = s + 1
SET n = s
SET n = undefined2
SET n = 1
SET l = list_append(l, [3])
SET l = list_append([0], l)
SET l = list_append(list_append(l, [1]), [2])
SET l = list_append(l, 3)
SET l = list_append(undefined2, [3])
SET l = list_append(l)
SET ss = set_add(ss, <<'c'>>)
SET ss = SET_ADD(ss, <<'c', 'd'>>)
SET ss = set_delete(ss, <<'c', 'd'>>)
SET ss = set_add(ns, <<1>>)
SET ns = set_add(ns, <<'x'>>)
SET ns = set_add(ns, <<1, true>>)
SET n = set_add(n, 1)
SET ns = set_add(<<1>>, <<2>>)
SET newset = set_add(newset, <<'x'>>)
SET ns = set_delete(ns, <<1, 2>>)
SET ns = set_delete(ns, <<1, 2>>)
SET n = if_not_exists(n, 1), o = if_not_exists(o, 2)
SET n = size(s)
SET n = foo(s)
SET m.a = 9
SET m.c = 9, m.d = 'x'
SET m.date = 1
SET m['e'] = 1, m."f" = 2
SET nothere2.a = 1
SET l[0] = 'first'
SET l[0] = 5, l[9] = 6
REMOVE l[0]
REMOVE m.c
SET m = {'x': 1}, m.a = 2
SET n = 1, n = 2
SET n = NULL, k = {}, j = [], i = ''
SET n = [n, 1]
SET n = MISSING
SET pk = 'x'
REMOVE pk
SET ? = 1
SET n
SET
"""
UPDATED = """
pk = 'p1'
pk = 'p1' AND n < 1000
pk = 'p1' AND s IS NOT MISSING AND begins_with(s, 'a') AND ss = <<'b', 'a'>>
pk = 'p1' AND n > 1000
pk = 'p1' AND pk > 'a'
pk = 'p1' AND pk = 'p1'
pk = 'p1' AND pk = 'p2'
pk = 'nobody'
pk = 'nobody' AND n IS MISSING
pk = 'p1' OR pk = 'p2'
pk IN ['p1']
pk > 'p'
pk = 1
pk = ''
n = 1
t > true
"""
RETURNED = """
RETURNING ALL OLD *
RETURNING MODIFIED OLD *
RETURNING ALL NEW *
RETURNING MODIFIED NEW *
returning modified new *
RETURNING *
RETURNING ALL OLD
RETURNING ALL OLD n
"""


def test_updates(filled: Pair) -> None:
    changes = UPDATES.strip().splitlines()
    each(filled, (f"UPDATE plain {change} WHERE pk = 'p1' RETURNING ALL NEW *" for change in changes))
    each(filled, (f"UPDATE plain {change} WHERE pk = 'p2' RETURNING MODIFIED NEW *" for change in changes))
    each(filled, (f"UPDATE plain SET q = 1 WHERE {where}" for where in UPDATED.strip().splitlines()))
    each(filled, (f"UPDATE plain SET n = 3 WHERE pk = 'p0' {rest}" for rest in RETURNED.strip().splitlines()))
    same_tables(filled)


def test_updates_of_other_tables(filled: Pair) -> None:
    each(
        filled,
        [
            "UPDATE orders SET n = 1 WHERE pk = 'a'",
            "UPDATE orders SET n = 5 WHERE pk = 'a' AND sk = 's1' RETURNING ALL NEW *",
            "UPDATE orders SET n = 1 WHERE pk = 'a' AND sk > 's1'",
            "UPDATE \"orders\".\"by_kind\" SET n = 1 WHERE pk = 'a' AND sk = 's1'",
            "UPDATE nothere SET n = 1 WHERE pk = 'a'",
            "UPDATE plain x SET n = 1 WHERE pk = 'p1'",
            "UPDATE plain SET n = 1",
            "UPDATE plain WHERE pk = 'p1'",
            "update plain set n = 1 where pk = 'p1';",
        ],
    )
    filled.each(
        execute(f"{write} plain {change} WHERE pk = 'p1' AND n > 1000", **OLD)
        for write, change in (("UPDATE", "SET n = 1"), ("DELETE FROM", ""))
    )
    same_tables(filled)


DELETES = """
plain WHERE pk = 'p0' AND n > 1000
plain WHERE pk = 'p0' AND n = 0 RETURNING ALL NEW *
plain WHERE pk = 'p0' AND n = 0 RETURNING MODIFIED OLD *
plain WHERE pk = 'p0' AND n = 0 RETURNING ALL OLD *
plain WHERE pk = 'p0' RETURNING ALL OLD *
plain WHERE pk = 'p1'
plain WHERE pk = 'p1'
plain WHERE pk = 'nobody' AND n > 1000
plain WHERE pk = 'nobody' AND n IS MISSING
plain WHERE pk = 'p2' AND size(s) > 100
plain WHERE pk = 'p2' AND pk = 'p1'
plain WHERE pk IN ['p2']
plain WHERE pk = 1
plain WHERE n = 1
plain
plain x WHERE pk = 'p2'
orders WHERE pk = 'a'
orders WHERE pk = 'a' AND sk = 's1' AND pk = 'a'
orders WHERE sk = 's1' AND pk = 'b' RETURNING ALL OLD *
"orders"."by_n" WHERE pk = 'a' AND sk = 's1'
nothere WHERE pk = 'a'
"""


def test_deletes(filled: Pair) -> None:
    each(filled, (f"DELETE FROM {line}" for line in DELETES.strip().splitlines()))
    each(filled, ["DELETE plain WHERE pk = 'p2'", "DELETE FROM", "delete from plain where pk = 'p2';"])
    same_tables(filled)


def test_what_is_no_statement(filled: Pair) -> None:
    each(
        filled,
        [
            "SELECT",
            "SELECT FROM plain",
            "SELECT pk plain",
            "FOO",
            "CREATE TABLE foo",
            "DROP TABLE plain",
            "INSERT INTO",
            "INSERT plain VALUE {'pk': 'x'}",
            "UPDATE",
            "DELETE",
            ";",
            "'x'; SELECT",
            "SELECT * plain",
            "SELECT *, n FROM plain",
            "SELECT * FROM plain WHERE #x = 1",
            "SELECT * FROM plain WHERE a = :v",
            "EXISTS(SELECT * FROM plain WHERE pk = 'p0')",
        ],
    )


def test_batches(filled: Pair) -> None:
    filled.each(
        [
            batch("SELECT pk FROM plain WHERE pk = 'p1'", "SELECT * FROM plain WHERE pk = 'nobody'"),
            batch("SELECT n FROM plain WHERE pk = 'p1'", "SELECT * FROM orders WHERE pk = 'a' AND sk = 's1'"),
            batch("SELECT pk FROM plain WHERE pk = 'p1'", "SELECT pk FROM plain WHERE n = 1"),
            batch("SELECT pk FROM plain WHERE pk = 'p1' AND n = 1", "SELECT * FROM orders WHERE pk = 'a'"),
            batch("SELECT pk FROM plain WHERE pk = ?", "SELECT pk FROM plain WHERE pk = 1"),
            batch({"Statement": "SELECT pk FROM plain WHERE pk = ?", "Parameters": [{"S": "p1"}]}),
            batch("SELECT pk FROM nothere WHERE pk = 'p'"),
            batch("SELECT pk FROM plain WHERE pk = 'p1'", "SELECT n FROM plain WHERE pk = 'p1'"),
            batch("SELECT pk FROM plain WHERE pk = 'p1'", "DELETE FROM plain WHERE pk = 'p2'"),
            batch("SELECT pk FROM plain WHERE pk = 'p1'", ReturnConsumedCapacity="TOTAL"),
            batch(),
            batch(
                "INSERT INTO plain VALUE {'pk': 'b1'}",
                {"Statement": "INSERT INTO plain VALUE {'pk': 'p1'}", **OLD},
                "UPDATE plain SET n = 1 WHERE pk = 'p2' AND n = 99",
                "UPDATE plain SET n = 1 WHERE pk = 'p0' RETURNING ALL NEW *",
                "DELETE FROM plain WHERE pk = 'nobody'",
                "DELETE FROM orders WHERE pk = 'a' AND sk = 's1' RETURNING ALL OLD *",
            ),
            batch(
                {"Statement": "UPDATE plain SET n = 1 WHERE pk = 'p2' AND n = 99", **OLD},
                "UPDATE plain SET n = 1 WHERE pk = 'nobody'",
                "UPDATE plain SET n = 1",
                "UPDATE plain SET n = s + 1 WHERE pk = 'p1'",
                "UPDATE plain SET pk = 'a' WHERE pk = 'p0'",
                "INSERT INTO plain VALUE {'n': 1}",
                "INSERT INTO plain VALUE {'pk': 1}",
                "INSERT INTO nothere VALUE {'pk': 'a'}",
                "DELETE FROM plain WHERE pk = 'b1' RETURNING MODIFIED OLD *",
            ),
            batch({"Statement": "DELETE FROM plain WHERE pk = ?", "Parameters": [{"S": "b1"}]}),
        ]
    )
    same_tables(filled)
    # DynamoDB Local rejects it as we do, but has written.
    operation, members = batch("UPDATE plain SET n = 1 WHERE pk = 'p2'", "DELETE FROM plain WHERE pk = 'p2'")
    filled.error(operation, **members)


def test_transactions(filled: Pair) -> None:
    insert = {"Statement": "INSERT INTO plain VALUE {'pk': ?}", "Parameters": [{"S": "t7"}]}
    filled.each(
        [
            transaction("SELECT pk FROM plain WHERE pk = 'p1'", "SELECT n FROM plain WHERE pk = 'nobody'"),
            transaction("SELECT m.a, l[0] FROM plain WHERE pk = 'p1'", "SELECT * FROM orders WHERE sk='s1' AND pk='a'"),
            transaction("SELECT pk FROM plain WHERE pk = 'p1'", "SELECT n FROM plain WHERE pk = 'p1'"),
            transaction("SELECT pk FROM plain WHERE pk = 'p1'", "UPDATE plain SET n = 1 WHERE pk = 'p2'"),
            transaction("SELECT pk FROM plain WHERE n = 1"),
            transaction("SELECT pk FROM plain WHERE pk = 'p1' AND n = 1"),
            transaction("SELECT * FROM orders WHERE pk = 'a'"),
            transaction('SELECT * FROM "orders"."by_n" WHERE pk = \'a\' AND n = 1'),
            transaction("SELECT pk FROM plain WHERE pk = ?"),
            transaction("SELECT pk FROM nothere WHERE pk = 'p1'"),
            transaction("SELECT * FROM plain WHERE pk = 'p1'", ReturnConsumedCapacity="TOTAL"),
            transaction(),
            transaction(
                "INSERT INTO plain VALUE {'pk': 't1'}",
                "UPDATE plain SET n = n + 1 WHERE pk = 'p2' AND n = 2",
                "DELETE FROM plain WHERE pk = 'p0'",
                "EXISTS(SELECT * FROM plain WHERE pk = 'p1' AND n = 1)",
            ),
            transaction("INSERT INTO plain VALUE {'pk': 't1'}", "UPDATE plain SET n = 1 WHERE pk = 'p2'"),
            transaction(
                "INSERT INTO plain VALUE {'pk': 't2'}",
                {"Statement": "UPDATE plain SET n = 1 WHERE pk = 'p2' AND n = 99", **OLD},
            ),
            transaction("INSERT INTO plain VALUE {'pk': 't2'}", "UPDATE plain SET n = 1 WHERE pk = 'nobody'"),
            transaction("INSERT INTO plain VALUE {'pk': 't2'}", "DELETE FROM plain WHERE pk = 'p1' AND n = 99"),
            transaction("EXISTS(SELECT * FROM plain WHERE pk = 'p2' AND n = 99)"),
            transaction("EXISTS(SELECT * FROM plain WHERE pk = 'p2' AND n IS NOT MISSING)"),
            transaction("EXISTS(SELECT * FROM plain WHERE pk = 'nobody' AND n IS MISSING)"),
            transaction("EXISTS(SELECT * FROM plain WHERE pk = 'p2')"),
            transaction("EXISTS(SELECT * FROM plain WHERE n = 1)"),
            transaction("EXISTS(SELECT n FROM plain WHERE pk = 'p2' AND n = 1)", "SELECT * FROM plain WHERE pk = 'p1'"),
            transaction("NOT EXISTS(SELECT n FROM plain WHERE pk = 'p2' AND n = 1)"),
            transaction("INSERT INTO plain VALUE {'pk': 't3'}", "UPDATE plain SET n = 1 WHERE pk = 't3'"),
            transaction("INSERT INTO plain VALUE {'pk': 't3'}", "UPDATE plain SET n = 1"),
            transaction("INSERT INTO plain VALUE {'pk': 1}"),
            transaction("UPDATE plain SET pk = 'a' WHERE pk = 'p1'"),
            transaction("INSERT INTO nothere VALUE {'pk': 't3'}"),
            transaction("INSERT INTO plain VALUE {'pk': 't3'}", "SELECT"),
            transaction("UPDATE plain SET n = 1 WHERE pk = 'p2' RETURNING ALL NEW *"),
            transaction(insert, ClientRequestToken="token"),
            transaction(insert, ClientRequestToken="token"),
            transaction(insert | {"Parameters": [{"S": "t8"}]}, ClientRequestToken="token"),
        ]
    )
    same_tables(filled)
