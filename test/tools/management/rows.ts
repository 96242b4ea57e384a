import { AGENT_ROWS } from './agent-rows.ts';
import { APPROVAL_ROWS } from './approval-rows.ts';
import { EXECUTE_ROWS } from './execute-rows.ts';
import { NODE_ROWS } from './node-rows.ts';
import type { Row } from './row.ts';
import { SEARCH_ROWS } from './search-rows.ts';
import { TASK_ROWS } from './task-rows.ts';
import { WORKFLOW_DEPLOY_ROWS } from './workflow-deploy-rows.ts';
import { WORKFLOW_RUN_ROWS } from './workflow-run-rows.ts';

/** What each management tool does and refuses, beyond the form of its arguments. */
export const MANAGEMENT_ROWS: readonly Row[] = [
  ...[...AGENT_ROWS, ...SEARCH_ROWS, ...WORKFLOW_DEPLOY_ROWS, ...WORKFLOW_RUN_ROWS, ...TASK_ROWS],
  ...[...EXECUTE_ROWS, ...NODE_ROWS, ...APPROVAL_ROWS],
];
