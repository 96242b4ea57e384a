import { z } from 'zod';
import { readAgentManifest, readWorkflowManifest } from '../../../catalog/manifest-reading.ts';
import { AGENT_MANIFEST_KEY, agentJsonSchema } from '../../../manifests/agent/schema.ts';
import type { Problem } from '../../../manifests/schema-problems.ts';
import { WORKFLOW_MANIFEST_KEY, workflowJsonSchema } from '../../../manifests/workflow/json-schema.ts';
import type { Json, JsonObject } from '../../../runtime/json.ts';
import type { LateManagement } from '../../../usecases/management.ts';
import type { Tool } from '../../tool.ts';
import { schemaGet, schemaValidate } from '../contracts.ts';
import { managed } from '../managed.ts';

const PARSERS = { agent: readAgentManifest, workflow: readWorkflowManifest } as const;

/** svc.schema.* (W41). The schemas and checks come from the zod schemas that a deploy uses. */
export function schemaTools(late: LateManagement): Tool[] {
  const define = managed(late);
  return [
    define(schemaGet, async ({ key }) => manifestSchema(key)),
    define(schemaValidate, async ({ kind, manifest_yaml }) => {
      const parsed = await PARSERS[kind](manifest_yaml);
      return parsed.ok ? { valid: true } : { valid: false, errors: parsed.problems.map(problemEntry) };
    }),
  ];
}

const problemEntry = ({ path, line, column, message }: Problem) => ({ path, line, column, message });

type SchemaKey = typeof AGENT_MANIFEST_KEY | typeof WORKFLOW_MANIFEST_KEY;

const MAKERS: Readonly<Record<SchemaKey, () => object>> = {
  [AGENT_MANIFEST_KEY]: agentJsonSchema,
  [WORKFLOW_MANIFEST_KEY]: workflowJsonSchema,
};

const made = new Map<SchemaKey, JsonObject>();

/**
 * The JSON Schema of a manifest, made once and kept as short as possible: a model sees only the beginning of a large
 * result (`STORED_ABOVE_BYTES`) and needs the whole schema.
 */
function manifestSchema(key: SchemaKey): JsonObject {
  const known = made.get(key);
  if (known !== undefined) return known;
  const plain = z.record(z.string(), z.json()).parse(withoutRepeats(JSON.parse(JSON.stringify(MAKERS[key]()))));
  const schema = saidOnce(plain);
  made.set(key, schema);
  return schema;
}

/** Removes redundant keywords: `propertyNames` that allow any text, and the type of values that are listed. */
function withoutRepeats(value: Json): Json {
  if (Array.isArray(value)) return value.map(withoutRepeats);
  if (value === null || typeof value !== 'object') return value;
  const saysValues = 'const' in value || Array.isArray(value.enum);
  const entries = Object.entries(value).filter(
    ([key, one]) => !(key === 'propertyNames' && isAnyText(one)) && !(key === 'type' && saysValues && one === 'string'),
  );
  return Object.fromEntries(entries.map(([key, one]) => [key, withoutRepeats(one)]));
}

const isAnyText = (value: Json): boolean => JSON.stringify(value) === '{"type":"string"}';

/** Shortest part that is moved to `$defs`: a reference to a shorter one would be longer. */
const WORTH_CHARS = 70;

/** Moves repeated parts of a JSON Schema to `$defs`. The meaning does not change. */
function saidOnce(schema: JsonObject): JsonObject {
  const counts = new Map<string, number>();
  count(schema, counts);
  const names = new Map<string, string>();
  const definitions: JsonObject = {};
  const shortened = (value: Json, isTop: boolean): Json => {
    if (Array.isArray(value)) return value.map((one) => shortened(one, false));
    if (value === null || typeof value !== 'object') return value;
    const text = JSON.stringify(value);
    const members = () => Object.fromEntries(Object.entries(value).map(([key, one]) => [key, shortened(one, false)]));
    if (isTop || !isSchema(value) || text.length < WORTH_CHARS || (counts.get(text) ?? 0) < 2) return members();
    const known = names.get(text) ?? `s${names.size}`;
    if (!names.has(text)) {
      names.set(text, known);
      definitions[known] = members();
    }
    return { $ref: `#/$defs/${known}` };
  };
  const short = shortened(schema, true);
  if (short === null || typeof short !== 'object' || Array.isArray(short)) return schema;
  const { $defs } = short;
  const own = typeof $defs === 'object' && $defs !== null && !Array.isArray($defs) ? $defs : {};
  return { ...short, $defs: { ...own, ...definitions } };
}

function count(value: Json, counts: Map<string, number>): void {
  if (value === null || typeof value !== 'object') return;
  if (!Array.isArray(value)) {
    const text = JSON.stringify(value);
    counts.set(text, (counts.get(text) ?? 0) + 1);
  }
  for (const one of Object.values(value)) count(one, counts);
}

/** Whether an object is a schema and not a map of properties, where `type` may be a property name. */
const isSchema = (value: JsonObject): boolean =>
  typeof value.type === 'string' || Array.isArray(value.anyOf) || Array.isArray(value.oneOf);
