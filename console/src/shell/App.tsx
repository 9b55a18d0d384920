// The frame around the views: navigation, the banner, and which view is shown.
import type { ComponentChildren } from "preact";
import { useEffect, useState } from "preact/hooks";
import { connection, nextTry, returns, tryAgain } from "../api/connection.ts";
import { asked } from "../api/token.ts";
import type { About } from "../api/types.ts";
import { Changes } from "../views/changes/Changes.tsx";
import { Data } from "../views/data/Data.tsx";
import { Designer } from "../views/designer/Designer.tsx";
import { Heat } from "../views/heat/Heat.tsx";
import { Overview } from "../views/overview/Overview.tsx";
import { Paths } from "../views/paths/Paths.tsx";
import { STORIES } from "../views/stories/stories.tsx";
import icon from "../icon.svg";
import { Login } from "./Login.tsx";
import { Empty, Page, Problem } from "./parts.tsx";
import { route } from "./route.ts";
import { about, auth, enter, failed, logout } from "./session.ts";
import { nextTheme, theme } from "./theme.ts";

interface View {
  key: string;
  title: string;
  shown: (about: About) => boolean;
  view: () => ComponentChildren;
}

const VIEWS: View[] = [
  { key: "overview", title: "Overview", shown: () => true, view: () => <Overview /> },
  { key: "data", title: "Data", shown: ({ has }) => has.data, view: () => <Data /> },
  { key: "paths", title: "Access paths", shown: ({ has }) => has.paths, view: () => <Paths /> },
  { key: "heat", title: "Heat", shown: ({ has }) => has.heat, view: () => <Heat /> },
  { key: "changes", title: "Changes", shown: ({ has }) => has.changes || has.feeds, view: () => <Changes /> },
  { key: "designer", title: "Key designer", shown: ({ has }) => has.designer, view: () => <Designer /> },
];

export function App() {
  useEffect(() => void enter(), [returns.value]);
  const known = about.value;
  if (asked.value !== "") return <Login />;
  if (!known) return <Waiting />;
  const stories = known.has.stories ? STORIES.filter(({ key }) => known.services.some(({ name }) => name === key)) : [];
  const views = [
    ...VIEWS.filter((each) => each.shown(known)),
    ...stories.map((each): View => ({ ...each, key: `stories/${each.key}`, shown: () => true })),
  ];
  const chosen = views.find((each) => each.key === route.value);
  return (
    <>
      <a class="skip" href="#main" onClick={skip}>
        Skip to the content
      </a>
      <div class="frame">
        <nav aria-label="Views" class="side">
          <a href="#/overview" class="brand">
            <img src={icon} alt="" width="20" height="20" /> Sortkey
          </a>
          <ul>
            {views.filter(({ key }) => !key.startsWith("stories/")).map((each) => <Link view={each} chosen={each === chosen} />)}
          </ul>
          {stories.length > 0 && (
            <>
              <p class="nav-title" id="stories-title">
                Stories
              </p>
              <ul aria-labelledby="stories-title">
                {views.filter(({ key }) => key.startsWith("stories/")).map((each) => <Link view={each} chosen={each === chosen} />)}
              </ul>
            </>
          )}
          <div class="nav-foot">
            <p class="store" title={known.store.url}>
              {known.store.url}
            </p>
            <p class="muted">
              sortkey {known.command} {known.version}
            </p>
            <div class="tools">
              <button type="button" class="quiet" onClick={nextTheme}>
                Theme: {theme.value}
              </button>
              {auth.value !== "none" && (
                <button type="button" class="quiet" onClick={logout}>
                  Sign out{known.you.name ? ` ${known.you.name}` : ""}
                </button>
              )}
            </div>
          </div>
        </nav>
        <main id="main" tabIndex={-1}>
          <Banner />
          {chosen ? chosen.view() : <NoView />}
        </main>
      </div>
    </>
  );
}

function Link({ view, chosen }: { view: View; chosen: boolean }) {
  return (
    <li>
      <a href={`#/${view.key}`} aria-current={chosen ? "page" : undefined}>
        {view.title}
      </a>
    </li>
  );
}

function skip(event: MouseEvent): void {
  event.preventDefault();
  document.getElementById("main")?.focus();
}

function NoView() {
  return (
    <Page title="No such view">
      <Empty>
        This server has no such view. <a href="#/overview">The overview</a> shows what it has.
      </Empty>
    </Page>
  );
}

/** Before the server has said what it is. */
function Waiting() {
  return (
    <main id="main" class="login">
      <h1 class="visually-hidden">Sortkey</h1>
      <Banner />
      {failed.value && failed.value.code !== "away" ? <Problem error={failed.value} /> : <p class="loading">Loading…</p>}
    </main>
  );
}

/** While the server is away. What is on the screen stays. */
function Banner() {
  const [now, setNow] = useState(Date.now());
  const away = connection.value === "away";
  useEffect(() => {
    if (!away) return undefined;
    const timer = setInterval(() => setNow(Date.now()), 500);
    return () => clearInterval(timer);
  }, [away]);
  const left = Math.max(0, Math.ceil((nextTry.value - now) / 1000));
  return (
    <div role="status" class={away ? "banner" : ""}>
      {away && (
        <>
          <strong>The server does not answer.</strong> What you see is from before. It is asked again
          {left > 0 ? ` in ${left} s` : " now"}.
          <button type="button" class="quiet" onClick={tryAgain}>
            Ask now
          </button>
        </>
      )}
    </div>
  );
}
