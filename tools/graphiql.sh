#!/bin/sh
# Fetches the files of GraphiQL that the package ships, in pinned versions. Run it after changing a version.
set -eu

GRAPHIQL=3.9.0
REACT=18.3.1

to="$(cd "$(dirname "$0")/.." && pwd)/src/sortkey/graphql/graphiql"
from="$(mktemp -d)"
trap 'rm -rf "$from"' EXIT
cd "$from"
for package in "graphiql@$GRAPHIQL" "react@$REACT" "react-dom@$REACT"; do
    mkdir "$package"
    tar -xzf "$(npm pack --silent "$package")" -C "$package" --strip-components 1
done
# The source map is not shipped.
grep -v '^//# sourceMappingURL=' "graphiql@$GRAPHIQL/graphiql.min.js" >"$to/graphiql.min.js"
cp "graphiql@$GRAPHIQL/graphiql.min.css" "$to/"
cp "react@$REACT/umd/react.production.min.js" "react-dom@$REACT/umd/react-dom.production.min.js" "$to/"
cp "graphiql@$GRAPHIQL/LICENSE" "$to/LICENSE.graphiql"
cp "react@$REACT/LICENSE" "$to/LICENSE.react"
