/** Where the page begins. */

import "uplot/dist/uPlot.min.css";
import "./style/base.css";
import "./style/shell.css";
import "./style/parts.css";
import "./style/lists.css";
import "./style/pages.css";
import { render } from "preact";
import { App } from "./app";
import { startTheme } from "./theme";

startTheme();
const root = document.getElementById("page");
if (root) render(<App />, root);
