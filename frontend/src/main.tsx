/** Entry point of the page. */

import "uplot/dist/uPlot.min.css";
import "./style/base.css";
import "./style/shell.css";
import "./style/parts.css";
import "./style/lists.css";
import "./style/pages.css";
import "./style/home.css";
import "./style/phone.css";
import { render } from "preact";
import { App } from "./app";
import { start } from "./data";
import { startTheme } from "./theme";

startTheme();
if (start && !location.hash) history.replaceState(null, "", start);
const root = document.getElementById("page");
if (root) render(<App />, root);
