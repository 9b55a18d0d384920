"""`sk.compat`: the stored forms of other libraries, for tables that they write too.

    at: sk.compat.pynamodb.UTCDateTime
    at: sk.compat.electrodb.ISOString

An alias is a type and its codec. Everything that such a library stores as Sortkey does needs none.
"""

from sortkey.compat import electrodb as electrodb
from sortkey.compat import pynamodb as pynamodb
