"""The prefix of table names: added in requests, taken off in answers, so that callers never see it.

Only where DynamoDB's shapes have the name of a table; an item may have an attribute of any name. ARNs are left as they
are: they come from answers, and name the table as the store does. The messages of errors are the store's own, too.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

Members = dict[str, Any]

_SHORTEST_NAME: Final = 3
_NAMES: Final = frozenset({"TableName", "GlobalTableName", "ExclusiveStartTableName"})
_BY_TABLE: Final = frozenset({"BatchGetItem", "BatchWriteItem", "TransactWriteItems"})
"""Operations whose answers have maps from tables."""


class TableNames:
    def __init__(self, prefix: str) -> None:
        self.prefix = prefix

    def stored(self, operation: str, members: Members) -> Members:
        """A request as the store knows its tables."""
        copy = {name: self._add(member) if name in _NAMES else member for name, member in members.items()}
        if isinstance(copy.get("RequestItems"), dict):
            copy["RequestItems"] = {self._add(table): each for table, each in copy["RequestItems"].items()}
        if isinstance(copy.get("TransactItems"), list):
            copy["TransactItems"] = [self._action(action) for action in copy["TransactItems"]]
        if operation == "ListTables":
            # Names come in order, and no table has the bare prefix as its name. The shortest name that AWS takes is
            # filled up with the first character there is.
            copy.setdefault("ExclusiveStartTableName", self.prefix.ljust(_SHORTEST_NAME, "-"))
        return copy

    def shown(self, operation: str, answer: Members) -> Members:
        """An answer as the caller knows its tables."""
        if operation == "ListTables":
            return self._listed(answer)
        copy = dict(answer)
        if "TableName" in copy:
            copy["TableName"] = self._strip(copy["TableName"])
        for name in ("Table", "TableDescription", "StreamDescription", "ConsumedCapacity", "Streams"):
            if name in copy:
                copy[name] = _each(copy[name], self._described)
        if operation in _BY_TABLE:
            for name in ("Responses", "UnprocessedKeys", "UnprocessedItems", "ItemCollectionMetrics"):
                if name in copy:
                    copy[name] = {self._strip(table): each for table, each in copy[name].items()}
        return copy

    def _listed(self, answer: Members) -> Members:
        ours = [name for name in answer["TableNames"] if name.startswith(self.prefix)]
        copy = {**answer, "TableNames": [self._strip(name) for name in ours]}
        last = copy.pop("LastEvaluatedTableName", None)
        # Past the prefix there is nothing left to list.
        if last is not None and last.startswith(self.prefix):
            copy["LastEvaluatedTableName"] = self._strip(last)
        return copy

    def _action(self, action: Any) -> Any:
        if not isinstance(action, dict):
            return action
        return {kind: self.stored("", inner) if isinstance(inner, dict) else inner for kind, inner in action.items()}

    def _described(self, description: Members) -> Members:
        if "TableName" not in description:
            return description
        return {**description, "TableName": self._strip(description["TableName"])}

    def _add(self, name: Any) -> Any:
        if not isinstance(name, str) or name.startswith("arn:"):
            return name
        return self.prefix + name

    def _strip(self, name: str) -> str:
        return name.removeprefix(self.prefix)


def _each(member: Any, change: Callable[[Members], Members]) -> Any:
    return [change(element) for element in member] if isinstance(member, list) else change(member)
