"""`sk.graphql`: GraphQL for services. Documents have limits and are kept, execution is compiled, cursors are keys.

These are the settings of an endpoint, which a service reads whether or not Strawberry is installed. What needs it is in
`sortkey.graphql.schema`, with which a schema is written, and in `sortkey.graphql.endpoint`, which serves one.
"""

from sortkey.graphql.settings import GraphQLSettings as GraphQLSettings
from sortkey.graphql.settings import Limits as Limits
from sortkey.graphql.settings import read_graphql_settings as read_graphql_settings
