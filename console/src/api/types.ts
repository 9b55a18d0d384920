// The shapes of console/API.md, as they stand there.
import type { AttributeValue, Item } from "../values/attribute.ts";

export type Instant = string;
export type Key = Item; // the key attributes alone

export type ErrorAnswer = {
  error: { code: string; message: string; details: { message: string; field?: string }[] };
  current?: Row | null; // only with code "changed": the row as it is now; null: gone
};

export type Open = { product: "sortkey"; auth: "none" | "token" | "key" };

// POST about {}
export type About = {
  version: string;
  command: "up" | "serve" | "db";
  store: { kind: "folder" | "memory" | "remote"; url: string }; // url without credentials
  process: { pid: number; started: Instant; workers: number };
  // workers > 1: numbers that say `of: "process"` are of this process alone.
  services: { name: string; summary: string; demo: boolean }[]; // demo: the demonstration data is loaded and moving
  endpoint: string | null; // the DynamoDB endpoint's URL, for code and curl
  you: { name: string | null; read: "all" | string[]; write: "all" | string[] };
  // lists: of services (tokens) or of tables (keys)
  has: {
    data: boolean; paths: boolean; heat: boolean; changes: boolean; feeds: boolean; timers: boolean;
    stories: boolean; designer: boolean;
  }; // false: do not show the view
  limits: { partitionReadUnits: 3000; partitionWriteUnits: 1000; pageBytes: 1048576; itemBytes: 409600 };
  prices: { region: string; asOf: string; perMillionReadUnits: number; perMillionWriteUnits: number; perGigabyteMonth: number };
};

// POST live
export type LiveRequest = {
  topics: ("overview" | "paths" | "heat" | "feeds")[];
  changes?: { table: string }; // also tail this table's stream
};

// POST overview {}
export type Overview = {
  at: Instant;
  of: "process" | "workers"; // whose requests the numbers are: this process's, or the sum of all workers'
  seconds: number; // what the rates cover: since the sample before
  services: {
    name: string; // "dynamodb" is the DynamoDB endpoint, "server" the server's own routes
    requestsPerSecond: number; errorsPerSecond: number; // errors: 5xx and throttling
    rejectedPerSecond: number; // other 4xx
    p50: number | null; p99: number | null; // seconds; null: no requests. Upper bounds of histogram buckets, interpolated
    requests: number; errors: number; // since the start
  }[];
  store: {
    kind: "folder" | "memory" | "remote";
    bytes: number | null; // what the data occupies
    commits: number | null; commitsPerSecond: number | null;
    syncSeconds: number | null; // median of a sync when last measured (by the findings)
    queuedWrites: number | null;
    readUnitsPerSecond: number; writeUnitsPerSecond: number;
    dollarsPerMonth: number; // of these units at this rate, on demand
  };
  memory: number; // bytes, of this process
  connections: number;
  consoles: number; // streams that are open
  feeds: { name: string; service: string; lagSeconds: number | null; lagText: string; blocked: string | null; unfollowed: number; deadLetters: number }[];
  timers: { schedule: string; service: string; overdue: number; next: Instant | null }[];
  batches: { service: string; what: string; at: Instant; text: string }[]; // loads of generations: when, and which
  findings: Finding[]; // warnings and failures only, the worst first
};
// POST overview/history {}: the last ten minutes, oldest first; for charts
export type OverviewHistory = { samples: { at: Instant; services: Record<string, { requestsPerSecond: number; errorsPerSecond: number; p50: number | null; p99: number | null }>; readUnitsPerSecond: number; writeUnitsPerSecond: number }[] };
export type Finding = { subject: string; status: "ok" | "warn" | "fail"; found: string; advice: string };
// POST findings { fresh?: boolean }: all of them, as `sortkey doctor` words them; fresh examines again (takes seconds)
export type Findings = { at: Instant; findings: Finding[] };

// POST tables {}
export type Tables = { tables: Table[] };
export type Table = {
  name: string; // as declared and as requests name it
  declared: boolean;
  service: string | null; // null: of no service; "sortkey": the framework's own
  status: string;
  items: number; bytes: number;
  key: KeyAttribute[]; // partition first
  indexes: { name: string; local: boolean; key: KeyAttribute[]; projection: "ALL" | "KEYS_ONLY" | string[]; items: number; bytes: number; status: string }[];
  stream: "KEYS_ONLY" | "NEW_IMAGE" | "OLD_IMAGE" | "NEW_AND_OLD_IMAGES" | null;
  ttl: string | null;
  classes: string[]; // the declared classes in it
  editable: boolean;
};
export type KeyAttribute = { name: string; type: "S" | "N" | "B"; role: "HASH" | "RANGE" };

// POST model {}: what is declared
export type Model = { classes: DeclaredClass[] };
export type DeclaredClass = {
  name: string; table: string; service: string | null; doc: string;
  fields: { name: string; attribute: string; type: string; required: boolean }[]; // type as written: "str", "datetime | None"
  paths: DeclaredPath[];
};
export type DeclaredPath = {
  name: string; // "Price.by_product"
  index: string | null; // DynamoDB's name; null: the table
  partition: PathField[]; sort: PathField[]; // what to fill: all of partition, then the first ones of sort
  partitionTemplate: string; sortTemplate: string | null; // "STORE#{store}"
  ranges: boolean; // whether the field after the last given one may have a range
  shards: number | null; // of a sharded key: rows of all shards are merged
};
export type PathField = { name: string; input: "text" | "integer" | "number" | "boolean" | "instant" | "date" | "time" | "uuid" | "binary" | "choice"; choices?: string[]; type: string };
// The values of fields travel as text: "3", "true", "2026-08-24T12:00:00Z", "2026-08-24", hexadecimal for binary.

// POST examples { path: string; fields?: Record<string, string> }: values that are in the data now (a few dozen rows are read)
export type Examples = { examples: Record<string, string>[]; units: number };

// POST plan { path; fields; range? }: nothing is sent; as one types
// POST page { path; fields; range?; descending?; first?; after? }
export type PathRequest = {
  path: string; fields: Record<string, string>;
  range?: { name: "between" | "before" | "after" | "starting"; values: string[] };
  descending?: boolean; first?: number; // 1 to 1000; 50
  after?: Cursor; collection?: boolean; // collection: the rows of all classes of the partition
};
export type Cursor = unknown; // from `next`; send it back as it is
export type Plan = { operation: "GetItem" | "Query"; request: object; index: string | null; requests: number; estimate: Estimate; text: string }; // text: the path as Python
export type Estimate = { rows: number; rowBytes: number; units: number; dollars: number; dollarsPerMillion: number; source: string; atMost: boolean };

export type Page = {
  rows: Row[];
  operation: string; request: object; // what it became, DynamoDB JSON; of a sharded path the first of `requests`
  requests: number;
  rowsRead: number; // before filters
  units: number; dollars: number; seconds: number;
  next: Cursor | null; // the next page
};
export type Row = {
  item: Item; // as stored
  key: Key;
  bytes: number;
  class: string | null; // the declared class that recognises it
  fields: Record<string, string> | null; // typed: each field of the class as text, as Python shows it; null without a class
  problem: string | null; // why the class cannot read it
  partial: boolean; // of an index that does not project all: fetch it by `item` before editing
  seen: string | null; // stands for exactly this content; edits send it back. null if partial
};

// POST item { table: string; key: Key }
export type ItemAnswer = { row: Row | null; units: number; dollars: number };

// POST price { operation: "Query" | "Scan" | "GetItem" | "ExecuteStatement"; request: object }: nothing is read
export type Price = { whole: Estimate; page: Estimate; pages: number }; // whole: all pages; page: the next request
// POST run { operation; request }: request as DynamoDB takes it (TableName, KeyConditionExpression, …, Limit, ExclusiveStartKey)
export type Run = Page & { next: Key | string | null }; // next: its LastEvaluatedKey, of ExecuteStatement its NextToken

// POST put { table: string; item: Item; seen: string | null; dryRun?: boolean }
export type Put = {
  done: boolean;
  before: Item | null; after: Item;
  changes: { attribute: string; before: AttributeValue | null; after: AttributeValue | null }[];
  condition: string; // the expression, for people
  units: number; dollars: number; // expected, of a dry run
  warnings: string[]; // such as: gsi1pk is not what Price would write for this product
  fixed: Item | null; // the item with the keys that its class would write, if they differ
  row: Row | null; // as it is now, when done
};
// POST delete { table: string; rows: { key: Key; seen: string }[]; dryRun?: boolean }: up to 1,000
export type Delete = {
  done: boolean;
  deleted: number; // or would be
  changed: Key[]; gone: Key[]; failed: { key: Key; message: string }[]; // left alone
  units: number; dollars: number;
};

// POST code: a PathRequest, or { operation; request }, or { edit: "put" | "delete"; table; item or key }
export type Code = { sortkey: string | null; boto3: string; cli: string; curl: string };

// POST paths {}
export type Paths = {
  at: Instant; of: "process"; since: Instant; seconds: number; // the rates cover so many seconds
  paths: PathUse[]; // those with advice first, then by dollars a month
};
export type PathUse = {
  path: string; // "Price.by_product"; "Price (scan)"
  service: string | null; table: string | null;
  index: string | null; request: string | null; // its key condition as text
  calls: number; rowsRead: number; rowsReturned: number; readUnits: number; writeUnits: number; seconds: number; // since the start
  unrecognised: number; undecodable: number;
  callsPerSecond: number; unitsPerSecond: number; dollarsPerMonth: number; // at the rate of the last minute
  amplification: number; secondsPerCall: number;
  kind: "ok" | "wasteful" | "scan" | "slow" | "unreadable";
  reason: string | null; better: string | null; // why, and the nearest better key, as declared or as it could be
};

// POST heat {}
export type Heat = {
  of: "process"; source: "engine" | "session"; // engine: every request to this store's process; session: the services' own requests
  columns: { at: Instant; seconds: number; cells: [partition: number, readUnitsPerSecond: number, writeUnitsPerSecond: number, requestsPerSecond: number][] }[]; // oldest first, up to 120
  partitions: { id: number; table: string; index: string | null; key: string; service: string | null }[]; // that the cells name
  hottest: { id: number; requestsPerSecond: number; readUnitsPerSecond: number; writeUnitsPerSecond: number; readShare: number; writeShare: number; over: boolean; advice: string | null }[]; // of the last one to two minutes; shares of DynamoDB's limits
  limits: { readUnits: number; writeUnits: number };
};

// the event `changes`
export type Changes = {
  table: string;
  events: {
    id: string; shard: string; sequence: string; at: Instant;
    event: "INSERT" | "MODIFY" | "REMOVE"; expired: boolean; // expired: removed by TTL
    key: Key; old: Item | null; new: Item | null; changed: string[]; // the attributes that differ
    class: string | null; oldFields: Record<string, string> | null; newFields: Record<string, string> | null;
    bytes: number; tooLarge: boolean; // tooLarge: the images are left out
  }[];
  skipped: number; // more than the stream shows; left out
};

// POST feeds {}
export type Feeds = { at: Instant; feeds: Feed[] };
export type Feed = {
  name: string; service: string; kind: "changes" | "timers"; table: string;
  classes: string[];
  following: boolean; // whether this process runs it
  lagSeconds: number | null; lagText: string; // why it is behind, or that it is not
  blocked: string | null; // what it waits for, in words
  unfollowed: number; // shards that nobody follows: free ones, and those of a follower that has stopped
  handled: number; dead: number; skipped: number; // records since the start, in this process
  deadLetters: number; deadLettersMore: boolean; // counted up to 1,000
  shards: { stream: string; shard: string; owner: string | null; here: boolean; silent: boolean; checkpoint: string | null; state: "open" | "closed" | "ended" | "waiting"; lagSeconds: number | null }[];
};
// POST letters { service: string; feed?: string; reason?: string; first?: number; after?: Cursor }
export type Letters = { letters: { id: string; feed: string; at: Instant; expires: Instant; reason: string; complete: boolean; kind: "change" | "timer"; record: unknown }[]; next: Cursor | null };
// POST letters/act { service: string; ids: string[]; action: "retry" | "drop" }: up to 100
export type LettersDone = { results: { id: string; outcome: "sent" | "failed" | "dropped" | "gone"; reason: string }[]; stopped: string | null };
// POST timers { service?: string; schedule?: string; days?: number }
export type TimersDue = { timers: { schedule: string; service: string; group: Record<string, unknown>; occurrence: string; at: Instant; overdue: boolean }[]; more: boolean };
// POST timers/items { service; schedule; occurrence; at }: the items that its handler would be given now
export type TimerItems = { items: { class: string; fields: Record<string, string> }[]; more: boolean };

// POST trace { requests: { method: string; path: string; body?: unknown }[] }: sends them to the services in this process, up to 10, one
// after the other, and says which rows each read (other requests at the same time are not counted)
export type Trace = { answers: { status: number; body: unknown; seconds: number; calls: Call[] }[] };
export type Call = { operation: string; table: string; index: string | null; path: string | null; keys: Key[]; rowsRead: number; rowsReturned: number; units: number; dollars: number; seconds: number };

// POST design { source: string; rows?: number; rowBytes?: number; perSecond?: number }: nothing of the source is executed
export type Design = {
  problems: { line: number; message: string }[];
  classes: (DeclaredClass & { collections: { partition: string; rows: { sort: string; class: string; attributes: Item }[] }[] })[];
  paths: { path: string; request: object; operation: string; units: number; dollarsPerMillion: number; dollarsPerMonth: number }[];
  questions: { text: string; answered: boolean; by: string | null; suggestion: string | null }[];
};
