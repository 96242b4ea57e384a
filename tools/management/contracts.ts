import { AGENT_CONTRACTS } from './agent/contracts.ts';
import { EXECUTE_CONTRACTS } from './execute/contracts.ts';
import { GENERATE_CONTRACTS } from './generate/contracts.ts';
import { RUNTIME_CONTRACTS } from './runtime/contracts.ts';
import { SCHEMA_CONTRACTS } from './schema/contracts.ts';
import { SYSTEM_CONTRACTS } from './system/contracts.ts';
import { agentWait, TASK_CONTRACTS } from './task/contracts.ts';
import { WORKFLOW_DEPLOY_CONTRACTS } from './workflow/deploy-contracts.ts';
import { WORKFLOW_RUN_CONTRACTS } from './workflow/run-contracts.ts';

/** Every management tool (spec 3, svc.*), each once. */
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
] as const;

/** Tools that start a run: the call may be repeated, and is no reading (conduct.ts). */
const STARTING: ReadonlySet<string> = new Set(
  MANAGEMENT_CONTRACTS.filter(({ mode, reads }) => mode === 'repeatable' && !reads).map(({ name }) => name),
);

/** Whether a call of this tool brings a run. */
export const startsRun = (tool: string): boolean => STARTING.has(tool);
