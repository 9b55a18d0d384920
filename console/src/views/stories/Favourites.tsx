// Marks, and the counts and the top list that follow them within a second.
import { useState } from "preact/hooks";
import { useLoaded } from "../../api/loaded.ts";
import { request, RequestError } from "../../api/requests.ts";
import { count } from "../../numbers.ts";
import { Empty, Entry, Field, Page, Panel, Problem, Shown, Table } from "../../shell/parts.tsx";
import { about } from "../../shell/session.ts";
import { clock, day } from "../../times.ts";
import { Calls, part, traced } from "./traced.tsx";

interface Top {
  restaurants: { restaurant: string; count: number }[];
}
interface Mine {
  items: { restaurant: string; since: string }[];
}
interface Counted {
  window: string;
  count: number;
}

const EVERY = 1000;

export function Favourites() {
  const [user, setUser] = useState("ada");
  const [window, setWindow] = useState("ALL_TIME");
  const [restaurant, setRestaurant] = useState("r0007");
  const [error, setError] = useState<RequestError>();
  const today = day(new Date());
  const windows: [key: string, words: string][] = [
    ["ALL_TIME", "ever"],
    [today.slice(0, 4), "this year"],
    [today.slice(0, 7), "this month"],
    [today, "today"],
  ];
  const top = useLoaded(() => traced<Top>({ path: `/restaurants/top?window=${part(window)}&limit=12` }), [window], EVERY);
  const mine = useLoaded(() => traced<Mine>({ path: `/favourites/${part(user)}?first=30` }), [user], 3 * EVERY);
  const counts = useLoaded(
    () => Promise.all(windows.map(([each]) => request<Counted>(`/restaurants/${part(restaurant)}/favourites?window=${part(each)}`))),
    [restaurant],
    EVERY,
  );
  const marked = new Set(mine.value?.body.items.map((each) => each.restaurant));
  const { write } = about.value!.you;
  const may = write === "all" || write.includes("favourites");
  const toggle = (which: string) => {
    setRestaurant(which);
    request(`/favourites/${part(user)}/${part(which)}`, { method: marked.has(which) ? "DELETE" : "PUT" }).then(
      () => {
        setError(undefined);
        mine.reload();
        counts.reload();
      },
      (raised: unknown) => {
        if (!(raised instanceof RequestError)) throw raised;
        setError(raised);
      },
    );
  };
  return (
    <Page title="Favourites" hint="A mark is one conditional write. Its counts follow from the table's changes, each of them exactly once.">
      {error && <Problem error={error} />}
      <div class="panels">
        <Panel
          title="Top list"
          tools={
            <select aria-label="Window" value={window} onChange={(event) => setWindow(event.currentTarget.value)}>
              {windows.map(([key, words]) => (
                <option value={key}>{words}</option>
              ))}
            </select>
          }
        >
          <Shown loaded={top}>
            {({ body, calls, seconds }) =>
              body.restaurants.length === 0 ? (
                <Empty>Nobody has marked a restaurant in this window yet.</Empty>
              ) : (
                <div class="ranks">
                  <Table label="Top list" heads={[{ title: "", align: "right" }, { title: "Restaurant" }, { title: "Favourites", align: "right" }, { title: user }]}>
                    {body.restaurants.map((each, place) => (
                      <tr>
                        <td class="right muted">{place + 1}</td>
                        <td>
                          <button type="button" class="quiet" onClick={() => setRestaurant(each.restaurant)}>
                            {each.restaurant}
                          </button>
                        </td>
                        <td class="right">
                          <span class="lit" key={each.count}>
                            {count(each.count)}
                          </span>{" "}
                          <span class="track small" aria-hidden="true">
                            <span style={{ width: `${(each.count / body.restaurants[0]!.count) * 100}%` }} />
                          </span>
                        </td>
                        <td>
                          <button type="button" class="quiet" disabled={!may} onClick={() => toggle(each.restaurant)}>
                            {marked.has(each.restaurant) ? "★ unmark" : "☆ mark"} <span class="visually-hidden">{each.restaurant}</span>
                          </button>
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
        <div>
          <Panel title={`Counts of ${restaurant}`}>
            <Field label="Restaurant">{(id) => <Entry id={id} value={restaurant} onEnter={setRestaurant} />}</Field>
            <Shown loaded={counts}>
              {(value) => (
                <dl class="figures">
                  {value.map((each) => (
                    <div class="figure">
                      <dt>{windows.find(([key]) => key === each.window)?.[1] ?? each.window}</dt>
                      <dd>
                        <span class="number">
                          <span class="lit" key={each.count}>
                            {count(each.count)}
                          </span>
                        </span>
                      </dd>
                    </div>
                  ))}
                </dl>
              )}
            </Shown>
            <p class="tools">
              <button type="button" class="main" disabled={!may} onClick={() => toggle(restaurant)}>
                {marked.has(restaurant) ? `Unmark it for ${user}` : `Mark it for ${user}`}
              </button>
            </p>
          </Panel>
          <Panel title={`Favourites of ${user}`}>
            <Field label="User">{(id) => <Entry id={id} value={user} onEnter={setUser} />}</Field>
            <Shown loaded={mine}>
              {({ body, calls, seconds }) => (
                <div>
                  {body.items.length === 0 ? (
                    <Empty>{user} has no favourites.</Empty>
                  ) : (
                    <Table label="Favourites" heads={[{ title: "Restaurant" }, { title: "Since", align: "right" }]}>
                      {body.items.map((each) => (
                        <tr>
                          <td>{each.restaurant}</td>
                          <td class="right">{clock(new Date(each.since))}</td>
                        </tr>
                      ))}
                    </Table>
                  )}
                  <Calls calls={calls} took={seconds} />
                </div>
              )}
            </Shown>
          </Panel>
        </div>
      </div>
    </Page>
  );
}
