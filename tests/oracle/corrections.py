"""DynamoDB Local's answers as AWS would have given them, one function for each known difference in answers.

Each takes the request, our answer and DynamoDB Local's, and returns the latter, corrected.
"""

from __future__ import annotations

import re
from decimal import Context
from typing import Any, Final

from tests.oracle.difference import Answer, Request
from tests.oracle.tables import ORDERS

STATEMENTS: Final = frozenset({"BatchExecuteStatement", "ExecuteStatement", "ExecuteTransaction"})
BATCH_MESSAGES: Final = {
    "Only single item select is supported": (
        "Select statements within BatchExecuteStatement must specify the primary key in the where clause."
    ),
    "Cannot do operations on a non-existent table": "Requested resource not found",
}
MIRRORED: Final = re.compile("'[^']*' [<>]=? sk")
EXACT: Final = Context(prec=40)

TWO_ATTRIBUTES: Final = {
    index["IndexName"] for index in ORDERS["GlobalSecondaryIndexes"] if len(index["KeySchema"]) == 2
}
"""The global indexes of ORDERS whose key has a sort key."""


def nothing_projected(request: Request, _ours: Answer, theirs: Answer) -> Answer:
    if request[0] != "TransactGetItems" or "Responses" not in theirs:
        return theirs
    responses = [{} if response == {"Item": {}} else response for response in theirs["Responses"]]
    return theirs | {"Responses": responses}


def canonical_numbers(_request: Request, _ours: Answer, theirs: Answer) -> Answer:
    corrected: Answer = _with_canonical_numbers(theirs)
    return corrected


def _with_canonical_numbers(value: Any) -> Any:
    if isinstance(value, list):
        return [_with_canonical_numbers(element) for element in value]
    if not isinstance(value, dict):
        return value
    match value:
        case {"N": str(number)} if len(value) == 1:
            return {"N": _canonical(number)}
        case {"NS": [*numbers]} if len(value) == 1:
            return {"NS": [_canonical(number) for number in numbers]}
    return {name: _with_canonical_numbers(member) for name, member in value.items()}


def _canonical(number: str) -> str:
    plain = format(EXACT.create_decimal(number).normalize(EXACT), "f")
    return "0" if plain == "-0" else plain


def updated_parts(request: Request, ours: Answer, theirs: Answer) -> Answer:
    """The updated parts of documents instead of whole documents; ours must be such parts."""
    if request[1].get("ReturnValues") not in ("UPDATED_OLD", "UPDATED_NEW"):
        return theirs
    parts = ours.get("Attributes")
    if parts is None and not _names_paths(request):
        return theirs
    if parts is None:
        return {name: member for name, member in theirs.items() if name != "Attributes"}
    return theirs | {"Attributes": parts} if _is_part({"M": parts}, {"M": theirs.get("Attributes", {})}) else theirs


def _names_paths(request: Request) -> bool:
    return any(sign in request[1].get("UpdateExpression", "") for sign in ".[")


def _is_part(part: dict[str, Any], whole: dict[str, Any]) -> bool:
    match part, whole:
        case {"M": members}, {"M": others}:
            return all(name in others and _is_part(member, others[name]) for name, member in members.items())
        case {"L": elements}, {"L": others}:
            rest = iter(others)
            return all(any(_is_part(element, other) for other in rest) for element in elements)
    return bool(_with_canonical_numbers(part) == _with_canonical_numbers(whole))


def unasked_capacity(request: Request, _ours: Answer, theirs: Answer) -> Answer:
    if request[1].get("ReturnConsumedCapacity", "NONE") != "NONE":
        return theirs
    return {name: member for name, member in theirs.items() if name != "ConsumedCapacity"}


def empty_reads(request: Request, _ours: Answer, theirs: Answer) -> Answer:
    """Half a unit, or one, for a read that finds nothing."""
    consumed = theirs.get("ConsumedCapacity")
    if request[0] not in ("Query", "Scan") or consumed is None or theirs["ScannedCount"] or consumed["CapacityUnits"]:
        return theirs
    units = {"CapacityUnits": 1.0 if request[1].get("ConsistentRead") else 0.5}
    name = request[1].get("IndexName")
    read: dict[str, Any]
    if name is None:
        read = {"Table": units} if "Table" in consumed else {}
    else:
        read = {member: {name: units} for member in consumed if member.endswith("SecondaryIndexes")}
    return theirs | {"ConsumedCapacity": consumed | units | read}


def fetches_of_local_indexes(request: Request, ours: Answer, theirs: Answer) -> Answer:
    """Our units for reads from the table beside a local index, if all other units are equal."""
    ours_consumed, consumed = ours.get("ConsumedCapacity"), theirs.get("ConsumedCapacity")
    if request[0] not in ("Query", "Scan") or "IndexName" not in request[1] or not ours_consumed or not consumed:
        return theirs
    fetched = ours_consumed.get("Table", {}).get("CapacityUnits", 0.0)
    index = sum(units["CapacityUnits"] for units in consumed.get("LocalSecondaryIndexes", {}).values())
    if not index:
        return theirs
    total = {"CapacityUnits": index + fetched, "Table": {"CapacityUnits": fetched}}
    return theirs | {"ConsumedCapacity": consumed | total}


def half_index_keys(request: Request, ours: Answer, theirs: Answer) -> Answer:
    """Without the one unit of an index with a sort key that we do not charge."""
    ours_consumed, consumed = ours.get("ConsumedCapacity"), theirs.get("ConsumedCapacity")
    if request[0] not in ("PutItem", "UpdateItem") or not ours_consumed or not consumed or "Table" not in consumed:
        return theirs
    charged = consumed.get("GlobalSecondaryIndexes", {})
    extra = charged.keys() - ours_consumed.get("GlobalSecondaryIndexes", {}).keys()
    if not extra or not extra <= TWO_ATTRIBUTES or any(charged[name]["CapacityUnits"] != 1.0 for name in extra):
        return theirs
    corrected = consumed | {"CapacityUnits": consumed["CapacityUnits"] - len(extra)}
    corrected["GlobalSecondaryIndexes"] = {name: units for name, units in charged.items() if name not in extra}
    if not corrected["GlobalSecondaryIndexes"]:
        del corrected["GlobalSecondaryIndexes"]
    return theirs | {"ConsumedCapacity": corrected}


def units_of_index_rows(request: Request, ours: Answer, theirs: Answer) -> Answer:
    """Our units of indexes, if both sides charge the same indexes and the same units of the table."""
    ours_consumed, consumed = ours.get("ConsumedCapacity"), theirs.get("ConsumedCapacity")
    if not isinstance(ours_consumed, dict) or not isinstance(consumed, dict):
        return theirs
    detailed = "Table" in consumed or "IndexName" in request[1]
    if not detailed or _charged(ours_consumed) != _charged(consumed):
        return theirs
    return theirs | {"ConsumedCapacity": ours_consumed}


def _charged(consumed: Answer) -> Any:
    """The table's own units, and the names of the indexes that are charged."""
    index_types = ("LocalSecondaryIndexes", "GlobalSecondaryIndexes")
    return (
        consumed["TableName"],
        consumed.get("Table"),
        [sorted(consumed.get(each, {})) for each in index_types],
    )


def missing_items_of_batches(request: Request, ours: Answer, theirs: Answer) -> Answer:
    """The smallest unit for each key that has no item."""
    if request[0] != "BatchGetItem" or "ConsumedCapacity" not in theirs or "Responses" not in ours:
        return theirs
    consumed = []
    for taken in theirs["ConsumedCapacity"]:
        part = request[1]["RequestItems"][taken["TableName"]]
        missing = len(part["Keys"]) - len(theirs["Responses"].get(taken["TableName"], ()))
        more = missing * (1.0 if part.get("ConsistentRead") else 0.5)
        detail = {"Table": {"CapacityUnits": taken["Table"]["CapacityUnits"] + more}} if "Table" in taken else {}
        consumed.append(taken | {"CapacityUnits": taken["CapacityUnits"] + more} | detail)
    return theirs | {"ConsumedCapacity": consumed}


def filtered_pages(request: Request, ours: Answer, theirs: Answer) -> Answer:
    """Our page, if it ends before theirs because a filter has removed items."""
    if request[0] not in ("Query", "Scan") or "FilterExpression" not in request[1] or "LastEvaluatedKey" not in ours:
        return theirs
    return ours if "Limit" not in request[1] and ours["ScannedCount"] < theirs["ScannedCount"] else theirs


def units_of_transactions(request: Request, ours: Answer, theirs: Answer) -> Answer:
    """Our units, if both sides charge the same tables."""
    if not request[0].startswith("Transact") or "ConsumedCapacity" not in theirs or "ConsumedCapacity" not in ours:
        return theirs
    tables = [sorted(taken["TableName"] for taken in answer["ConsumedCapacity"]) for answer in (ours, theirs)]
    return theirs | {"ConsumedCapacity": ours["ConsumedCapacity"]} if tables[0] == tables[1] else theirs


def reasons_without_full_stop(_request: Request, _ours: Answer, theirs: Answer) -> Answer:
    if "CancellationReasons" not in theirs:
        return theirs
    failed = {"Message": "The conditional request failed"}
    reasons = [
        reason | failed if reason["Code"] == "ConditionalCheckFailed" else reason
        for reason in theirs["CancellationReasons"]
    ]
    return theirs | {"CancellationReasons": reasons}


def no_collection_metrics(request: Request, ours: Answer, theirs: Answer) -> Answer:
    """Ours, if the request asks for them."""
    if request[1].get("ReturnItemCollectionMetrics") != "SIZE" or "ItemCollectionMetrics" not in ours:
        return theirs
    return theirs | {"ItemCollectionMetrics": ours["ItemCollectionMetrics"]}


def batch_deletes_of_nothing(request: Request, ours: Answer, theirs: Answer) -> Answer:
    """At most one unit less for each delete: for those of missing items."""
    if request[0] != "BatchWriteItem" or "ConsumedCapacity" not in theirs or "ConsumedCapacity" not in ours:
        return theirs
    mine = {taken["TableName"]: taken for taken in ours["ConsumedCapacity"]}
    consumed = []
    for taken in theirs["ConsumedCapacity"]:
        name = taken["TableName"]
        deletes = sum("DeleteRequest" in each for each in request[1]["RequestItems"][name])
        less = taken["CapacityUnits"] - mine[name]["CapacityUnits"]
        consumed.append(mine[name] if 0 < less <= deletes else taken)
    return theirs | {"ConsumedCapacity": consumed}


def table_descriptions(request: Request, ours: Answer, theirs: Answer) -> Answer:
    for member in ("Table", "TableDescription"):
        if member in theirs and member in ours:
            status = {"TableStatus": "DELETING"} if request[0] == "DeleteTable" else {}
            return theirs | {member: _described(theirs[member] | status, ours[member])}
    return theirs


def _described(theirs: Answer, ours: Answer) -> Answer:
    """A table or a global index, with the members that only our description has."""
    described = theirs | {name: ours[name] for name in ("TableId", "WarmThroughput") if name in ours}
    throughput = {"NumberOfDecreasesToday": 0, "ReadCapacityUnits": 0, "WriteCapacityUnits": 0}
    if "ProvisionedThroughput" in ours:
        given = theirs.get("ProvisionedThroughput", {})
        described["ProvisionedThroughput"] = throughput | {name: value for name, value in given.items() if value != 0.0}
    if "GlobalSecondaryIndexes" in theirs:
        mine = {index["IndexName"]: index for index in ours.get("GlobalSecondaryIndexes", ())}
        described["GlobalSecondaryIndexes"] = [
            _described(index, mine.get(index["IndexName"], {})) for index in theirs["GlobalSecondaryIndexes"]
        ]
    return described


def dropped_indexes(request: Request, _ours: Answer, theirs: Answer) -> Answer:
    """Without the indexes that are being deleted."""
    indexes = theirs.get("TableDescription", {}).get("GlobalSecondaryIndexes")
    if request[0] != "UpdateTable" or indexes is None:
        return theirs
    left = [index for index in indexes if index["IndexStatus"] != "DELETING"]
    description = {
        name: value for name, value in theirs["TableDescription"].items() if name != "GlobalSecondaryIndexes"
    }
    return theirs | {"TableDescription": description | ({"GlobalSecondaryIndexes": left} if left else {})}


def capacity_of_statements(request: Request, ours: Answer, theirs: Answer) -> Answer:
    """Ours, if the request asks for it."""
    if request[0] not in STATEMENTS or "ConsumedCapacity" not in ours or "ConsumedCapacity" in theirs:
        return theirs
    return theirs | {"ConsumedCapacity": ours["ConsumedCapacity"]}


def last_key_of_statements(request: Request, ours: Answer, theirs: Answer) -> Answer:
    """Ours, which is the key of the last item if all of its attributes are shown."""
    if request[0] != "ExecuteStatement" or "NextToken" not in theirs or "LastEvaluatedKey" not in ours:
        return theirs
    return theirs | {"LastEvaluatedKey": ours["LastEvaluatedKey"]}


def modified_parts(request: Request, ours: Answer, theirs: Answer) -> Answer:
    """Our parts, if they are parts of theirs."""
    text = request[1].get("Statement", "").upper()
    if "RETURNING MODIFIED" not in text or not ours.get("Items") or not theirs.get("Items"):
        return theirs
    (part,), (whole,) = ours["Items"], theirs["Items"]
    return ours if _is_part({"M": part}, {"M": whole}) else theirs


def selected_elements(request: Request, ours: Answer, theirs: Answer) -> Answer:
    """Our items without those attributes, if theirs show an element that has them."""
    if "Items" not in theirs or "]" not in request[1].get("Statement", "").partition(" FROM ")[0]:
        return theirs
    items = []
    for mine, other in zip(ours.get("Items", ()), theirs.get("Items", ()), strict=False):
        elements = [value["M"] for name, value in other.items() if name.endswith("]") and "M" in value]
        more = {name: value for name, value in mine.items() if any(each.get(name) == value for each in elements)}
        kept = {name: value for name, value in other.items() if name in mine}
        items.append(kept | more)
    return theirs | {"Items": items}


def partitions_once(request: Request, ours: Answer, theirs: Answer) -> Answer:
    """Ours, if theirs has the same items and some of them twice."""
    if request[0] != "ExecuteStatement" or len(ours.get("Items", ())) >= len(theirs.get("Items", ())):
        return theirs
    same = all(item in ours["Items"] for item in theirs["Items"])
    return theirs | {"Items": ours["Items"]} if same and " IN " in request[1]["Statement"] else theirs


def mirrored_ranges(request: Request, ours: Answer, theirs: Answer) -> Answer:
    """Ours, if a constant is on the left of a comparison."""
    found = MIRRORED.search(request[1].get("Statement", ""))
    return theirs if found is None or "Items" not in theirs else theirs | {"Items": ours["Items"]}


def errors_in_batches(request: Request, _ours: Answer, theirs: Answer) -> Answer:
    if request[0] != "BatchExecuteStatement" or "Responses" not in theirs:
        return theirs
    responses = []
    for response in theirs["Responses"]:
        if "Error" not in response:
            responses.append(response)
            continue
        error = response["Error"]
        message = BATCH_MESSAGES.get(error["Message"], error["Message"])
        responses.append(response | {"Error": {"Code": error["Code"], "Message": message}})
    return theirs | {"Responses": responses}
