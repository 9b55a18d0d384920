// The graph around one user, with the friends who are mutual; and a leaderboard that moves.
import { useState } from "preact/hooks";
import { useLoaded } from "../../api/loaded.ts";
import { request, RequestError } from "../../api/requests.ts";
import { count, ratio } from "../../numbers.ts";
import { Empty, Entry, Field, Page, Panel, Problem, Shown, Table } from "../../shell/parts.tsx";
import { about } from "../../shell/session.ts";
import { clipped } from "../../values/attribute.ts";
import { Calls, part, traced } from "./traced.tsx";

interface Edges {
  items: { user: string; since: string }[];
}
interface Plan {
  plan: string;
  path: string;
  edges: number;
  units: number;
}
interface Board {
  players: { player: string; points: number; rank: number }[];
}

const GAMES = ["chess", "pinball"];
const MOST = 40;

export function Social() {
  const [user, setUser] = useState("ada");
  return (
    <Page title="Social" hint="Who follows whom, in one table: an adjacency list. Mutual friends take the cheaper of two plans.">
      <div class="panels">
        <Panel
          title={`Around ${clipped(user, 40)}`}
          tools={
            <Field label={<span class="visually-hidden">User</span>}>{(id) => <Entry id={id} value={user} onEnter={setUser} />}</Field>
          }
        >
          <Around user={user} onChoose={setUser} />
        </Panel>
        <Leaderboard />
      </div>
    </Page>
  );
}

function Around({ user, onChoose }: { user: string; onChoose: (user: string) => void }) {
  const path = `/social/users/${part(user)}`;
  const loaded = useLoaded(
    async () => {
      const [following, followers, mutuals, plans] = await Promise.all([
        request<Edges>(`${path}/following?first=${MOST}`),
        request<Edges>(`${path}/followers?first=${MOST}`),
        traced<Edges>({ path: `${path}/mutuals?first=${MOST}` }),
        request<{ chosen: Plan; other: Plan }>(`${path}/mutuals/explain`),
      ]);
      return { following, followers, mutuals, plans };
    },
    [user],
    3000,
  );
  return (
    <Shown loaded={loaded}>
      {({ following, followers, mutuals, plans }) => {
        const sets = [following, followers, mutuals.body].map(({ items }) => new Set(items.map((each) => each.user)));
        const [follows, followed, mutual] = sets as [Set<string>, Set<string>, Set<string>];
        const people = [...new Set([...mutual, ...follows, ...followed])];
        return (
          <div>
            {people.length === 0 ? <Empty>{user} follows nobody yet, and nobody follows {user}.</Empty> : <Graph user={user} people={people} mutual={mutual} follows={follows} />}
            <p class="chips">
              {people.map((each) => (
                <button type="button" class={`chip ${mutual.has(each) ? "on" : ""}`} onClick={() => onChoose(each)}>
                  {clipped(each, 30)} {mutual.has(each) ? "⇄" : follows.has(each) ? "→" : "←"}
                </button>
              ))}
            </p>
            <p class="muted">⇄ mutual, → followed by {user}, ← follows {user}. Choose a person to go there.</p>
            <Calls calls={mutuals.calls} took={mutuals.seconds} />
            <p>
              Mutual friends by <code>{plans.chosen.path}</code>: {count(plans.chosen.edges)} edges, {ratio(plans.chosen.units)} units.{" "}
              <span class="muted">
                By <code>{plans.other.path}</code> they would be {count(plans.other.edges)} edges, {ratio(plans.other.units)} units.
              </span>
            </p>
          </div>
        );
      }}
    </Shown>
  );
}

const [CENTRE_X, CENTRE_Y, RADIUS_X, RADIUS_Y] = [310, 180, 248, 140];

function Graph({ user, people, mutual, follows }: { user: string; people: string[]; mutual: Set<string>; follows: Set<string> }) {
  const places = people.map((each, index) => {
    const angle = (index / people.length) * 2 * Math.PI - Math.PI / 2;
    return { name: each, x: CENTRE_X + RADIUS_X * Math.cos(angle), y: CENTRE_Y + RADIUS_Y * Math.sin(angle) };
  });
  const size = people.length > 24 ? 14 : 24;
  return (
    <svg class="people" viewBox="0 0 620 360" role="img" aria-label={`${user} has ${mutual.size} mutual friends among ${people.length} people; the list below names them`}>
      {places.map(({ name, x, y }) => (
        <line class={mutual.has(name) ? "mutual-line" : follows.has(name) ? "" : "one-way"} x1={CENTRE_X} y1={CENTRE_Y} x2={x} y2={y} />
      ))}
      {places.map(({ name, x, y }) => (
        <g class={mutual.has(name) ? "mutual" : ""}>
          <circle cx={x} cy={y} r={size} />
          <text x={x} y={y < CENTRE_Y ? y - size - 5 : y + size + 13}>
            {clipped(name, 14)}
          </text>
        </g>
      ))}
      <g class="me">
        <circle cx={CENTRE_X} cy={CENTRE_Y} r={32} />
        <text x={CENTRE_X} y={CENTRE_Y + 4}>
          {clipped(user, 9)}
        </text>
      </g>
    </svg>
  );
}

function Leaderboard() {
  const [game, setGame] = useState(GAMES[0]!);
  const [player, setPlayer] = useState("ada");
  const [points, setPoints] = useState("25");
  const [error, setError] = useState<RequestError>();
  const board = useLoaded(() => traced<Board>({ path: `/social/leaderboards/${part(game)}/top?limit=12` }), [game], 1000);
  const { write } = about.value!.you;
  const add = (event: SubmitEvent) => {
    event.preventDefault();
    request(`/social/leaderboards/${part(game)}/scores`, { body: { player, points: Number(points) } }).then(
      () => {
        setError(undefined);
        board.reload();
      },
      (raised: unknown) => {
        if (!(raised instanceof RequestError)) throw raised;
        setError(raised);
      },
    );
  };
  return (
    <Panel
      title="Leaderboard"
      tools={
        <select aria-label="Game" value={game} onChange={(event) => setGame(event.currentTarget.value)}>
          {GAMES.map((each) => (
            <option>{each}</option>
          ))}
        </select>
      }
    >
      <form class="fields" onSubmit={add}>
        <Field label="Player">{(id) => <input id={id} value={player} required onInput={(event) => setPlayer(event.currentTarget.value)} />}</Field>
        <Field label="Points">{(id) => <input id={id} type="number" value={points} required onInput={(event) => setPoints(event.currentTarget.value)} />}</Field>
        <button type="submit" disabled={write !== "all" && !write.includes("social")}>
          Add points
        </button>
      </form>
      {error && <Problem error={error} />}
      <Shown loaded={board}>
        {({ body, calls, seconds }) =>
          body.players.length === 0 ? (
            <Empty>Nobody has played {game} yet.</Empty>
          ) : (
            <div class="ranks">
              <Table label="Leaderboard" heads={[{ title: "Rank", align: "right" }, { title: "Player" }, { title: "Points", align: "right" }]}>
                {body.players.map((each) => (
                  <tr>
                    <td class="right">{count(each.rank)}</td>
                    <td>{clipped(each.player, 60)}</td>
                    <td class="right">
                      <span class="lit" key={each.points}>
                        {count(each.points)}
                      </span>
                    </td>
                  </tr>
                ))}
              </Table>
              <Calls calls={calls} took={seconds} />
            </div>
          )
        }
      </Shown>
    </Panel>
  );
}
