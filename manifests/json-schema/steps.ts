import type { KeywordDefinition } from 'ajv';
import type { Json, JsonObject } from './json.ts';

/**
 * Bounds the work of one schema check. Without references the work is at most schema size times data size; a schema
 * that refers to itself in two branches doubles it with each level, so every reference followed counts a step.
 */
const MAX_STEPS = 200_000;
const KEYWORD = 'svc-step';

export class StepsExceeded extends Error {
  override readonly name = 'StepsExceeded';
  constructor() {
    super(`the schema follows more than ${MAX_STEPS} references for this value`);
  }
}

/** Steps left for the check that runs now; a check is synchronous, so there is only ever one. */
let left = 0;

export function countSteps<T>(check: () => T): T {
  left = MAX_STEPS;
  return check();
}

export const stepKeyword: KeywordDefinition = {
  keyword: KEYWORD,
  schemaType: 'boolean',
  before: '$ref',
  validate: () => {
    left -= 1;
    if (left < 0) throw new StepsExceeded();
    return true;
  },
};

const MAPS = new Set(['properties', 'patternProperties', '$defs', 'definitions', 'dependentSchemas', 'dependencies']);
const DATA = new Set(['enum', 'const', 'default', 'examples']);

/** A copy of the schema in which everything that holds a reference also counts. */
export function withSteps(schema: JsonObject): JsonObject {
  const copy: JsonObject = {};
  for (const [key, value] of Object.entries(schema)) {
    if (DATA.has(key)) copy[key] = value;
    else if (MAPS.has(key) && isObject(value)) copy[key] = mapValues(value);
    else copy[key] = inside(value);
  }
  if (typeof schema.$ref === 'string' || typeof schema.$dynamicRef === 'string') copy[KEYWORD] = true;
  return copy;
}

function mapValues(map: JsonObject): JsonObject {
  return Object.fromEntries(Object.entries(map).map(([name, value]) => [name, inside(value)]));
}

function inside(value: Json): Json {
  if (Array.isArray(value)) return value.map(inside);
  return isObject(value) ? withSteps(value) : value;
}

function isObject(value: Json): value is JsonObject {
  return value !== null && typeof value === 'object' && !Array.isArray(value);
}
