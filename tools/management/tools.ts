import type { Tool } from '../tool.ts';
import { agentTools } from './agent/tools.ts';
import { executeTools } from './execute/tools.ts';
import { generateTools } from './generate/tools.ts';
import type { LateManagement } from './ports.ts';
import { taskTools } from './task/tools.ts';
import { workflowDeployTools } from './workflow/deploy-tools.ts';
import { workflowRunTools } from './workflow/run-tools.ts';

/** Handlers of the management tools. */
export const managementTools = (late: LateManagement): Tool[] => [
  ...agentTools(late),
  ...workflowDeployTools(late),
  ...workflowRunTools(late),
  ...taskTools(late),
  ...generateTools(late),
  ...executeTools(late),
];
