import { z } from 'zod';
import { AgentManifestSchema } from './schema.ts';

/** Key under which the schema is served (spec 3, Schema tools). */
export const AGENT_MANIFEST_KEY = 'agent/manifest/v1';

/** JSON Schema (draft 2020-12) of the document a user writes, derived from the schema that checks it. */
export const agentManifestJsonSchema = {
  title: 'Agent manifest v1',
  ...z.toJSONSchema(AgentManifestSchema, { io: 'input' }),
};
