import type { Json, JsonObject } from '../../json-schema/json.ts';
import { ANY, PLAIN, type Shape } from './shape.ts';

/** Keywords by which a value may have more than `properties` says. */
const OPEN = ['$ref', '$dynamicRef', 'allOf', 'anyOf', 'oneOf', 'if', 'patternProperties', 'dependentSchemas', 'not'];

/**
 * What `metadata.input_schema` declares. Undeclared keys count as unknown, although JSON Schema lets them pass, unless
 * the schema says `additionalProperties` itself or is put together from others.
 */
export function inputShape(schema: JsonObject | undefined): Shape {
  return schema === undefined ? ANY : shapeOf(schema);
}

function shapeOf(schema: Json | undefined): Shape {
  if (!isObject(schema) || OPEN.some((keyword) => Object.hasOwn(schema, keyword))) return ANY;
  const { type } = schema;
  if (type === 'object') {
    const { properties, additionalProperties: more } = schema;
    if (!isObject(properties) || (more !== undefined && more !== false)) return ANY;
    return { is: 'map', fields: new Map(Object.entries(properties).map(([key, inner]) => [key, shapeOf(inner)])) };
  }
  if (type === 'array') return { is: 'list', item: shapeOf(isObject(schema.items) ? schema.items : undefined) };
  return type === 'string' || type === 'number' || type === 'integer' || type === 'boolean' ? PLAIN : ANY;
}

const isObject = (value: Json | undefined): value is JsonObject =>
  typeof value === 'object' && value !== null && !Array.isArray(value);
