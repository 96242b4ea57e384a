import { z } from 'zod';
import { AGENT_MANIFEST_KEY, agentJsonSchema } from '../../../manifests/agent/json-schema.ts';
import { WORKFLOW_MANIFEST_KEY, workflowJsonSchema } from '../../../manifests/workflow/json-schema.ts';
import type { Json, JsonObject } from '../../../runtime/json.ts';
import { saidOnce } from './said-once.ts';

export type SchemaKey = typeof AGENT_MANIFEST_KEY | typeof WORKFLOW_MANIFEST_KEY;

const MAKERS: Readonly<Record<SchemaKey, () => object>> = {
  [AGENT_MANIFEST_KEY]: agentJsonSchema,
  [WORKFLOW_MANIFEST_KEY]: workflowJsonSchema,
};

const made = new Map<SchemaKey, JsonObject>();

/**
 * The schema of a manifest, made once. As small as it can be said: of a large result a model is shown the beginning alone
 * (`STORED_ABOVE_BYTES`), and it has to see all of this one.
 */
export function manifestSchema(key: SchemaKey): JsonObject {
  const known = made.get(key);
  if (known !== undefined) return known;
  const plain = z.record(z.string(), z.json()).parse(withoutRepeats(JSON.parse(JSON.stringify(MAKERS[key]()))));
  const schema = saidOnce(plain);
  made.set(key, schema);
  return schema;
}

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
