// What the page computes from values: decoding, editing, differences. `npm test` runs it.
import assert from "node:assert/strict";
import { test } from "node:test";
import { canonical, equal, hex, isItem, summary, visible } from "../src/values/attribute.ts";
import { differences } from "../src/values/diff.ts";
import { EditError, textOf, valueOf } from "../src/values/edited.ts";
import { csv } from "../src/views/data/export.ts";
import { bytes, dollars, money, percent, ratio } from "../src/numbers.ts";
import { away, seconds } from "../src/times.ts";

test("sets and maps have no order, lists have", () => {
  assert.ok(equal({ SS: ["b", "a"] }, { SS: ["a", "b"] }));
  assert.ok(equal({ M: { a: { N: "1" }, b: { S: "x" } } }, { M: { b: { S: "x" }, a: { N: "1" } } }));
  assert.notEqual(canonical({ L: [{ N: "1" }, { N: "2" }] }), canonical({ L: [{ N: "2" }, { N: "1" }] }));
});

test("a summary is one line without control characters, whatever is inside", () => {
  assert.equal(summary({ S: "a\u0000b\n\u202ec" }), "a\\u0000b\\n\\u202ec");
  assert.equal(summary({ M: { name: { S: "x" }, list: { L: [{ NULL: true }] } } }), "{list: [1], name: x}");
  assert.equal(summary({ S: "x".repeat(400_000) }).length, 120);
  assert.equal(visible("ordinary – ☕ text"), "ordinary – ☕ text");
});

test("binary is hexadecimal", () => {
  assert.equal(hex("AQID/w==", 16), "01 02 03 ff");
  assert.equal(summary({ B: "AQID/w==" }), "4 B: 01 02 03 ff");
});

test("what somebody edits comes back as it was", () => {
  const values = [{ S: "a\nb" }, { N: "1e3" }, { B: "AQ==" }, { SS: ["a", "b"] }, { NS: ["1", "2"] }, { L: [{ M: {} }] }, { M: { a: { BOOL: true } } }];
  for (const value of values) {
    assert.deepEqual(valueOf(Object.keys(value)[0] as "S", textOf(value as { S: string })), value);
  }
});

test("a text that is no value of its type is rejected", () => {
  for (const [type, text] of [["N", "one"], ["B", "*"], ["NS", "1\n1"], ["SS", ""], ["L", "{}"], ["M", '{"a": 1}'], ["M", "{"], ["BOOL", "yes"]] as const) {
    assert.throws(() => valueOf(type, text), EditError, `${type} ${text}`);
  }
});

test("only DynamoDB JSON is an item", () => {
  assert.ok(isItem({ a: { S: "x" }, b: { L: [{ M: {} }] } }));
  for (const wrong of [{ a: "x" }, { a: { S: 1 } }, { a: { S: "x", N: "1" } }, { a: { SS: [] } }, { a: { X: "x" } }, [], null]) {
    assert.ok(!isItem(wrong), JSON.stringify(wrong));
  }
});

test("a difference inside a map names its path", () => {
  const old = { same: { N: "1" }, map: { M: { a: { S: "x" }, b: { N: "1" } } }, gone: { S: "y" } };
  const now = { same: { N: "1" }, map: { M: { a: { S: "z" }, b: { N: "1" } } }, come: { NULL: true } };
  assert.deepEqual(
    differences(old, now).map(({ path, kind }) => `${kind} ${path.join(".")}`),
    ["added come", "removed gone", "changed map.a"],
  );
});

test("a cell of a CSV file runs no formula", () => {
  const row = { item: { a: { S: "=HYPERLINK(1)" }, b: { N: "-5" }, c: { S: 'say "x", please' } } };
  assert.equal(csv([row as never]), 'a,b,c\r\n\'=HYPERLINK(1),-5,"say ""x"", please"\r\n');
});

test("numbers have the digits that matter", () => {
  assert.deepEqual([0, 0.00001, 0.0002, 0.204, 1.5].map(percent), ["0 %", "< 0.01 %", "0.02 %", "20.4 %", "150 %"]);
  assert.deepEqual([0, 2000, 0.5].map(money), ["0.00", "2,000.00", "0.50"]);
  assert.deepEqual([0, 0.004, 0.25, 1.5, 12.34, 12345].map(ratio), ["0", "0.004", "0.25", "1.50", "12.3", "12,345"]);
  assert.deepEqual([0, 999, 1500, 66_100_000].map(bytes), ["0 B", "999 B", "1.50 kB", "66.1 MB"]);
  assert.deepEqual([0, 1e-7, 0.0000016, 0.5, 63.051, 3229.4].map(dollars), ["$0", "< $0.000001", "$0.0000016", "$0.50", "$63.05", "$3,229"]);
  assert.deepEqual([0, 0.00008, 0.0042, 3, 600].map(seconds), ["0 s", "80 µs", "4.20 ms", "3.00 s", "10 min"]);
  assert.equal(away(new Date(30_000), new Date(0)), "in 30 s");
});
