import { z } from 'zod';
import { AgentManifestSchema } from './schema.ts';

/** Key under which the schema is served (spec 3, Schema tools). */
export const AGENT_MANIFEST_KEY = 'agent/manifest/v1';

let made: Readonly<Record<string, unknown>> | null = null;

/** JSON Schema (draft 2020-12) of the document a user writes, derived from the schema that checks it. Made once. */
export function agentJsonSchema(): Readonly<Record<string, unknown>> {
  made ??= { title: 'Agent manifest v1', ...z.toJSONSchema(AgentManifestSchema, { io: 'input' }) };
  return made;
}
