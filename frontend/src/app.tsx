/** The frame of every page: navigation, list of sources, theme and help. */

import { useEffect, useLayoutEffect, useState } from "preact/hooks";
import { data, type Source } from "./data";
import { useKeys } from "./keys";
import { ComparePage } from "./pages/compare";
import { GraphPage } from "./pages/graph";
import { HomePage } from "./pages/home";
import { ItemPage } from "./pages/item";
import { ListPage } from "./pages/list";
import { OverviewPage } from "./pages/overview";
import { PairPage } from "./pages/pair";
import { RunsPage } from "./pages/runs";
import { ServerPage } from "./pages/server";
import { ServersPage } from "./pages/servers";
import { Boundary } from "./parts/boundary";
import { Help } from "./parts/help";
import { Icon, type IconName } from "./parts/icons";
import { grouped } from "./parts/marks";
import { Nothing, Problem, Waiting } from "./parts/say";
import { go, link, useRoute, type Route } from "./route";
import { home, KnownSources, ofKind, useBrief, useSourcesPolling, type Known } from "./sources";
import { useTheme, type Theme } from "./theme";

/** The pages; in a narrow window a long name has a short form. */
const PAGES: { key: string; page: string; name: string; short?: string; icon: IconName }[] = [
  { key: "h", page: "", name: "Home", icon: "home" },
  { key: "e", page: "data", name: "Examples & rollouts", short: "Files", icon: "list" },
  { key: "c", page: "compare", name: "Compare", icon: "compare" },
  { key: "r", page: "runs", name: "Runs", icon: "runs" },
  { key: "s", page: "servers", name: "Servers", icon: "servers" },
  { key: "g", page: "graph", name: "Graph", icon: "graph" },
];
const to = (page: string): string => link(page ? [page] : []);

export function App() {
  const known = useSourcesPolling();
  const route = useRoute();
  const [help, setHelp] = useState(false);
  useKeys({
    ...Object.fromEntries(PAGES.map(({ key, page }) => [`g ${key}`, () => go(to(page))])),
    "?": () => setHelp(true),
    "/": () => document.querySelector<HTMLInputElement>("input[type=search]")?.focus(),
  });
  useLayoutEffect(() => setHelp(false), [route]);
  useEffect(() => {
    document.title = titleOf(route, known);
  }, [route, known]);
  return (
    <KnownSources.Provider value={known}>
      <div class="shell">
        <a class="skip" href="#main" onClick={(event) => { event.preventDefault(); document.getElementById("main")?.focus(); }}>Skip to the page</a>
        <Side known={known} route={route} onHelp={() => setHelp(true)} />
        <main id="main" tabIndex={-1}><Boundary at={location.hash}><Page known={known} route={route} /></Boundary></main>
        {help && <Help close={() => setHelp(false)} />}
      </div>
    </KnownSources.Provider>
  );
}

function titleOf({ parts: [page, part, at] }: Route, known: Known): string {
  const name = PAGES.find((one) => one.page && one.page === page)?.name;
  const source = page === "data" || page === "runs" ? known.sources.find((one) => String(one.id) === part)?.name : part;
  return [at ? `line ${Number(at) + 1}` : "", source ?? "", name ?? "", "ProveGym"].filter(Boolean).join(" · ");
}

function Page({ known, route }: { known: Known; route: Route }) {
  const [page, part, at] = route.parts;
  if (page === "servers") return part ? <ServerPage key={part} name={part} route={route} /> : <ServersPage />;
  if (page === "graph") return <GraphPage name={part ?? ""} route={route} />;
  if (known.error && !known.sources.length) return <Problem>{known.error}</Problem>;
  if (!known.ready) return <Waiting what="what is here" />;
  if (page === "compare") return part === "pair" ? <PairPage route={route} /> : <ComparePage route={route} />;
  if (page === "runs") return <RunsPage source={part} route={route} />;
  if (page === "data" && part && at) return <ItemPage source={Number(part)} at={Number(at)} route={route} />;
  if (page === "data" && part) return <ListPage key={part} source={Number(part)} route={route} />;
  if (page === "data") return <OverviewPage />;
  if (!page) return <HomePage />;
  return <Nothing>There is no page of that name. <a href={link([])}>Go to the home page.</a></Nothing>;
}

function Side({ known, route, onHelp }: { known: Known; route: Route; onHelp: () => void }) {
  const here = route.parts[0] ?? "";
  return (
    <nav class="side" aria-label="pages">
      <a class="brand" href={link([])}><Icon name="mark" /> ProveGym</a>
      <ul class="pages">
        {PAGES.map(({ key, page, name, short, icon }) => (
          <li key={page}>
            <a href={to(page)} aria-current={here === page ? "page" : undefined}>
              <Icon name={icon} /><span class={short ? "long" : ""}>{name}</span>{short && <span class="short">{short}</span>}<kbd>g {key}</kbd>
            </a>
          </li>
        ))}
      </ul>
      <div class="shelf">
        <Shelf title="Examples" sources={ofKind(known, "examples")} route={route} />
        <Shelf title="Rollouts" sources={ofKind(known, "rollouts").filter((one) => one.run === undefined || one.run === null)} route={route} />
        <Shelf title="Runs" sources={ofKind(known, "run")} route={route} />
        <Shelf title="Not readable" sources={ofKind(known, "problem")} route={route} />
      </div>
      <div class="foot">
        <ThemeSwitch />
        <button type="button" class="quiet keys-help" onClick={onHelp} aria-label="help and keys" title="Help and keys (?)">?</button>
        <span class="version">{data.frozen ? "report" : known.version}</span>
      </div>
    </nav>
  );
}

function Shelf({ title, sources, route }: { title: string; sources: Source[]; route: Route }) {
  const brief = useBrief();
  if (!sources.length) return null;
  const open = route.parts[1];
  const at = (source: Source): boolean => route.parts[0] === home(source)[0] && open === String(source.id);
  return (
    <section aria-label={title}>
      <h2>{title}</h2>
      <ul>
        {sources.map((source) => (
          <li key={source.id}>
            <a href={link(home(source))} title={`${source.path}${source.problem && `\n${source.problem}`}`} aria-current={at(source) ? "page" : undefined}>
              <span class="source-name">{brief(source)}</span>
              {source.problem && <span class="warn" aria-label="has a problem">!</span>}
              {source.kind !== "problem" && <span class={`count ${source.done ? "" : "growing"}`}>{grouped(source.count)}</span>}
            </a>
          </li>
        ))}
      </ul>
    </section>
  );
}

const NEXT: Record<Theme, Theme> = { system: "dark", dark: "light", light: "system" };
const SHOWN: Record<Theme, IconName> = { system: "system", dark: "moon", light: "sun" };

function ThemeSwitch() {
  const [theme, setTheme] = useTheme();
  const label = `Colours: ${theme === "system" ? "as the system" : theme}`;
  useKeys({ t: () => setTheme(NEXT[theme]) });
  return (
    <button type="button" class="quiet" id="theme" title={`${label} (t)`} aria-label={label} onClick={() => setTheme(NEXT[theme])}>
      <Icon name={SHOWN[theme]} />
    </button>
  );
}
