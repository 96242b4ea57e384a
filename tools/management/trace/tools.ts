import type { LateManagement } from '../../../usecases/management.ts';
import type { Tool } from '../../tool.ts';
import { managed } from '../managed.ts';
import { traceWhy } from './contracts.ts';

/** svc.trace.*: what an agent needs to debug a run. */
export function traceTools(late: LateManagement): Tool[] {
  const define = managed(late);
  return [define(traceWhy, ({ execution_id }, { ports, identity }) => ports.why.run(identity, execution_id))];
}
