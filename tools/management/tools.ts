import type { Listing } from '../discovery/tools.ts';
import type { Tool } from '../tool.ts';
import { agentTools } from './agent/tools.ts';
import { executeTools } from './execute/tools.ts';
import { generateTools } from './generate/tools.ts';
import type { LateManagement } from './ports.ts';
import { runtimeTools } from './runtime/tools.ts';
import { schemaTools } from './schema/tools.ts';
import { systemTools } from './system/tools.ts';
import { taskTools } from './task/tools.ts';
import { workflowDeployTools } from './workflow/deploy-tools.ts';
import { workflowRunTools } from './workflow/run-tools.ts';

/** Handlers of the management tools. `listing` says what a scope shows. */
export const managementTools = (late: LateManagement, listing: Listing): Tool[] => [
  ...agentTools(late),
  ...workflowDeployTools(late),
  ...workflowRunTools(late),
  ...taskTools(late),
  ...generateTools(late),
  ...executeTools(late),
  ...systemTools(late, listing),
  ...schemaTools(late),
  ...runtimeTools(late),
];
