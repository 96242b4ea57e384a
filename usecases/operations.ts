import { AGENT_OPERATIONS } from './operations/agents.ts';
import { API_KEY_OPERATIONS } from './operations/api-keys.ts';
import { APPROVAL_OPERATIONS } from './operations/approvals.ts';
import { EXECUTION_OPERATIONS } from './operations/executions.ts';
import { FAULT_OPERATIONS } from './operations/faults.ts';
import { JOIN_TOKEN_OPERATIONS } from './operations/join-tokens.ts';
import type { Operation } from './operations/operation.ts';
import { PATTERN_OPERATIONS } from './operations/patterns.ts';
import { RATE_LIMIT_OPERATIONS } from './operations/rate-limits.ts';
import { SECRET_OPERATIONS } from './operations/secrets.ts';
import { STIMULUS_OPERATIONS } from './operations/stimuli.ts';
import { VOLUME_OPERATIONS } from './operations/volumes.ts';
import { WORKFLOW_EXECUTION_OPERATIONS } from './operations/workflow-executions.ts';
import { WORKFLOW_OPERATIONS } from './operations/workflows.ts';

/** THE table: what callers can ask, each once. REST serves its routes by walking it, and the API description is made of it. */
export const OPERATIONS: readonly Operation[] = [
  ...AGENT_OPERATIONS,
  ...EXECUTION_OPERATIONS,
  ...WORKFLOW_OPERATIONS,
  ...WORKFLOW_EXECUTION_OPERATIONS,
  ...APPROVAL_OPERATIONS,
  ...STIMULUS_OPERATIONS,
  ...VOLUME_OPERATIONS,
  ...PATTERN_OPERATIONS,
  ...API_KEY_OPERATIONS,
  ...RATE_LIMIT_OPERATIONS,
  ...SECRET_OPERATIONS,
  ...JOIN_TOKEN_OPERATIONS,
  ...FAULT_OPERATIONS,
];
