"""Point-in-time recovery restores any second of a history: compared with dictionaries.

Requests of all kinds that change items, with backups that are begun, copied and restored in between, and with a janitor
that trims the log.
"""

from __future__ import annotations

from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from sortkey.clock import ManualClock
from sortkey.engine.check.database_check import check_database
from sortkey.engine.database import Database
from sortkey.engine.janitor import backups, restores
from tests.engine.samples import create, index, n, s

Model = dict[tuple[str, int], str]
WINDOW = 24 * 3600

keys = st.tuples(st.sampled_from(["a", "b", "ab"]), st.integers(-2, 2))
texts = st.sampled_from(["", "red", "blue", "x" * 300])
steps = st.one_of(
    st.tuples(st.just("put"), keys, texts),
    st.tuples(st.just("update"), keys, texts),
    st.tuples(st.just("delete"), keys),
    st.tuples(st.just("batch"), st.lists(st.tuples(keys, st.none() | texts), min_size=1, max_size=5)),
    st.tuples(st.just("wait"), st.sampled_from([1, 7, WINDOW // 3])),
    st.tuples(st.just("back up")),
    st.tuples(st.just("work")),
)


class History:
    """A table, what it was at each second, and what it was when each backup was made."""

    def __init__(self, chunk: int) -> None:
        self.clock = ManualClock(1_750_000_000)
        self.db = Database(None, self.clock)
        self.model: Model = {}
        self.seconds: dict[int, Model] = {}
        self.backups: dict[str, Model] = {}
        backups.BLOCK_BYTES = 100 * chunk  # type: ignore[misc]
        restores.CHUNK_ROWS = chunk  # type: ignore[misc]
        create(self.call, "table", "p:S", "s:N", indexes=[index("by_text", "text:S")])
        wanted = {"PointInTimeRecoveryEnabled": True, "RecoveryPeriodInDays": 1}
        self.call("UpdateContinuousBackups", TableName="table", PointInTimeRecoverySpecification=wanted)
        self.clock.advance(1)

    def call(self, operation: str, **members: Any) -> dict[str, Any]:
        return self.db.call(operation, members)

    def apply(self, step: tuple[Any, ...]) -> None:
        match step:
            case "put", key, text:
                self.call("PutItem", TableName="table", Item=item(key, text))
                self.model[key] = text
            case "update", key, text:
                changed: dict[str, Any] = {"ExpressionAttributeNames": {"#t": "text"}}
                if text:
                    changed |= {"UpdateExpression": "SET #t = :t", "ExpressionAttributeValues": {":t": s(text)}}
                else:
                    changed |= {"UpdateExpression": "REMOVE #t"}
                self.call("UpdateItem", TableName="table", Key=item(key, ""), **changed)
                self.model[key] = text
            case "delete", key:
                self.call("DeleteItem", TableName="table", Key=item(key, ""))
                self.model.pop(key, None)
            case "batch", changes:
                wanted = dict(changes)
                self.call("BatchWriteItem", RequestItems={"table": [request(*each) for each in wanted.items()]})
                for key, text in wanted.items():
                    if text is None:
                        self.model.pop(key, None)
                    else:
                        self.model[key] = text
            case "wait", seconds:
                self.seconds[int(self.clock.now())] = dict(self.model)
                self.clock.advance(seconds)
            case ("back up",):
                if not any(each["BackupStatus"] == "CREATING" for each in self.call("ListBackups")["BackupSummaries"]):
                    made = self.call("CreateBackup", TableName="table", BackupName="now")["BackupDetails"]
                    self.backups[made["BackupArn"]] = dict(self.model)
            case ("work",):
                next(backups.copy_backups(self.db), None)

    def at(self, second: int) -> Model:
        """What the table was at the end of a second."""
        return self.seconds[max(moment for moment in self.seconds if moment <= second)]

    def restored(self, operation: str, **source: Any) -> Model:
        self.call(operation, TargetTableName="restored", **source)
        self.db.janitor.sweep()
        assert check_database(self.db).problems == []
        found = self.call("Scan", TableName="restored")["Items"]
        self.call("DeleteTable", TableName="restored")
        return {(each["p"]["S"], int(each["s"]["N"])): each.get("text", s(""))["S"] for each in found}


def item(key: tuple[str, int], text: str) -> dict[str, Any]:
    return {"p": s(key[0]), "s": n(key[1])} | ({"text": s(text)} if text else {})


def request(key: tuple[str, int], text: str | None) -> dict[str, Any]:
    if text is None:
        return {"DeleteRequest": {"Key": item(key, "")}}
    return {"PutRequest": {"Item": item(key, text)}}


@given(st.lists(steps, max_size=40), st.integers(1, 4), st.data())
def test_any_second_of_a_history_is_restored(script: list[tuple[Any, ...]], chunk: int, data: st.DataObject) -> None:
    history = History(chunk)
    for step in [("wait", 1), *script, ("wait", 1)]:
        history.apply(step)
    history.db.janitor.sweep()
    now, first = int(history.clock.now()), min(history.seconds)
    for _ in range(2):
        second = data.draw(st.integers(max(first, now - WINDOW), now - 1), label="second")
        found = history.restored("RestoreTableToPointInTime", SourceTableName="table", RestoreDateTime=second)
        assert found == history.at(second), second
    for arn, expected in history.backups.items():
        assert history.restored("RestoreTableFromBackup", BackupArn=arn) == expected
    history.db.close()
