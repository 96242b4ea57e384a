import { AGENT_CONTRACTS } from './agent/contracts.ts';
import { EXECUTE_CONTRACTS } from './execute/contracts.ts';
import { GENERATE_CONTRACTS } from './generate/contracts.ts';
import { agentWait, TASK_CONTRACTS } from './task/contracts.ts';

/** Every management tool (spec 3, svc.*), each once. */
export const MANAGEMENT_CONTRACTS = [
  ...AGENT_CONTRACTS,
  agentWait,
  ...TASK_CONTRACTS,
  ...GENERATE_CONTRACTS,
  ...EXECUTE_CONTRACTS,
] as const;
