"""Repairs beside other writers: what they write between the audit of a row and its repair is never undone."""

from __future__ import annotations

from typing import Any

import pytest
from botocore.exceptions import ClientError

import sortkey as sk
from sortkey.model.audit.report import AuditReport
from sortkey.model.audit.table_audit import ATTEMPTS, AuditOptions, TableAudit
from sortkey.model.calls.steps import ParallelCalls, Pause
from sortkey.model.fields.codec import Row
from tests.model.audit.audited import AUDITED, event_row, order_row

STALE = order_row(gsi1sk={"S": "DONE#000003"})
KEY = {name: STALE[name] for name in ("PK", "SK")}


def audit_of(db: sk.Session, row: Row, **options: Any) -> TableAudit:
    """An audit that has read this row, which is stored, and not repaired it yet."""
    db.client.put_item(TableName="audited", Item=row)
    audit = TableAudit(db._context, AUDITED, AuditOptions(repair=True, **options))
    audit.add(row)
    return audit


def repaired(db: sk.Session, audit: TableAudit) -> AuditReport:
    db._run(audit.settle())
    return audit.report


def stored(db: sk.Session) -> Row | None:
    row: Row | None = db.client.get_item(TableName="audited", Key=KEY).get("Item")
    return row


def write(db: sk.Session, **values: Any) -> None:
    """What another program writes."""
    db.client.update_item(
        TableName="audited",
        Key=KEY,
        UpdateExpression="SET " + ", ".join(f"#{name} = :{name}" for name in values),
        ExpressionAttributeNames={f"#{name}": name for name in values},
        ExpressionAttributeValues={f":{name}": value for name, value in values.items()},
    )


# The index key does not follow from it, so the repair goes on.
def test_another_attribute_was_written(live: sk.Session) -> None:
    audit = audit_of(live, STALE)
    write(live, note={"S": "new"})
    report = repaired(live, audit)
    assert stored(live) == order_row(note={"S": "new"})
    assert (report.findings[0].repaired, report.changed) == (1, 0)


# The other program knows nothing of index keys: the repair follows what it wrote.
def test_a_field_of_the_index_key_was_written(live: sk.Session) -> None:
    audit = audit_of(live, STALE)
    write(live, status={"S": "SENT"}, gsi2pk={"S": "STATUS#SENT"})
    report = repaired(live, audit)
    assert stored(live) == order_row(status={"S": "SENT"}, gsi1sk={"S": "SENT#000003"}, gsi2pk={"S": "STATUS#SENT"})
    assert (report.findings[0].repaired, report.changed) == (1, 1)


def test_the_row_was_replaced_by_a_right_one(live: sk.Session) -> None:
    audit = audit_of(live, STALE)
    live.client.put_item(TableName="audited", Item=order_row(city={"S": "Rome"}, gsi1pk={"S": "CITY#Rome"}))
    report = repaired(live, audit)
    assert stored(live) == order_row(city={"S": "Rome"}, gsi1pk={"S": "CITY#Rome"})
    assert (report.rows, report.fine, report.changed, report.findings) == (1, 1, 1, [])


def test_the_row_was_deleted(live: sk.Session) -> None:
    audit = audit_of(live, STALE)
    live.client.delete_item(TableName="audited", Key=KEY)
    report = repaired(live, audit)
    assert stored(live) is None
    assert (report.rows, report.deleted, report.is_clean) == (0, 1, True)


# The upgrade changes many attributes, but not those that the row got meanwhile.
def test_an_older_row_was_written(live: sk.Session) -> None:
    old = event_row(_v=None, kind=None, type={"S": "login"})
    audit = audit_of(live, old, upgrade=True)
    live.client.put_item(TableName="audited", Item=old | {"note": {"S": "new"}})
    repaired(live, audit)
    (row,) = live.client.scan(TableName="audited")["Items"]
    assert (row["note"], row["_v"]) == ({"S": "new"}, {"N": "2"})


def test_an_older_row_was_upgraded_by_another_program(live: sk.Session) -> None:
    old = event_row(_v=None, kind=None, type={"S": "login"})
    audit = audit_of(live, old, upgrade=True)
    live.client.put_item(TableName="audited", Item=event_row(kind={"S": "LOGOUT"}, gsi1pk={"S": "KIND#LOGOUT"}))
    repaired(live, audit)
    (row,) = live.client.scan(TableName="audited")["Items"]
    assert row == event_row(kind={"S": "LOGOUT"}, gsi1pk={"S": "KIND#LOGOUT"})


# The new version sets the field that the old row lacked; the key of the index follows from it.
def test_an_older_row_without_an_index_key_was_upgraded_by_another_program(live: sk.Session) -> None:
    old = event_row(_v=None, kind=None, type={"S": "login"}, gsi1pk=None)
    audit = audit_of(live, old)
    newer = {**old, "kind": {"S": "LOGOUT"}, "_v": {"N": "2"}}
    live.client.put_item(TableName="audited", Item=newer)
    repaired(live, audit)
    (row,) = live.client.scan(TableName="audited")["Items"]
    assert row == {**newer, "gsi1pk": {"S": "KIND#LOGOUT"}}


# The steps are answered by hand here, as a store would answer them.


def failed(code: str, **members: Any) -> ClientError:
    response: Any = {"Error": {"Code": code, "Message": "too long"}, **members}
    return ClientError(response, "UpdateItem")


def test_a_row_that_changes_again_and_again_is_skipped(live: sk.Session) -> None:
    audit = audit_of(live, STALE)
    steps = audit.settle()
    changes = [order_row(status={"S": f"S{number}"}, gsi2pk={"S": f"STATUS#S{number}"}) for number in range(ATTEMPTS)]
    next(steps)
    for now in changes:
        assert isinstance(steps.send([failed("ConditionalCheckFailedException", Item=now)]), ParallelCalls)
    with pytest.raises(StopIteration):
        steps.send([failed("ConditionalCheckFailedException", Item=STALE)])
    (finding,) = audit.report.findings
    assert (finding.rows, finding.repaired, finding.skipped, finding.left) == (1, 0, 1, 1)
    assert not audit.report.is_clean


def test_a_throttled_repair_is_repeated(live: sk.Session) -> None:
    audit = audit_of(live, STALE)
    steps = audit.settle()
    call = next(steps)
    assert isinstance(steps.send([failed("ThrottlingException")]), Pause)
    assert next(steps) == call
    with pytest.raises(StopIteration):
        steps.send([{"ConsumedCapacity": {"CapacityUnits": 3.0}}])
    assert (audit.report.findings[0].repaired, audit.report.write_units) == (1, 3.0)


# Such as an index key that would be too long: the other rows are repaired all the same.
def test_a_repair_that_the_store_rejects_is_left(live: sk.Session) -> None:
    audit = audit_of(live, STALE)
    steps = audit.settle()
    next(steps)
    with pytest.raises(StopIteration):
        steps.send([failed("ValidationException")])
    (finding,) = audit.report.findings
    assert (finding.repaired, finding.left) == (0, 1)
    assert "too long" in finding.examples[0].detail


def test_an_error_that_is_not_of_the_row_ends_the_audit(live: sk.Session) -> None:
    steps = audit_of(live, STALE).settle()
    next(steps)
    with pytest.raises(ClientError, match="AccessDenied"):
        steps.send([failed("AccessDeniedException")])
