// Starts GraphiQL on the endpoint that served this page. A token goes under "Headers", below the query.
const root = document.getElementById("graphiql");
const fetcher = GraphiQL.createFetcher({ url: location.pathname });
const query = new URLSearchParams(location.search).get("query") ?? undefined;
// Without one, GraphiQL has its own introduction.
const defaultQuery = root.dataset.opening || undefined;
const editor = React.createElement(GraphiQL, { fetcher, query, defaultQuery, defaultEditorToolsVisibility: "variables" });
ReactDOM.createRoot(root).render(editor);
