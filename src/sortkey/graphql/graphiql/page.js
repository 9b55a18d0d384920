// Starts GraphiQL on the endpoint that served this page. A token goes under "Headers", below the query.
const fetcher = GraphiQL.createFetcher({ url: location.pathname });
const query = new URLSearchParams(location.search).get("query") ?? undefined;
const editor = React.createElement(GraphiQL, { fetcher, query, defaultEditorToolsVisibility: "variables" });
ReactDOM.createRoot(document.getElementById("graphiql")).render(editor);
