"""The prefix of table names: added in requests, stripped from answers, so that callers never see it.

Only members that DynamoDB defines as table names are changed; an item may have attributes of any name. ARNs stay as
they are: they come from answers and hold the stored name. Error messages hold the stored name, too.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

Members = dict[str, Any]

_SHORTEST_NAME: Final = 3
_NAMES: Final = frozenset({"TableName", "GlobalTableName", "ExclusiveStartTableName"})
_BY_TABLE: Final = frozenset({"BatchGetItem", "BatchWriteItem", "TransactWriteItems"})
"""Operations whose answers have maps keyed by table name."""


class TableNames:
    def __init__(self, prefix: str) -> None:
        self.prefix = prefix

    def add(self, operation: str, members: Members) -> Members:
        """The request with the prefix on its table names."""
        copy = {name: self._add(member) if name in _NAMES else member for name, member in members.items()}
        if isinstance(copy.get("RequestItems"), dict):
            copy["RequestItems"] = {self._add(table): each for table, each in copy["RequestItems"].items()}
        if isinstance(copy.get("TransactItems"), list):
            copy["TransactItems"] = [self._add_in_action(action) for action in copy["TransactItems"]]
        if operation == "ListTables":
            # Names come in order, and no table's name is the bare prefix. AWS takes no name shorter than three
            # characters, so the prefix is padded with the lowest character allowed.
            copy.setdefault("ExclusiveStartTableName", self.prefix.ljust(_SHORTEST_NAME, "-"))
        return copy

    def strip(self, operation: str, answer: Members) -> Members:
        """The answer without the prefix on its table names."""
        if operation == "ListTables":
            return self._strip_list(answer)
        copy = dict(answer)
        if "TableName" in copy:
            copy["TableName"] = self._strip(copy["TableName"])
        for name in ("Table", "TableDescription", "StreamDescription", "ConsumedCapacity", "Streams"):
            if name in copy:
                copy[name] = _each(copy[name], self._strip_description)
        if operation in _BY_TABLE:
            for name in ("Responses", "UnprocessedKeys", "UnprocessedItems", "ItemCollectionMetrics"):
                if name in copy:
                    copy[name] = {self._strip(table): each for table, each in copy[name].items()}
        return copy

    def _strip_list(self, answer: Members) -> Members:
        ours = [name for name in answer["TableNames"] if name.startswith(self.prefix)]
        copy = {**answer, "TableNames": [self._strip(name) for name in ours]}
        last = copy.pop("LastEvaluatedTableName", None)
        # After the last name with the prefix there is nothing left to list.
        if last is not None and last.startswith(self.prefix):
            copy["LastEvaluatedTableName"] = self._strip(last)
        return copy

    def _add_in_action(self, action: Any) -> Any:
        if not isinstance(action, dict):
            return action
        return {name: self.add("", inner) if isinstance(inner, dict) else inner for name, inner in action.items()}

    def _strip_description(self, description: Members) -> Members:
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
