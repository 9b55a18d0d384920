// ElectroDB on the table of `beside_electrodb.py`. Reads one request a line, {"call", "key", …}, and answers each with
// one line, {"result"} or {"error"}. It ends with its input.
"use strict";

const readline = require("node:readline");
const { DynamoDBClient, CreateTableCommand } = require("@aws-sdk/client-dynamodb");
const { Entity } = require("electrodb");

const [endpoint, table] = process.argv.slice(2);
const client = new DynamoDBClient({
  endpoint,
  region: "eu-west-1",
  credentials: { accessKeyId: "takeover", secretAccessKey: "takeover" },
});

const place = {
  type: "map",
  properties: { city: { type: "string" }, height: { type: "number" }, since: { type: "string" } },
};

const attributes = {
  tenant: { type: "string", required: true },
  number: { type: "number", required: true, padding: { length: 6, char: "0" } },
  title: { type: "string", required: true, field: "theTitle" },
  status: { type: "string", required: true },
  at: { type: "string", required: true },
  seen: { type: "number" },
  expires: { type: "number" },
  visits: { type: "number" },
  amount: { type: "number" },
  flag: { type: "boolean" },
  level: { type: ["low", "High"] },
  tags: { type: "set", items: "string" },
  scores: { type: "set", items: "number" },
  place,
  places: { type: "list", items: place },
  log: { type: "list", items: { type: "any" } },
  doc: { type: "any" },
  blob: { type: "any" },
  remark: { type: "string" },
  details: { type: "any" },
};

const entity = (name) =>
  new Entity(
    {
      model: { service: "Beside", entity: name, version: "1" },
      attributes,
      indexes: {
        main: { pk: { field: "pk", composite: ["tenant"] }, sk: { field: "sk", composite: ["number"] } },
        byStatus: {
          index: "gsi1",
          pk: { field: "gsi1pk", casing: "none", composite: ["status"] },
          sk: { field: "gsi1sk", casing: "none", composite: ["number", "tenant"] },
        },
        byTime: {
          index: "gsi2",
          pk: { field: "gsi2pk", composite: ["status"] },
          sk: { field: "gsi2sk", composite: ["at", "number"] },
        },
      },
    },
    { client, table },
  );

const entities = [entity("Job"), entity("Call")];
const of = ({ number }) => entities[number % entities.length];

// A binary is {"$bytes": base64}; JSON has none.
const revive = (_name, value) =>
  value && typeof value === "object" && typeof value.$bytes === "string" ? Buffer.from(value.$bytes, "base64") : value;

const plain = (value) => {
  if (value instanceof Uint8Array) return { $bytes: Buffer.from(value).toString("base64") };
  if (value instanceof Set) return [...value].map(plain);
  if (Array.isArray(value)) return value.map(plain);
  if (value && typeof value === "object")
    return Object.fromEntries(Object.entries(value).map(([name, each]) => [name, plain(each)]));
  return value;
};

const changed = (item, changes) => {
  const made = { ...item, ...changes };
  for (const [name, value] of Object.entries(changes)) if (value === null) delete made[name];
  return made;
};

const keySchema = (partition, sort) => [
  { AttributeName: partition, KeyType: "HASH" },
  { AttributeName: sort, KeyType: "RANGE" },
];

const calls = {
  async createTable() {
    await client.send(
      new CreateTableCommand({
        TableName: table,
        BillingMode: "PAY_PER_REQUEST",
        AttributeDefinitions: ["pk", "sk", "gsi1pk", "gsi1sk", "gsi2pk", "gsi2sk"].map((name) => ({
          AttributeName: name,
          AttributeType: "S",
        })),
        KeySchema: keySchema("pk", "sk"),
        GlobalSecondaryIndexes: [
          { IndexName: "gsi1", KeySchema: keySchema("gsi1pk", "gsi1sk"), Projection: { ProjectionType: "ALL" } },
          { IndexName: "gsi2", KeySchema: keySchema("gsi2pk", "gsi2sk"), Projection: { ProjectionType: "ALL" } },
        ],
      }),
    );
  },
  async create({ key, values }) {
    await of(key).create({ ...key, ...values }).go();
  },
  async save({ key, changes }) {
    const { data } = await of(key).get(key).go({ consistent: true });
    await of(key).put(changed(data, changes)).go();
  },
  async update({ key, changes }) {
    const removed = Object.keys(changes).filter((name) => changes[name] === null);
    const set = Object.fromEntries(Object.entries(changes).filter(([, value]) => value !== null));
    let call = of(key).patch(key);
    if (Object.keys(set).length) call = call.set(set);
    if (removed.length) call = call.remove(removed);
    await call.go();
  },
  async add({ key, field, amount }) {
    await of(key).patch(key).add({ [field]: amount }).go();
  },
  async append({ key, field, members }) {
    await of(key).patch(key).append({ [field]: members }).go();
  },
  async saveBatch({ keys }) {
    for (const each of entities) {
      const own = keys.filter((key) => of(key) === each);
      if (!own.length) continue;
      const { data } = await each.get(own).go({ consistent: true });
      const { unprocessed } = await each.put(data).go();
      if (unprocessed.length) throw new Error(`unprocessed: ${JSON.stringify(unprocessed)}`);
    }
  },
  async delete({ key }) {
    await of(key).delete(key).go();
  },
  async read({ key }) {
    return (await of(key).get(key).go({ consistent: true })).data;
  },
  async readAll() {
    const found = await Promise.all(entities.map((each) => each.scan.go({ pages: "all" })));
    return found.flatMap(({ data }) => data);
  },
  async find({ status }) {
    const found = await Promise.all(entities.map((each) => each.query.byStatus({ status }).go({ pages: "all" })));
    return found.flatMap(({ data }) => data);
  },
};

const answer = async (line) => {
  try {
    const { call, ...given } = JSON.parse(line, revive);
    return { result: plain((await calls[call](given)) ?? null) };
  } catch (error) {
    return { error: `${error.name}: ${error.message}` };
  }
};

(async () => {
  for await (const line of readline.createInterface({ input: process.stdin })) {
    process.stdout.write(`${JSON.stringify(await answer(line))}\n`);
  }
})();
