// The AWS SDK for JavaScript v3, low level and document client, against the endpoint in argv[2].
import assert from "node:assert/strict";
import {
  CreateTableCommand,
  DeleteTableCommand,
  DescribeTableCommand,
  DynamoDBClient,
  waitUntilTableExists,
} from "@aws-sdk/client-dynamodb";
import {
  DescribeStreamCommand,
  DynamoDBStreamsClient,
  GetRecordsCommand,
  GetShardIteratorCommand,
} from "@aws-sdk/client-dynamodb-streams";
import {
  BatchGetCommand,
  BatchWriteCommand,
  DynamoDBDocumentClient,
  GetCommand,
  paginateQuery,
  PutCommand,
  QueryCommand,
  TransactWriteCommand,
  UpdateCommand,
} from "@aws-sdk/lib-dynamodb";

const config = {
  endpoint: process.argv[2],
  region: "eu-west-1",
  credentials: { accessKeyId: "AKIDEXAMPLE", secretAccessKey: "secret" },
};
const client = new DynamoDBClient(config);
const db = DynamoDBDocumentClient.from(client);
const streams = new DynamoDBStreamsClient(config);
const TableName = "javascript";
const order = (number, status = "open") => ({ customer: "ann", number, status, note: "größer ☃" });

await client.send(new CreateTableCommand(JSON.parse(process.argv[3])));
await waitUntilTableExists({ client, maxWaitTime: 30 }, { TableName });

const blob = new Uint8Array([0, 255]);
await db.send(new PutCommand({ TableName, Item: { ...order(1), blob, tags: new Set(["a", "b"]), deep: [1, { x: null }] } }));
const { Item } = await db.send(new GetCommand({ TableName, Key: { customer: "ann", number: 1 } }));
assert.deepEqual(Item, { ...order(1), blob, tags: new Set(["a", "b"]), deep: [1, { x: null }] });

const ship = {
  TableName,
  Key: { customer: "ann", number: 1 },
  UpdateExpression: "SET #s = :shipped",
  ConditionExpression: "#s = :open",
  ExpressionAttributeNames: { "#s": "status" },
  ExpressionAttributeValues: { ":shipped": "shipped", ":open": "open" },
  ReturnValues: "ALL_NEW",
};
assert.equal((await db.send(new UpdateCommand(ship))).Attributes.status, "shipped");
await assert.rejects(db.send(new UpdateCommand(ship)), { name: "ConditionalCheckFailedException" });

const writes = Array.from({ length: 25 }, (_, n) => ({ PutRequest: { Item: order(n + 2) } }));
assert.deepEqual((await db.send(new BatchWriteCommand({ RequestItems: { [TableName]: writes } }))).UnprocessedItems, {});
const Keys = Array.from({ length: 26 }, (_, n) => ({ customer: "ann", number: n + 1 }));
const got = await db.send(new BatchGetCommand({ RequestItems: { [TableName]: { Keys } } }));
assert.equal(got.Responses[TableName].length, 26);

const byStatus = {
  TableName,
  IndexName: "by-status",
  KeyConditionExpression: "#s = :open",
  ExpressionAttributeNames: { "#s": "status" },
  ExpressionAttributeValues: { ":open": "open" },
};
assert.equal((await db.send(new QueryCommand(byStatus))).Count, 25);
const numbers = [];
const ofAnn = { TableName, KeyConditionExpression: "customer = :ann", ExpressionAttributeValues: { ":ann": "ann" } };
for await (const page of paginateQuery({ client: db, pageSize: 10 }, ofAnn)) {
  numbers.push(...page.Items.map((item) => item.number));
}
assert.deepEqual(numbers, Array.from({ length: 26 }, (_, n) => n + 1));

const put = { Put: { TableName, Item: order(99) } };
const remove = { Delete: { TableName, Key: { customer: "ann", number: 2 } } };
await db.send(new TransactWriteCommand({ TransactItems: [put, remove] }));
const check = { TableName, Key: { customer: "ann", number: 2 }, ConditionExpression: "attribute_exists(customer)" };
await assert.rejects(db.send(new TransactWriteCommand({ TransactItems: [put, { ConditionCheck: check }] })), (error) => {
  assert.equal(error.name, "TransactionCanceledException");
  assert.deepEqual(error.CancellationReasons.map((reason) => reason.Code), ["None", "ConditionalCheckFailed"]);
  return true;
});

const { Table } = await client.send(new DescribeTableCommand({ TableName }));
const StreamArn = Table.LatestStreamArn;
const { StreamDescription } = await streams.send(new DescribeStreamCommand({ StreamArn }));
const { ShardId } = StreamDescription.Shards[0];
const start = { StreamArn, ShardId, ShardIteratorType: "TRIM_HORIZON" };
const { ShardIterator } = await streams.send(new GetShardIteratorCommand(start));
const { Records } = await streams.send(new GetRecordsCommand({ ShardIterator }));
assert.equal(Records.length, 29);
await client.send(new DeleteTableCommand({ TableName }));
console.log("done");
