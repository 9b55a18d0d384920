import { render } from "preact";
import { App } from "./shell/App.tsx";
import "uplot/dist/uPlot.min.css";
import "./styles/base.css";
import "./styles/parts.css";
import "./styles/data.css";
import "./styles/stories.css";

const root = document.getElementById("root")!;
root.replaceChildren();
render(<App />, root);
