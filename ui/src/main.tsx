import { render } from "preact";
import { App } from "./app";
import { loadServer } from "./server";
import { applyTheme, theme } from "./theme";
import "./styles/base.css";
import "./styles/controls.css";
import "./styles/shell.css";
import "./styles/ask.css";
import "./styles/thread.css";
import "./styles/evidence.css";
import "./styles/tables.css";
import "./styles/document.css";
import "./styles/library.css";

applyTheme(theme.get());
const page = document.getElementById("page");
if (page) render(<App />, page);
void loadServer();
