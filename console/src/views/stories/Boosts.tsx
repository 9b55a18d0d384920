// Which of the fifty partners of a search page are boosted, here and now; and what each of three designs reads for it.
import { useState } from "preact/hooks";
import { useLoaded } from "../../api/loaded.ts";
import { count, dollars, plural, ratio } from "../../numbers.ts";
import { Entry, Field, Figure, Page, Panel, Shown, Sign } from "../../shell/parts.tsx";
import { about } from "../../shell/session.ts";
import { Dots } from "./Dots.tsx";
import { Calls, part, traced } from "./traced.tsx";

interface Lookup {
  boosts: { partnerId: string; score: number; campaignId: string; area: string }[];
}

/** Markets of the demonstration, with partners of each. */
const MARKETS = {
  tr: { title: "Turkey, everywhere", district: "IST-01", first: 20_100_000, examples: [] },
  de: { title: "Germany, by district", district: "BER-01", first: 10_740_400, examples: ["10740321", "10740322", "10740323", "10740324", "10740325"] },
  gr: { title: "Greece, by district", district: "ATH-01", first: 30_500_000, examples: [] },
} as const;
type Market = keyof typeof MARKETS;
const PAGE = 50;

interface Design {
  design: string;
  requests: number;
  rowsRead: number;
  partnersRead: number;
  units: number;
  rows: { key: string; partners: number; asked: number[] }[];
}
interface Comparison {
  partners: number;
  campaigns: number;
  agree: boolean;
  designs: Design[];
}

const DESIGNS: { design: string; title: string; why: string }[] = [
  {
    design: "v1",
    title: "V1: lists of partners, by area, day and slot",
    why: "It answers “who is boosted here and now?”, so a search fetches all of them and drops those that it did not ask for. It grows with the market.",
  },
  {
    design: "manifest",
    title: "Manifest: a row for each partner and area",
    why: "A search reads as little as it can. But a campaign that runs everywhere is written once for each area that its partner delivers to.",
  },
  {
    design: "v2",
    title: "V2: the partner is the sort key",
    why: "It answers “which of these partners are boosted?” by exact keys: as many as the page has partners, whatever the size of the market. A campaign is one write, and one for each area that it names.",
  },
];

export function Boosts() {
  const [market, setMarket] = useState<Market>("tr");
  const [district, setDistrict] = useState<string>(MARKETS.tr.district);
  const [page, setPage] = useState(0);
  const [at, setAt] = useState("");
  const partners = partnersOf(market, page);
  const body = { partnerIds: partners, district, ...(at === "" ? {} : { at: new Date(at).toISOString() }) };
  const path = `/boosts/${part(market)}/lookup`;
  const loaded = useLoaded(() => traced<Lookup>({ path, body }), [market, district, page, at], 5000);
  const compared = useLoaded(() => traced<Comparison>({ path: `${path}/designs`, body }), [market, district, page, at]);
  const choose = (next: Market) => {
    setMarket(next);
    setDistrict(MARKETS[next].district);
    setPage(0);
  };
  return (
    <Page title="Boosts" hint="A search shows fifty partners. Which of them have paid to be further up, in this area, at this time?">
      <Panel title="A search">
        <div class="fields">
          <Field label="Market">
            {(id) => (
              <select id={id} value={market} onChange={(event) => choose(event.currentTarget.value as Market)}>
                {(Object.keys(MARKETS) as Market[]).map((key) => (
                  <option value={key}>{MARKETS[key].title}</option>
                ))}
              </select>
            )}
          </Field>
          <Field label="District">{(id) => <Entry id={id} value={district} onEnter={setDistrict} />}</Field>
          <Field label="At" hint="empty: now">
            {(id) => <input id={id} type="datetime-local" value={at} onChange={(event) => setAt(event.currentTarget.value)} />}
          </Field>
          <button type="button" onClick={() => setPage(page + 1)}>
            Next page of the search
          </button>
        </div>
      </Panel>
      <Shown loaded={loaded}>
        {({ body: { boosts }, calls, seconds }) => {
          const found = new Map(boosts.map((each) => [each.partnerId, each]));
          return (
            <>
              <Panel title={`${count(boosts.length)} of ${count(partners.length)} partners are boosted`}>
                <ul class="chips even">
                  {partners.map((each) => {
                    const boost = found.get(each);
                    return (
                      <li class={`chip ${boost ? "on" : ""}`} title={boost ? `${boost.campaignId} in ${boost.area}` : "not boosted now"}>
                        {each}
                        {boost && ` ▲ ${ratio(boost.score)}`}
                      </li>
                    );
                  })}
                </ul>
                <Calls calls={calls} took={seconds} />
              </Panel>
            </>
          );
        }}
      </Shown>
      <Panel title="The same search in three designs" tools={<span class="muted">a dot is a partner in a row that is read; those of the page stand out</span>}>
        <Shown loaded={compared} busy="The search runs in each design…">
          {({ body, calls }) => <Designs compared={body} loading={calls.reduce((sum, each) => sum + each.units, 0)} />}
        </Shown>
      </Panel>
    </Page>
  );
}

function Designs({ compared, loading }: { compared: Comparison; loading: number }) {
  const price = about.value!.prices.perMillionReadUnits;
  const units = (wanted: string) => compared.designs.find(({ design }) => design === wanted)!.units;
  return (
    <div>
      <p class="lead">
        {units("v1") > units("v2")
          ? `V1 takes ${ratio(units("v1") / units("v2"))} times the units of V2 for the same answer.`
          : "So few partners are boosted here and now that V1's lists are short: it takes no more units than V2. In a large market, or at noon, it does."}
      </p>
      <div class="designs">
        {DESIGNS.map(({ design, title, why }) => {
          const found = compared.designs.find((each) => each.design === design)!;
          const asked = placesOf(found);
          return (
            <section class={design === "v2" ? "design now" : "design"} aria-label={title}>
              <h3>{title}</h3>
              <dl class="figures">
                <Figure label="Partners" value={count(found.partnersRead)} note={`in ${plural(found.rowsRead, "row")}`} />
                <Figure label="Units" value={ratio(found.units)} note={`in ${plural(found.requests, "request")}`} />
                <Figure label="Price" value={dollars(found.units * price)} note="a million" />
              </dl>
              <Dots read={found.partnersRead} asked={asked} label={`${count(found.partnersRead)} partners read, ${count(asked.length)} of them asked for`} />
              <p class="muted">{why}</p>
            </section>
          );
        })}
      </div>
      <p class="muted">
        {compared.agree ? <>All three find the same boosts. </> : <><Sign tone="bad" /> The designs find different boosts. </>}
        Measured for this search, on the {count(compared.campaigns)} campaigns of {count(compared.partners)} partners that the market has now: they are read for it ({ratio(loading)} units), and loaded
        into memory in each design.
      </p>
    </div>
  );
}

/** Among all partners that are read, row after row. */
function placesOf({ rows }: Design): number[] {
  const places: number[] = [];
  let before = 0;
  for (const { partners, asked } of rows) {
    places.push(...asked.map((each) => before + each));
    before += partners;
  }
  return places;
}

function partnersOf(market: Market, page: number): string[] {
  const { first, examples } = MARKETS[market];
  const shown = page === 0 ? examples : [];
  return [...shown, ...Array.from({ length: PAGE - shown.length }, (_, index) => String(first + 3 * (page * PAGE + index)))];
}
