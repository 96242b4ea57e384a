import { z } from 'zod';
import { AGENT_MANIFEST_KEY, agentJsonSchema } from '../../../manifests/agent/json-schema.ts';
import { WORKFLOW_MANIFEST_KEY, workflowJsonSchema } from '../../../manifests/workflow/json-schema.ts';
import { WorkflowManifestSchema } from '../../../manifests/workflow/schema.ts';
import type { Json, JsonObject } from '../../../runtime/json.ts';

export type SchemaKey = typeof AGENT_MANIFEST_KEY | typeof WORKFLOW_MANIFEST_KEY;

const made = new Map<SchemaKey, JsonObject>();

/**
 * The schema of a manifest, made once. As small as it can be said: of a large result a model is shown the beginning alone
 * (`STORED_ABOVE_BYTES`), and it has to see all of this one.
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

/** Without what another word says already: that names are text, and the type beside its values. */
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
