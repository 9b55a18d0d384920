"""Rules that a tree must obey in every request: no reserved names, list indexes in range, functions where allowed.

Trees are walked in the order of their text, a function before its arguments, so that the first error found is the one
that DynamoDB reports.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

from sortkey.expressions.errors import InvalidExpression
from sortkey.expressions.tree import (
    Action,
    Arithmetic,
    Call,
    Condition,
    Junction,
    Not,
    Operand,
    Path,
    Set,
)

PREDICATES: Final = frozenset({"attribute_exists", "attribute_not_exists", "attribute_type", "begins_with", "contains"})
UPDATE_FUNCTIONS: Final = frozenset({"if_not_exists", "list_append"})
_FUNCTIONS: Final = PREDICATES | UPDATE_FUNCTIONS | {"size"}
LARGEST_INDEX: Final = 2**32 - 2


def check_path(path: Path) -> None:
    for part in path.parts:
        if isinstance(part, int):
            if part > LARGEST_INDEX:
                raise InvalidExpression(f"List index is not within the allowable range; index: [{part}]")
        elif is_reserved(part):
            raise InvalidExpression(f"Attribute name is a reserved keyword; reserved keyword: {part}")


def check_condition(condition: Condition) -> None:
    match condition:
        case Junction():
            for part in condition.conditions:
                check_condition(part)
        case Not():
            check_condition(condition.condition)
        case Call():
            _check_condition_function(condition.function)
            if condition.function not in PREDICATES:
                raise _misplaced(condition.function)
            _check_operands(condition.arguments)
        case _:
            _check_operands(condition.operands)


def _check_operands(operands: Iterable[Operand]) -> None:
    for operand in operands:
        if isinstance(operand, Path):
            check_path(operand)
        elif isinstance(operand, Call):
            _check_condition_function(operand.function)
            if operand.function in PREDICATES:
                raise _misplaced(operand.function)
            _check_operands(operand.arguments)


def _check_condition_function(function: str) -> None:
    _check_known(function)
    if function in UPDATE_FUNCTIONS:
        raise InvalidExpression(f"The function is not allowed in a condition expression; function: {function}")


def check_update(actions: Iterable[Action]) -> None:
    for action in actions:
        check_path(action.path)
        if isinstance(action, Set):
            _check_assigned(action.value)


def _check_assigned(value: Operand | Arithmetic) -> None:
    if isinstance(value, Arithmetic):
        _check_update_operand(value.left)
        _check_update_operand(value.right)
    else:
        _check_update_operand(value, whole=True)


def _check_update_operand(operand: Operand | Arithmetic, *, whole: bool = False) -> None:
    """`whole`: the operand is the whole assigned value, the only place where `list_append` is allowed."""
    if isinstance(operand, Path):
        check_path(operand)
    elif isinstance(operand, Call):
        _check_known(operand.function)
        if operand.function not in UPDATE_FUNCTIONS:
            raise InvalidExpression(
                f"The function is not allowed in an update expression; function: {operand.function}"
            )
        if operand.function == "list_append" and not whole:
            raise _misplaced(operand.function)
        for argument in operand.arguments:
            _check_update_operand(argument)


def _check_known(function: str) -> None:
    if function not in _FUNCTIONS:
        raise InvalidExpression(f"Invalid function name; function: {function}")


def _misplaced(function: str) -> InvalidExpression:
    return InvalidExpression(f"The function is not allowed to be used this way in an expression; function: {function}")


RESERVED_WORDS: Final = frozenset(
    """
    ABORT ABSOLUTE ACTION ADD AFTER AGENT AGGREGATE ALL ALLOCATE ALTER ANALYZE AND ANY ARCHIVE ARE ARRAY AS ASC
    ASCII ASENSITIVE ASSERTION ASYMMETRIC AT ATOMIC ATTACH ATTRIBUTE AUTH AUTHORIZATION AUTHORIZE AUTO AVG BACK
    BACKUP BASE BATCH BEFORE BEGIN BETWEEN BIGINT BINARY BIT BLOB BLOCK BOOLEAN BOTH BREADTH BUCKET BULK BY BYTE
    CALL CALLED CALLING CAPACITY CASCADE CASCADED CASE CAST CATALOG CHAR CHARACTER CHECK CLASS CLOB CLOSE
    CLUSTER CLUSTERED CLUSTERING CLUSTERS COALESCE COLLATE COLLATION COLLECTION COLUMN COLUMNS COMBINE COMMENT
    COMMIT COMPACT COMPILE COMPRESS CONDITION CONFLICT CONNECT CONNECTION CONSISTENCY CONSISTENT CONSTRAINT
    CONSTRAINTS CONSTRUCTOR CONSUMED CONTINUE CONVERT COPY CORRESPONDING COUNT COUNTER CREATE CROSS CUBE CURRENT
    CURSOR CYCLE DATA DATABASE DATE DATETIME DAY DEALLOCATE DEC DECIMAL DECLARE DEFAULT DEFERRABLE DEFERRED
    DEFINE DEFINED DEFINITION DELETE DELIMITED DEPTH DEREF DESC DESCRIBE DESCRIPTOR DETACH DETERMINISTIC
    DIAGNOSTICS DIRECTORIES DISABLE DISCONNECT DISTINCT DISTRIBUTE DO DOMAIN DOUBLE DROP DUMP DURATION DYNAMIC
    EACH ELEMENT ELSE ELSEIF EMPTY ENABLE END EQUAL EQUALS ERROR ESCAPE ESCAPED EVAL EVALUATE EXCEEDED EXCEPT
    EXCEPTION EXCEPTIONS EXCLUSIVE EXEC EXECUTE EXISTS EXIT EXPLAIN EXPLODE EXPORT EXPRESSION EXTENDED EXTERNAL
    EXTRACT FAIL FALSE FAMILY FETCH FIELDS FILE FILTER FILTERING FINAL FINISH FIRST FIXED FLATTERN FLOAT FOR
    FORCE FOREIGN FORMAT FORWARD FOUND FREE FROM FULL FUNCTION FUNCTIONS GENERAL GENERATE GET GLOB GLOBAL GO
    GOTO GRANT GREATER GROUP GROUPING HANDLER HASH HAVE HAVING HEAP HIDDEN HOLD HOUR IDENTIFIED IDENTITY IF
    IGNORE IMMEDIATE IMPORT IN INCLUDING INCLUSIVE INCREMENT INCREMENTAL INDEX INDEXED INDEXES INDICATOR
    INFINITE INITIALLY INLINE INNER INNTER INOUT INPUT INSENSITIVE INSERT INSTEAD INT INTEGER INTERSECT INTERVAL
    INTO INVALIDATE IS ISOLATION ITEM ITEMS ITERATE JOIN KEY KEYS LAG LANGUAGE LARGE LAST LATERAL LEAD LEADING
    LEAVE LEFT LENGTH LESS LEVEL LIKE LIMIT LIMITED LINES LIST LOAD LOCAL LOCALTIME LOCALTIMESTAMP LOCATION
    LOCATOR LOCK LOCKS LOG LOGED LONG LOOP LOWER MAP MATCH MATERIALIZED MAX MAXLEN MEMBER MERGE METHOD METRICS
    MIN MINUS MINUTE MISSING MOD MODE MODIFIES MODIFY MODULE MONTH MULTI MULTISET NAME NAMES NATIONAL NATURAL
    NCHAR NCLOB NEW NEXT NO NONE NOT NULL NULLIF NUMBER NUMERIC OBJECT OF OFFLINE OFFSET OLD ON ONLINE ONLY
    OPAQUE OPEN OPERATOR OPTION OR ORDER ORDINALITY OTHER OTHERS OUT OUTER OUTPUT OVER OVERLAPS OVERRIDE OWNER
    PAD PARALLEL PARAMETER PARAMETERS PARTIAL PARTITION PARTITIONED PARTITIONS PATH PERCENT PERCENTILE
    PERMISSION PERMISSIONS PIPE PIPELINED PLAN POOL POSITION PRECISION PREPARE PRESERVE PRIMARY PRIOR PRIVATE
    PRIVILEGES PROCEDURE PROCESSED PROJECT PROJECTION PROPERTY PROVISIONING PUBLIC PUT QUERY QUIT QUORUM RAISE
    RANDOM RANGE RANK RAW READ READS REAL REBUILD RECORD RECURSIVE REDUCE REF REFERENCE REFERENCES REFERENCING
    REGEXP REGION REINDEX RELATIVE RELEASE REMAINDER RENAME REPEAT REPLACE REQUEST RESET RESIGNAL RESOURCE
    RESPONSE RESTORE RESTRICT RESULT RETURN RETURNING RETURNS REVERSE REVOKE RIGHT ROLE ROLES ROLLBACK ROLLUP
    ROUTINE ROW ROWS RULE RULES SAMPLE SATISFIES SAVE SAVEPOINT SCAN SCHEMA SCOPE SCROLL SEARCH SECOND SECTION
    SEGMENT SEGMENTS SELECT SELF SEMI SENSITIVE SEPARATE SEQUENCE SERIALIZABLE SESSION SET SETS SHARD SHARE
    SHARED SHORT SHOW SIGNAL SIMILAR SIZE SKEWED SMALLINT SNAPSHOT SOME SOURCE SPACE SPACES SPARSE SPECIFIC
    SPECIFICTYPE SPLIT SQL SQLCODE SQLERROR SQLEXCEPTION SQLSTATE SQLWARNING START STATE STATIC STATUS STORAGE
    STORE STORED STREAM STRING STRUCT STYLE SUB SUBMULTISET SUBPARTITION SUBSTRING SUBTYPE SUM SUPER SYMMETRIC
    SYNONYM SYSTEM TABLE TABLESAMPLE TEMP TEMPORARY TERMINATED TEXT THAN THEN THROUGHPUT TIME TIMESTAMP TIMEZONE
    TINYINT TO TOKEN TOTAL TOUCH TRAILING TRANSACTION TRANSFORM TRANSLATE TRANSLATION TREAT TRIGGER TRIM TRUE
    TRUNCATE TTL TUPLE TYPE UNDER UNDO UNION UNIQUE UNIT UNKNOWN UNLOGGED UNNEST UNPROCESSED UNSIGNED UNTIL
    UPDATE UPPER URL USAGE USE USER USERS USING UUID VACUUM VALUE VALUED VALUES VARCHAR VARIABLE VARIANCE VARINT
    VARYING VIEW VIEWS VIRTUAL VOID WAIT WHEN WHENEVER WHERE WHILE WINDOW WITH WITHIN WITHOUT WORK WRAPPED WRITE
    YEAR ZONE
    """.split()
)
"""Names that an expression may not use for attributes, in upper or lower case."""


def is_reserved(name: str) -> bool:
    return name.upper() in RESERVED_WORDS
