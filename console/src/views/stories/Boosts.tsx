// Which of the fifty partners of a search page are boosted, here and now; and what the two designs before had to read.
import { useState } from "preact/hooks";
import { useLoaded } from "../../api/loaded.ts";
import { count, ratio } from "../../numbers.ts";
import { Field, Page, Panel, Shown } from "../../shell/parts.tsx";
import { Dots } from "./Dots.tsx";
import { Calls, part, traced } from "./traced.tsx";

interface Lookup {
  boosts: { partnerId: string; score: number; campaignId: string; area: string }[];
}

/** Markets of the demonstration, with partners of each. */
const MARKETS = {
  de: { title: "Germany, by district", district: "BER-01", first: 10_740_400, examples: ["10740321", "10740322", "10740323", "10740324", "10740325"] },
  gr: { title: "Greece, by district", district: "ATH-01", first: 30_500_000, examples: [] },
  tr: { title: "Turkey, everywhere", district: "", first: 20_100_000, examples: [] },
} as const;
type Market = keyof typeof MARKETS;
const PAGE = 50;

/** docs/services/boosts.md: a page of 50 partners in a market of 11,000. */
const BEFORE = [
  { name: "V1: lists by area and time", read: 11_000, requests: 5, units: 143, why: "The lists of all who are boosted here and now are fetched, then 50 are kept." },
  { name: "Expansion manifest: a row for each area", read: 50, requests: 1, units: 25, why: "A lookup is small, but one campaign is a write for each area, 16 on average." },
];

export function Boosts() {
  const [market, setMarket] = useState<Market>("de");
  const [district, setDistrict] = useState<string>(MARKETS.de.district);
  const [page, setPage] = useState(0);
  const [at, setAt] = useState("");
  const partners = partnersOf(market, page);
  const body = { partnerIds: partners, ...(district === "" ? {} : { district }), ...(at === "" ? {} : { at: new Date(at).toISOString() }) };
  const loaded = useLoaded(() => traced<Lookup>({ path: `/boosts/${part(market)}/lookup`, body }), [market, district, page, at], 5000);
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
          <Field label="District">{(id) => <input id={id} value={district} disabled={market === "tr"} onChange={(event) => setDistrict(event.currentTarget.value)} />}</Field>
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
          const read = calls.reduce((sum, each) => sum + each.rowsRead, 0);
          const asked = calls.reduce((sum, each) => sum + Math.max(each.keys.length, each.rowsRead), 0);
          return (
            <>
              <Panel title={`${count(boosts.length)} of ${count(partners.length)} partners are boosted`}>
                <ul class="chips">
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
              <Panel title="The same question in three designs" tools={<span class="muted">a dot is a row that is read; those that stand out were asked for</span>}>
                <div class="designs">
                  {BEFORE.map((each) => (
                    <section class="design">
                      <h3>{each.name}</h3>
                      <Dots read={each.read} wanted={PAGE} label={`${count(each.read)} read for ${PAGE} asked for`} />
                      <p>
                        <strong>{count(each.read)}</strong> partners fetched, {count(each.requests)} {each.requests === 1 ? "request" : "requests"}, {count(each.units)} units
                      </p>
                      <p class="muted">{each.why} Measured in a market of 11,000 partners.</p>
                    </section>
                  ))}
                  <section class="design now">
                    <h3>V2: the partner is the sort key</h3>
                    <Dots read={Math.max(read, asked)} wanted={Math.max(read, asked)} label={`${count(asked)} keys asked for, ${count(read)} rows read`} />
                    <p>
                      <strong>{count(read)}</strong> rows read by {count(asked)} exact keys, {count(calls.length)} {calls.length === 1 ? "request" : "requests"},{" "}
                      {ratio(calls.reduce((sum, each) => sum + each.units, 0))} units
                    </p>
                    <p class="muted">This search, a moment ago. Its size is that of the page, not of the market.</p>
                  </section>
                </div>
              </Panel>
            </>
          );
        }}
      </Shown>
    </Page>
  );
}

function partnersOf(market: Market, page: number): string[] {
  const { first, examples } = MARKETS[market];
  const shown = page === 0 ? examples : [];
  return [...shown, ...Array.from({ length: PAGE - shown.length }, (_, index) => String(first + 3 * (page * PAGE + index)))];
}
