import type { LateManagement } from '../../../usecases/management.ts';
import type { Tool } from '../../tool.ts';
import { managed } from '../managed.ts';
import { traceGet, traceWhy } from './contracts.ts';

/** svc.trace.*: what an agent needs to debug a run. */
export function traceTools(late: LateManagement): Tool[] {
  const define = managed(late);
  return [
    define(traceWhy, ({ execution_id }, { ports, identity }) => ports.why.run(identity, execution_id)),
    define(traceGet, ({ execution_id, trace_id, ...page }, { ports, identity }) =>
      trace_id === undefined
        ? ports.traces.ofRun(identity, execution_id, page)
        : ports.traces.page(identity, trace_id, page),
    ),
  ];
}
