// A Query or a Scan as DynamoDB takes it, from what a person has filled in.
import type { KeyAttribute, Table } from "../../api/types.ts";
import type { AttributeValue, Item } from "../../values/attribute.ts";
import { valueOf } from "../../values/edited.ts";

export const SORT_OPERATORS = ["any", "=", "<", "<=", ">", ">=", "between", "begins_with"] as const;
export const FILTER_OPERATORS = ["=", "<>", "<", "<=", ">", ">=", "begins_with", "contains", "attribute_exists", "attribute_not_exists"] as const;

export interface Filter {
  attribute: string;
  operator: (typeof FILTER_OPERATORS)[number];
  type: "S" | "N" | "B" | "BOOL";
  text: string;
}

export interface RawForm {
  operation: "Query" | "Scan" | "ExecuteStatement";
  index: string;
  partition: string;
  sort: (typeof SORT_OPERATORS)[number];
  from: string;
  to: string;
  filters: Filter[];
  descending: boolean;
  limit: number;
  statement: string;
}

export const EMPTY_FORM: RawForm = {
  operation: "Scan",
  index: "",
  partition: "",
  sort: "any",
  from: "",
  to: "",
  filters: [],
  descending: false,
  limit: 100,
  statement: "",
};

export function keyOf(table: Table, index: string): KeyAttribute[] {
  return table.indexes.find(({ name }) => name === index)?.key ?? table.key;
}

/** Raises EditError if a value has not the form of its type. */
export function requestOf(table: Table, form: RawForm): Record<string, unknown> {
  if (form.operation === "ExecuteStatement") return { Statement: form.statement, Limit: form.limit };
  const names: Record<string, string> = {};
  const values: Item = {};
  const request: Record<string, unknown> = { TableName: table.name };
  if (form.index !== "") request.IndexName = form.index;
  if (form.operation === "Query") {
    request.KeyConditionExpression = keyCondition(keyOf(table, form.index), form, names, values);
    if (form.descending) request.ScanIndexForward = false;
  }
  const filters = form.filters.filter((each) => each.attribute !== "").map((each, place) => filter(each, place, names, values));
  if (filters.length > 0) request.FilterExpression = filters.join(" AND ");
  if (Object.keys(names).length > 0) request.ExpressionAttributeNames = names;
  if (Object.keys(values).length > 0) request.ExpressionAttributeValues = values;
  request.Limit = form.limit;
  return request;
}

function keyCondition(key: KeyAttribute[], form: RawForm, names: Record<string, string>, values: Item): string {
  const [partition, sort] = [key.find(({ role }) => role === "HASH")!, key.find(({ role }) => role === "RANGE")];
  names["#p"] = partition.name;
  values[":p"] = valueOf(partition.type, form.partition);
  if (!sort || form.sort === "any") return "#p = :p";
  names["#s"] = sort.name;
  values[":a"] = valueOf(sort.type, form.from);
  if (form.sort === "between") {
    values[":b"] = valueOf(sort.type, form.to);
    return "#p = :p AND #s BETWEEN :a AND :b";
  }
  return form.sort === "begins_with" ? "#p = :p AND begins_with(#s, :a)" : `#p = :p AND #s ${form.sort} :a`;
}

function filter({ attribute, operator, type, text }: Filter, place: number, names: Record<string, string>, values: Item): string {
  const [name, value] = [`#f${place}`, `:f${place}`];
  names[name] = attribute;
  if (operator === "attribute_exists" || operator === "attribute_not_exists") return `${operator}(${name})`;
  values[value] = valueOf(type, text) as AttributeValue;
  return operator === "begins_with" || operator === "contains" ? `${operator}(${name}, ${value})` : `${name} ${operator} ${value}`;
}
