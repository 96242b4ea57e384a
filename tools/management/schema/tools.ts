import { parseAgentManifest } from '../../../manifests/agent/parse.ts';
import type { Problem } from '../../../manifests/problem.ts';
import { parseWorkflowManifest } from '../../../manifests/workflow/parse.ts';
import type { Tool } from '../../tool.ts';
import { managed } from '../managed.ts';
import type { LateManagement } from '../ports.ts';
import { schemaGet, schemaValidate } from './contracts.ts';
import { manifestSchema } from './schemas.ts';

const PARSERS = { agent: parseAgentManifest, workflow: parseWorkflowManifest } as const;

/** svc.schema.* (spec 3): the schemas and checks that a deploy goes through, from the same zod schemas. */
export function schemaTools(late: LateManagement): Tool[] {
  const define = managed(late);
  return [
    define(schemaGet, async ({ key }) => manifestSchema(key)),
    define(schemaValidate, async ({ kind, manifest_yaml }) => {
      const parsed = PARSERS[kind](manifest_yaml);
      return parsed.ok ? { valid: true } : { valid: false, errors: parsed.problems.map(told) };
    }),
  ];
}

const told = ({ path, line, column, message }: Problem) => ({ path, line, column, message });
