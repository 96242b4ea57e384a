import { z } from 'zod';
import { AGENT_MANIFEST_KEY } from '../../../manifests/agent/json-schema.ts';
import { WORKFLOW_MANIFEST_KEY } from '../../../manifests/workflow/json-schema.ts';
import { toolArguments } from '../../contract/arguments.ts';
import { defineContract } from '../../contract/define-contract.ts';
import { skipsJudge } from '../../contract/judge-defaults.ts';
import { reading } from '../conduct.ts';
import { manifestYaml } from '../fields.ts';
import { anyObject } from '../results.ts';

export const schemaGet = defineContract({
  ...reading,
  name: 'svc.schema.get',
  description: 'Answers the JSON Schema of agent manifests or of workflow manifests.',
  input: toolArguments({ key: z.enum([AGENT_MANIFEST_KEY, WORKFLOW_MANIFEST_KEY]) }),
  result: anyObject,
  skipJudge: skipsJudge('svc.schema.get'),
});

export const schemaValidate = defineContract({
  ...reading,
  name: 'svc.schema.validate',
  description: 'Says whether a manifest is valid, and where it is not. Nothing is deployed.',
  input: toolArguments({ kind: z.enum(['agent', 'workflow']), manifest_yaml: manifestYaml }),
  result: z.strictObject({
    valid: z.boolean(),
    errors: z
      .array(z.strictObject({ path: z.string(), line: z.int(), column: z.int(), message: z.string() }))
      .optional(),
  }),
  skipJudge: skipsJudge('svc.schema.validate'),
});

export const SCHEMA_CONTRACTS = [schemaGet, schemaValidate] as const;
