import { z } from 'zod';
import { AGENT_MANIFEST_KEY } from '../../manifests/agent/schema.ts';
import { WORKFLOW_MANIFEST_KEY } from '../../manifests/workflow/json-schema.ts';
import { anyObject, executionId, manifestYaml, started } from '../../usecases/fields.ts';
import {
  generateRequest,
  IntentStarted,
  IntentStatus,
  intentRequest,
  promptRequest,
} from '../../usecases/intent-request.ts';
import { defineContract, reading, starting, toolArguments } from '../contract/arguments.ts';
import { AGENT_CONTRACTS } from './agent/contracts.ts';
import { APPROVAL_CONTRACTS } from './approval/contracts.ts';
import { agentWait, TASK_CONTRACTS } from './task/contracts.ts';
import { TRACE_CONTRACTS } from './trace/contracts.ts';
import { WORKFLOW_DEPLOY_CONTRACTS } from './workflow/deploy-contracts.ts';
import { WORKFLOW_RUN_CONTRACTS, workflowWait } from './workflow/run-contracts.ts';

export const agentGenerate = defineContract({
  ...starting,
  result: started,
  name: 'svc.agent.generate',
  description:
    'Has an agent written from a description in plain words, checked and deployed. Answers at once; svc.agent.wait waits for ' +
    'the end, and its last_output names the agent.',
  input: toolArguments(generateRequest),
});

export const workflowGenerate = defineContract({
  ...starting,
  result: started,
  name: 'svc.workflow.generate',
  description:
    'Has a workflow written from a description in plain words, checked, judged and deployed. Answers at once; svc.task.wait ' +
    'waits for the end, and its last_output names the workflow.',
  input: toolArguments(generateRequest),
});

const GENERATE_CONTRACTS = [agentGenerate, workflowGenerate] as const;

export const systemInfo = defineContract({
  ...reading,
  name: 'svc.system.info',
  description: 'Tells the version of the node, whether it is healthy, and the tools you may use.',
  input: toolArguments({}),
  result: z.strictObject({
    version: z.string(),
    status: z.enum(['healthy', 'unhealthy']),
    capabilities: z.array(z.string()).describe('Names of enabled tools.'),
  }),
});

export const systemConfig = defineContract({
  ...reading,
  name: 'svc.system.config',
  description: 'Shows the configuration of the node as it was read at its start, without secrets.',
  input: toolArguments({}),
  result: z.strictObject({
    config_path: z.string().nullable().describe('Null when no file was read.'),
    content_yaml: z.string(),
  }),
});

const SYSTEM_CONTRACTS = [systemInfo, systemConfig] as const;

export const runtimeList = defineContract({
  ...reading,
  name: 'svc.runtime.list',
  description:
    'Lists the languages and versions that an agent may name in spec.runtime. Look here before you write one.',
  input: toolArguments({ language: z.string().min(1).max(50).optional().describe('Only this language.') }),
  result: z.strictObject({
    tool: z.literal('svc.runtime.list'),
    runtimes: z.array(
      z.strictObject({
        language: z.string(),
        version: z.string(),
        image: z.string(),
        description: z.string(),
        deprecated: z.boolean(),
      }),
    ),
    custom_runtime_supported: z.boolean(),
  }),
});

const RUNTIME_CONTRACTS = [runtimeList] as const;

export const schemaGet = defineContract({
  ...reading,
  name: 'svc.schema.get',
  description: 'Answers the JSON Schema of agent manifests or of workflow manifests.',
  input: toolArguments({ key: z.enum([AGENT_MANIFEST_KEY, WORKFLOW_MANIFEST_KEY]) }),
  result: anyObject,
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
});

const SCHEMA_CONTRACTS = [schemaGet, schemaValidate] as const;

export const executeIntent = defineContract({
  ...starting,
  name: 'svc.execute.intent',
  description:
    'Reaches a goal by a program: finds or makes an agent that writes it, runs it in a container without a network, and ' +
    'answers at once; wait for the result with svc.execute.wait and read it with svc.execute.status.',
  input: toolArguments(intentRequest),
  result: IntentStarted,
});

export const execute = defineContract({
  ...starting,
  name: 'svc.execute',
  description: 'Reaches a goal, given in plain words, by a program: svc.execute.intent with its defaults.',
  input: toolArguments(promptRequest),
  result: IntentStarted,
});

export const executeStatus = defineContract({
  ...reading,
  name: 'svc.execute.status',
  description: 'Says how svc.execute.intent stands, and its result when it has completed.',
  input: toolArguments({ pipeline_execution_id: executionId }),
  result: IntentStatus,
});

/** The pipeline is a workflow, so waiting for it is waiting for a workflow. */
export const executeWait = defineContract({
  ...workflowWait,
  name: 'svc.execute.wait',
});

const EXECUTE_CONTRACTS = [execute, executeIntent, executeStatus, executeWait] as const;

/** Contracts of all management tools (W34–W41). */
export const MANAGEMENT_CONTRACTS = [
  ...AGENT_CONTRACTS,
  agentWait,
  ...WORKFLOW_DEPLOY_CONTRACTS,
  ...WORKFLOW_RUN_CONTRACTS,
  ...TASK_CONTRACTS,
  ...GENERATE_CONTRACTS,
  ...EXECUTE_CONTRACTS,
  ...SYSTEM_CONTRACTS,
  ...SCHEMA_CONTRACTS,
  ...RUNTIME_CONTRACTS,
  ...TRACE_CONTRACTS,
  ...APPROVAL_CONTRACTS,
] as const;
