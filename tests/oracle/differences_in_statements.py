"""Differences in PartiQL."""

from __future__ import annotations

from typing import Any, Final

from tests.oracle import corrections
from tests.oracle.difference import ANSWERED, Answered, Difference, Rejected, Request

KEY: Final = {"pk": {"S": "x"}}
VALIDATION: Final = "ValidationException: "
NOT_WELL_FORMED: Final = f"{VALIDATION}Statement wasn't well formed, can't be processed: …"
BROKEN: Final = "InternalFailure: The request processing has failed because of an unknown error, exception or failure."
CANCELLED: Final = "TransactionCanceledException: "
PUT: Final[Request] = (
    "PutItem",
    {"TableName": "plain", "Item": KEY | {"l": {"L": [{"N": "1"}, {"M": {"y": {"N": "2"}, "z": {"N": "3"}}}]}}},
)


def execute(statement: str, **members: Any) -> Request:
    return "ExecuteStatement", {"Statement": statement, **members}


DIFFERENCES: Final[tuple[Difference, ...]] = (
    Rejected(
        id="not-well-formed",
        why="AWS says what its parser did not expect; DynamoDB Local repeats the statement.",
        ours=NOT_WELL_FORMED,
        theirs=f"{NOT_WELL_FORMED} | {VALIDATION}Unsupported operation: …",
        example=(execute("SELECT FROM plain"),),
    ),
    Rejected(
        id="duplicate-item",
        why="AWS's name for the error of an INSERT whose key has an item.",
        ours="DuplicateItemException: Duplicate primary key exists in table",
        theirs="DuplicateItem: Duplicate primary key exists in table",
        example=(PUT, execute("INSERT INTO plain VALUE {'pk': 'x'}")),
    ),
    Rejected(
        id="duplicate-item-in-transaction",
        why="The reason of such an INSERT in a transaction has a code of its own, as in a batch.",
        ours=f"{CANCELLED}…[…DuplicateItem…]",
        theirs=f"{CANCELLED}…[…ValidationError…]",
        example=(
            PUT,
            ("ExecuteTransaction", {"TransactStatements": [{"Statement": "INSERT INTO plain VALUE {'pk': 'x'}"}]}),
        ),
    ),
    Rejected(
        id="keyless-statement-in-transaction",
        why="A statement that names no key cancels its transaction, with a reason for each statement.",
        ours=f"{CANCELLED}Transaction cancelled, please refer cancellation reasons for specific reasons […]",
        theirs=f"{CANCELLED}ValidationError Where clause does not contain a mandatory equality on all key attributes",
        example=(("ExecuteTransaction", {"TransactStatements": [{"Statement": "UPDATE plain SET n = 1"}]}),),
    ),
    Rejected(
        id="descending-order",
        why="ORDER BY a key DESC may show less than the whole key; DynamoDB Local fails.",
        ours=ANSWERED,
        theirs=BROKEN,
        example=(
            ("PutItem", {"TableName": "orders", "Item": KEY | {"sk": {"S": "y"}}}),
            execute("SELECT sk FROM orders WHERE pk = 'x' ORDER BY sk DESC"),
        ),
    ),
    Rejected(
        id="constants",
        why="Where a literal has what none may have is said by line and column; DynamoDB Local also names a path.",
        ours=f"{VALIDATION}Unsupported data type: … | {VALIDATION}Tuple keys must be of type String. … | "
        f"{VALIDATION}Duplicate keys in tuple. … | {VALIDATION}Ion Literals are not supported…",
        theirs=f"{VALIDATION}Unsupported data type: … | {VALIDATION}Tuple keys must be of type String. … | "
        f"{VALIDATION}Duplicate keys in tuple. … | {VALIDATION}Ion Literals are not supported…",
        example=(execute("INSERT INTO plain VALUE {pk: 'x'}"),),
    ),
    Rejected(
        id="set-functions",
        why="DynamoDB Local's message about what SET_ADD and SET_DELETE take ends in a place.",
        ours=f"{VALIDATION}The second argument to SET_… must be a value with type SET",
        theirs=f"{VALIDATION}The second argument to SET_… must be a value with type SET at …",
        example=(execute("UPDATE plain SET a = set_add(a, 1) WHERE pk = 'x'"),),
    ),
    Rejected(
        id="consistent-statement",
        why="A consistent read of a global index is rejected in the words of Query.",
        ours=f"{VALIDATION}Consistent reads are not supported on global secondary indexes",
        theirs=f"{VALIDATION}Consistent read cannot be true when scanning a GSI",
        example=(execute('SELECT * FROM "orders"."by_city"', ConsistentRead=True),),
    ),
    Rejected(
        id="filter-beyond-index",
        why="A condition on an attribute that the index lacks is rejected, as a filter of Query is.",
        ours=f"{VALIDATION}One or more parameter values were invalid: Secondary index … does not project …",
        theirs=ANSWERED,
        example=(execute('SELECT * FROM "orders"."by_city" WHERE city = \'Rome\' AND x = 1'),),
    ),
    Rejected(
        id="bounds-of-statements",
        why="A message about bounds has them in canonical form; DynamoDB Local's has numbers as they were given, and a "
        "Java object for binary.",
        ours=f"{VALIDATION}The BETWEEN operator requires …",
        theirs=f"{VALIDATION}The BETWEEN operator requires …",
        example=(execute("SELECT * FROM plain WHERE a BETWEEN 2.0 AND 1"),),
    ),
    Rejected(
        id="parameters-in-literals",
        why="A parameter may stand anywhere in a literal.",
        ours=f"{ANSWERED} | {VALIDATION}Number of parameters in request and statement don't match.",
        theirs=f"{VALIDATION}Unsupported data type: Parameter …",
        example=(execute("SELECT * FROM plain WHERE a = [?]", Parameters=[{"N": "1"}]),),
    ),
    Answered(
        id="constants-on-the-left",
        why="A comparison with a sort key may have the constant on its left.",
        local="Compares as if it were on the right.",
        corrected=corrections.mirrored_ranges,
        example=(
            ("PutItem", {"TableName": "orders", "Item": KEY | {"sk": {"S": "y"}}}),
            execute("SELECT * FROM orders WHERE pk = 'x' AND 'z' >= sk"),
        ),
    ),
    Answered(
        id="statement-capacity",
        why="PartiQL consumes the units of the operation that a statement is.",
        local="Reports none.",
        corrected=corrections.capacity_of_statements,
        example=(execute("SELECT * FROM plain", ReturnConsumedCapacity="TOTAL"),),
    ),
    Answered(
        id="statement-last-key",
        why="A page of a SELECT has LastEvaluatedKey beside NextToken.",
        local="Has NextToken only.",
        corrected=corrections.last_key_of_statements,
        example=(PUT, execute("SELECT * FROM plain", Limit=1)),
    ),
    Answered(
        id="modified-parts",
        why="If a statement changes a part of a document, RETURNING MODIFIED returns only that part.",
        local="Returns the whole document.",
        corrected=corrections.modified_parts,
        example=(PUT, execute("UPDATE plain SET l[1].y = 5 WHERE pk = 'x' RETURNING MODIFIED NEW *")),
    ),
    Answered(
        id="selected-elements",
        why="SELECT shows what is at a path.",
        local="Shows the whole element, if a path goes into one that is not the first.",
        corrected=corrections.selected_elements,
        example=(PUT, execute("SELECT l[1].y FROM plain WHERE pk = 'x'")),
    ),
    Answered(
        id="partition-twice",
        why="A partition that IN names twice is read once.",
        local="Returns its items twice.",
        corrected=corrections.partitions_once,
        example=(PUT, execute("SELECT * FROM plain WHERE pk IN ['x', 'x']")),
    ),
    Answered(
        id="errors-in-batches",
        why="AWS's messages for the statements of a batch, none of which returns the item that failed a condition.",
        local="Has messages of its own for a SELECT of other than one item, and a missing table; returns the item.",
        corrected=corrections.errors_in_batches,
        example=(("BatchExecuteStatement", {"Statements": [{"Statement": "SELECT * FROM plain"}]}),),
    ),
)
