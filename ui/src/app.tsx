/** The frame of the page: navigation, the chosen index, and the screen that the address names. */

import type { ComponentChildren } from "preact";
import { useEffect, useRef } from "preact/hooks";
import { Icon, type IconName, Logo } from "./components/icon";
import { SourcePanel } from "./components/panel";
import { Empty, Failure, Loading } from "./components/states";
import { go, href, hrefWith, type Route, useRoute } from "./router";
import { AskScreen } from "./screens/ask";
import { CompareScreen } from "./screens/compare";
import { DocumentScreen } from "./screens/document";
import { DocumentsScreen } from "./screens/documents";
import { GraphScreen } from "./screens/graph";
import { HealthScreen } from "./screens/health";
import { KeysScreen } from "./screens/keys";
import { LoginScreen } from "./screens/login";
import { ModelsScreen } from "./screens/models";
import { NewIndexScreen } from "./screens/new";
import { SettingsScreen } from "./screens/settings";
import { chooseIndex, loadServer, server, type ServerState, signOut } from "./server";
import { useStore } from "./store";
import { nameNow } from "./threads";
import { applyTheme, type Theme, theme } from "./theme";

const SCREENS: { name: string; label: string; icon: IconName; also: string[] }[] = [
  { name: "ask", label: "Ask", icon: "ask", also: ["evidence", "trace", "passages"] },
  { name: "compare", label: "Compare", icon: "compare", also: [] },
  { name: "documents", label: "Documents", icon: "documents", also: ["document", "new", "settings"] },
  { name: "graph", label: "Graph", icon: "graph", also: [] },
  { name: "health", label: "Health", icon: "health", also: [] },
];
const ADMIN: (typeof SCREENS)[number] = { name: "keys", label: "Admin", icon: "key", also: ["models"] };

const OTHERS: Record<string, string> = {
  new: "New index",
  settings: "Settings",
  keys: "Keys",
  models: "Language models",
};

export function App() {
  const state = useStore(server);
  const route = useRoute();
  const asked = route.query.get("index");
  const name = asked && nameNow(state.indexes, asked);
  useEffect(() => {
    if (name && name !== asked) go(hrefWith(route, { index: name }), true);
    else if (name) chooseIndex(name);
  }, [asked, name, state.phase]);
  useTitle(route, state);
  if (state.phase === "locked") return <LoginScreen />;
  const hasPanel = route.query.has("source");
  return (
    <div class={hasPanel ? "frame with-panel" : "frame"}>
      <a class="skip" href="#main" onClick={skip}>
        Skip to the content
      </a>
      <Header route={route} state={state} />
      <main id="main" tabIndex={-1}>
        <Content route={route} state={state} />
      </main>
      {state.phase === "ready" && <SourcePanel route={route} index={asked ?? state.index} />}
    </div>
  );
}

/** Move the focus to the content; the address stays, since its fragment names the screen. */
function skip(event: Event): void {
  event.preventDefault();
  document.getElementById("main")?.focus();
}

/** Name the document after the screen; move the focus to its heading when the screen changes, not when it first loads. */
function useTitle(route: Route, state: ServerState): void {
  const before = useRef("");
  const label =
    OTHERS[route.screen] ??
    SCREENS.find(({ name, also }) => name === route.screen || also.includes(route.screen))?.label;
  const isView = ["evidence", "trace", "passages"].includes(route.screen); // of a turn, which stays where it is
  const here = state.phase === "locked" ? "locked" : `${isView ? "ask" : route.screen}/${route.rest}`;
  useEffect(() => {
    document.title = `${state.phase === "locked" ? "Sign in" : (label ?? "Not found")} · graphwright`;
    if (state.phase === "loading") return;
    if (before.current && before.current !== here && !route.query.has("source")) {
      scrollTo(0, 0);
      document.querySelector<HTMLElement>("h1")?.focus({ preventScroll: true });
    }
    before.current = here;
  }, [here, state.phase]);
}

function Header({ route, state }: { route: Route; state: ServerState }) {
  return (
    <header class="bar">
      <a class="wordmark" href={href("ask")}>
        <Logo />
        graphwright
      </a>
      <nav class="nav" aria-label="Screens">
        <ul>
          {[...SCREENS, ...(state.session?.manages ? [ADMIN] : [])].map(({ name, label, icon, also }) => {
            const here = name === route.screen || also.includes(route.screen);
            return (
              <li key={name}>
                <a href={href(name, { index: state.index })} aria-current={here ? "page" : undefined}>
                  <Icon name={icon} />
                  <span>{label}</span>
                </a>
              </li>
            );
          })}
        </ul>
      </nav>
      <div class="bar-end">
        <IndexChoice route={route} state={state} />
        <ThemeSwitch />
        {state.session?.closed && (
          <button
            type="button"
            class="icon-button"
            onClick={() => void signOut()}
            aria-label="Sign out"
            title={`Sign out ${state.session.name ?? ""}`}
          >
            <Icon name="key" />
          </button>
        )}
      </div>
    </header>
  );
}

function IndexChoice({ route, state }: { route: Route; state: ServerState }) {
  if (!state.indexes.length) return null;
  const choose = (name: string): void => {
    chooseIndex(name);
    const screen = route.screen === "document" || route.screen === "new" ? "documents" : route.screen;
    go(href(screen, { index: name, q: screen === "graph" ? null : route.query.get("q") }));
  };
  return (
    <label class="index-choice">
      <span class="unseen">Index</span>
      <select value={state.index} onChange={(event) => choose(event.currentTarget.value)}>
        {state.indexes.map(({ name }) => (
          <option key={name} value={name}>
            {name}
          </option>
        ))}
      </select>
    </label>
  );
}

const THEMES: { value: Theme; label: string; icon: IconName; next: Theme }[] = [
  { value: "system", label: "Colours of the system", icon: "system", next: "light" },
  { value: "light", label: "Light colours", icon: "sun", next: "dark" },
  { value: "dark", label: "Dark colours", icon: "moon", next: "system" },
];

function ThemeSwitch() {
  const chosen = useStore(theme);
  const { label, icon, next } = THEMES.find(({ value }) => value === chosen) ?? THEMES[0]!;
  return (
    <button
      type="button"
      class="icon-button"
      onClick={() => applyTheme(next)}
      aria-label={`${label}; change`}
      title={label}
    >
      <Icon name={icon} />
    </button>
  );
}

function Content({ route, state }: { route: Route; state: ServerState }): ComponentChildren {
  if (state.phase === "failed" && state.problem) {
    return (
      <div class="column">
        <h1 tabIndex={-1}>The server cannot be used</h1>
        <Failure problem={state.problem} onRetry={() => void loadServer()} />
      </div>
    );
  }
  if (state.phase !== "ready") return <Loading>Connecting to the server…</Loading>;
  const index = state.indexes.find(({ name }) => name === (route.query.get("index") ?? state.index));
  if (route.screen === "health") return <HealthScreen state={state} />;
  if (route.screen === "keys" || route.screen === "models") {
    if (!state.session?.manages) return <AdminOnly />;
    return route.screen === "keys" ? <KeysScreen state={state} /> : <ModelsScreen />;
  }
  if (state.choices && (route.screen === "new" || !state.indexes.length)) {
    return <NewIndexScreen choices={state.choices} first={!state.indexes.length} />;
  }
  if (!index) return <NoIndex route={route} state={state} />;
  switch (route.screen) {
    case "ask":
    case "evidence":
    case "trace":
    case "passages":
      return <AskScreen route={route} index={index} methods={state.methods} />;
    case "compare":
      return <CompareScreen route={route} index={index} methods={state.methods} />;
    case "documents":
      return <DocumentsScreen {...{ route, index }} session={state.session} choices={state.choices} />;
    case "settings":
      return <SettingsScreen key={index.name} index={index} session={state.session} choices={state.choices} />;
    case "document":
      return <DocumentScreen route={route} index={index} />;
    case "graph":
      return <GraphScreen route={route} index={index} session={state.session} />;
    default:
      return (
        <Empty icon="missing" title="There is no such screen" whole>
          <a href={href("ask")}>Ask a question</a>
        </Empty>
      );
  }
}

function AdminOnly() {
  return (
    <Empty icon="key" title="This is for an admin" whole>
      <p>Sign in with a key that has the scope admin and all indexes.</p>
    </Empty>
  );
}

function NoIndex({ route, state }: { route: Route; state: ServerState }) {
  const name = route.query.get("index");
  if (name && state.indexes.length) {
    return (
      <Empty icon="missing" title="There is no such index" whole>
        <p>
          This server has no index named <bdi>{name}</bdi>, or your key may not see it.
        </p>
        <a class="button" href={hrefWith(route, { index: state.index, source: null })}>
          Use {state.index}
        </a>
      </Empty>
    );
  }
  return (
    <Empty icon="documents" title="No index yet" whole>
      <p>This server serves no index that you may see. Make one and serve it:</p>
      <pre>
        <code>{"graphwright index notes/ --into my-index\ngraphwright serve my-index"}</code>
      </pre>
    </Empty>
  );
}
