"""The tokens of PartiQL: quoted names, strings, numbers, signs, and keywords in any case."""

from __future__ import annotations

import re
from typing import Final, NamedTuple

from sortkey.errors import ValidationException
from sortkey.values.errors import not_unicode

KEYWORDS: Final = frozenset(
    """
    ABSOLUTE ACTION ADD ALL ALLOCATE ALTER AND ANY ARE AS ASC ASSERTION AT AUTHORIZATION AVG BAG BEGIN BETWEEN BIT
    BIT_LENGTH BLOB BOOL BOOLEAN BY CASCADE CASCADED CASE CAST CATALOG CHAR CHARACTER CHARACTER_LENGTH CHAR_LENGTH CHECK
    CLOB CLOSE COALESCE COLLATE COLLATION COLUMN COMMIT CONFLICT CONNECT CONNECTION CONSTRAINT CONSTRAINTS CONTINUE
    CONVERT CORRESPONDING COUNT CREATE CROSS CURRENT CURRENT_DATE CURRENT_TIME CURRENT_TIMESTAMP CURRENT_USER CURSOR
    DATE DATE_ADD DATE_DIFF DEALLOCATE DEC DECIMAL DECLARE DEFAULT DEFERRABLE DEFERRED DELETE DESC DESCRIBE DESCRIPTOR
    DIAGNOSTICS DISCONNECT DISTINCT DO DOMAIN DOUBLE DROP ELSE END ESCAPE EXCEPT EXCEPTION EXEC EXECUTE EXISTS EXTERNAL
    EXTRACT FALSE FETCH FIRST FLOAT FOR FOREIGN FOUND FROM FULL GET GLOBAL GO GOTO GRANT GROUP HAVING IDENTITY IMMEDIATE
    IN INDEX INDICATOR INITIALLY INNER INPUT INSENSITIVE INSERT INT INTEGER INTERSECT INTERVAL INTO IS ISOLATION JOIN
    KEY LANGUAGE LAST LEFT LET LEVEL LIKE LIMIT LIST LOCAL LOWER MATCH MAX MIN MISSING MODIFIED MODULE NAMES NATIONAL
    NATURAL NCHAR NEW NEXT NO NOT NOTHING NOT_BETWEEN NOT_LIKE NULL NULLIF NUMERIC OCTET_LENGTH OF OLD ON ONLY OPEN
    OPTION OR ORDER OUTER OUTPUT OVERLAPS PAD PARTIAL PIVOT POSITION PRECISION PREPARE PRESERVE PRIMARY PRIOR PRIVILEGES
    PROCEDURE PUBLIC READ REAL REFERENCES RELATIVE REMOVE RESTRICT RETURNING REVOKE RIGHT ROLLBACK ROWS SCHEMA SCROLL
    SECTION SELECT SESSION SESSION_USER SET SEXP SIZE SMALLINT SOME SPACE SQL SQLCODE SQLERROR SQLSTATE STRING STRUCT
    SUBSTRING SUM SYMBOL SYSTEM_USER TABLE TEMPORARY THEN TIME TIMESTAMP TO TRANSACTION TRANSLATE TRANSLATION TRIM TRUE
    TUPLE UNION UNIQUE UNKNOWN UNPIVOT UPDATE UPPER USAGE USER USING VALUE VALUES VARCHAR VARYING VIEW WHEN WHENEVER
    WHERE WITH WORK WRITE ZONE
    """.split()
)
"""Reserved words: an attribute of such a name needs double quotes. (Those that DynamoDB Local rejects without.)"""

_TOKEN: Final = re.compile(
    r"""
      (?P<space>\s+|--[^\n]*|/\*.*?\*/)
    | (?P<string>'(?:[^']|'')*')
    | (?P<quoted>"(?:[^"]|"")*")
    | (?P<number>(?>[0-9]++(?:\.[0-9]*+)?|\.[0-9]++)(?:[eE][+-]?[0-9]++)?(?![A-Za-z0-9_$]))
    | (?P<name>[A-Za-z_$][A-Za-z0-9_$]*)
    | (?P<ion>`[^`]*`)
    | (?P<sign><<|>>|<=|>=|<>|!=|\|\||/(?!\*)|[=<>+\-*%.,()\[\]{}:?;])
    | (?P<unknown>/\*.*+|[0-9]++|.)
    """,
    re.VERBOSE | re.DOTALL,
)
"""Each part of a text is looked at once: what no token begins with is taken whole, and digits are not given back."""


class Token(NamedTuple):
    """A token's type is "name", "string", "number", "ion", "end" or "unknown"; for keywords and signs it is the word in
    upper case. `value` is what a name or a string stands for."""

    type: str
    value: str
    start: int
    end: int
    quoted: bool = False


def tokens(text: str) -> list[Token]:
    """The tokens of a text; the last has the type "end"."""
    found = [
        _token(match.lastgroup or "", match.group(), match.start(), match.end())
        for match in _TOKEN.finditer(text)
        if match.lastgroup != "space"
    ]
    found.append(Token("end", "", len(text), len(text)))
    return found


def _token(group: str, word: str, start: int, end: int) -> Token:
    match group:
        case "string":
            return Token("string", word[1:-1].replace("''", "'"), start, end)
        case "quoted":
            return Token("name", word[1:-1].replace('""', '"'), start, end, quoted=True)
        case "name":
            upper = word.upper()
            return Token(upper if upper in KEYWORDS else "name", word, start, end)
        case "sign":
            return Token(word, word, start, end)
        case _:
            return Token(group, word, start, end)


def check_unicode(text: str) -> None:
    """A text may come with half of a surrogate pair, which could be neither stored nor sent."""
    try:
        text.encode()
    except UnicodeEncodeError:
        raise not_unicode() from None


def place(text: str, token: Token) -> str:
    """Where a token is, as messages say it: line, column and length."""
    line = text.count("\n", 0, token.start) + 1
    column = token.start - text.rfind("\n", 0, token.start)
    return f"at {line}:{column}:{token.end - token.start}"


def not_well_formed(why: str) -> ValidationException:
    return ValidationException(f"Statement wasn't well formed, can't be processed: {why}")
