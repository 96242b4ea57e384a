import { z } from 'zod';
import { AGENT_MANIFEST_KEY, agentJsonSchema } from '../../../manifests/agent/json-schema.ts';
import { WORKFLOW_MANIFEST_KEY, workflowJsonSchema } from '../../../manifests/workflow/json-schema.ts';
import { WorkflowManifestSchema } from '../../../manifests/workflow/schema.ts';
import type { Json, JsonObject } from '../../../runtime/json.ts';

export type SchemaKey = typeof AGENT_MANIFEST_KEY | typeof WORKFLOW_MANIFEST_KEY;

const made = new Map<SchemaKey, JsonObject>();

/**
 * The schema of a manifest, made once. As small as it can be said: a model is shown the beginning of a large result, and
 * has to see all of it.
 */
export function manifestSchema(key: SchemaKey): JsonObject {
  const known = made.get(key);
  if (known !== undefined) return known;
  const schema = z.record(z.string(), z.json()).parse(withoutRepeats(JSON.parse(JSON.stringify(MAKERS[key]()))));
  made.set(key, schema);
  return schema;
}

const MAKERS: Readonly<Record<SchemaKey, () => object>> = {
  [AGENT_MANIFEST_KEY]: agentJsonSchema,
  // What kinds of states share is said once.
  [WORKFLOW_MANIFEST_KEY]: () => ({
    title: workflowJsonSchema().title,
    ...z.toJSONSchema(WorkflowManifestSchema, { io: 'input', reused: 'ref' }),
  }),
};

/** Without `propertyNames: {type: string}`, which is so of every JSON object. */
function withoutRepeats(value: Json): Json {
  if (Array.isArray(value)) return value.map(withoutRepeats);
  if (value === null || typeof value !== 'object') return value;
  const entries = Object.entries(value).filter(([key, one]) => key !== 'propertyNames' || !isAnyText(one));
  return Object.fromEntries(entries.map(([key, one]) => [key, withoutRepeats(one)]));
}

const isAnyText = (value: Json): boolean => JSON.stringify(value) === '{"type":"string"}';
