"""GraphQL for services: documents with limits and caches, a compiled execution, key-cursor connections, GraphiQL."""
