import { z } from 'zod';
import { WorkflowManifestSchema } from './schema.ts';

/** Key under which the schema is served (W41). */
export const WORKFLOW_MANIFEST_KEY = 'workflow/manifest/v1';

let made: Readonly<Record<string, unknown>> | null = null;

/**
 * JSON Schema (draft 2020-12) of the document that users write, derived from the schema that validates it. Built once.
 */
export function workflowJsonSchema(): Readonly<Record<string, unknown>> {
  made ??= { title: 'Workflow manifest v1', ...z.toJSONSchema(WorkflowManifestSchema, { io: 'input' }) };
  return made;
}
