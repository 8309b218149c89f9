/** Reading JSON schemas: what a field takes, in a form's terms and in words. */

import type { Json, Schema } from "../data";

export type Shape = "text" | "number" | "integer" | "boolean" | "choice" | "list" | "date" | "time" | "json";

export interface Field {
  shape: Shape;
  schema: Schema;
  nullable: boolean;
  choices: Json[];
}

const followed = (schema: Schema, root: Schema): Schema => {
  const name = schema.$ref?.match(/^#\/\$defs\/(.+)$/)?.[1];
  return name ? { ...root.$defs?.[name], ...schema } : schema;
};

/** What to show for a field; null is the same as leaving it out. */
export function fieldOf(given: Schema, root: Schema): Field {
  let schema = followed(given, root);
  const options = (schema.anyOf ?? schema.oneOf ?? []).map((one) => followed(one, root));
  const real = options.filter((one) => one.type !== "null");
  let nullable = options.length > real.length;
  if (real.length === 1) schema = { ...schema, ...real[0] };
  else if (real.length && real.every((one) => one.enum)) schema = { ...schema, enum: real.flatMap((one) => one.enum ?? []) };
  const types = Array.isArray(schema.type) ? schema.type : schema.type ? [schema.type] : [];
  nullable ||= types.includes("null");
  const type = types.find((one) => one !== "null");
  const choices = (schema.enum ?? []).filter((value) => value !== null);
  return { shape: shapeOf(schema, type, choices), schema, nullable, choices };
}

function shapeOf(schema: Schema, type: string | undefined, choices: Json[]): Shape {
  if (choices.length) return "choice";
  if (type === "boolean" || type === "integer" || type === "number") return type;
  if (type === "array") return "list";
  if (type === "string") return schema.format === "date" ? "date" : schema.format === "date-time" ? "time" : "text";
  return "json";
}

/** What a schema allows, in a few words. */
export function allows(schema: Schema): string {
  const said: string[] = [];
  const field = fieldOf(schema, schema);
  said.push({ text: "text", list: "list", choice: "one of", date: "date", time: "date and time, UTC", json: "JSON" }[field.shape as string] ?? field.shape);
  if (field.choices.length) said[0] = field.choices.map(String).join(" | ");
  const { minimum, maximum, exclusiveMinimum, maxLength, maxItems, multipleOf } = field.schema;
  if (exclusiveMinimum !== undefined) said.push(`> ${exclusiveMinimum}`);
  if (minimum !== undefined) said.push(`≥ ${minimum}`);
  if (maximum !== undefined) said.push(`≤ ${maximum.toLocaleString("en")}`);
  if (multipleOf !== undefined) said.push(`steps of ${multipleOf}`);
  if (maxLength !== undefined && maxLength !== 200) said.push(`up to ${maxLength} characters`);
  if (maxItems !== undefined) said.push(`up to ${maxItems}`);
  if (schema.default !== undefined && schema.default !== "") said.push(`default ${JSON.stringify(schema.default)}`);
  return said.join(", ");
}
