import { requireRole } from '../../../security/api.ts';
import { type AskedWait, endWait } from '../../../usecases/fields.ts';
import { type LateManagement, readerOf, unless } from '../../../usecases/management.ts';
import { taskInput } from '../../../usecases/starts/start-execution.ts';
import type { Tool } from '../../tool.ts';
import { type ManagedCall, managed } from '../managed.ts';
import {
  agentWait,
  taskCancel,
  taskExecute,
  taskList,
  taskLogs,
  taskRemove,
  taskStatus,
  taskWait,
} from './contracts.ts';

/** svc.task.* and svc.agent.wait over `ExecutionApi` (W36). */
export function taskTools(late: LateManagement): Tool[] {
  const define = managed(late);
  return [
    define(taskExecute, async ({ agent_id, intent, input, version }, { ports, identity, call }) => {
      const { trace, signal, id: executionId } = call;
      const asked = { agent: agent_id, ...taskInput(intent, input), version };
      const { execution_id } = await ports.starts.agent(asked, { identity, trace, signal, executionId });
      return { execution_id, status: 'started' };
    }),

    define(taskStatus, ({ execution_id }, { ports, identity }) => ports.executions.status(identity, execution_id)),

    define(taskWait, waitForTask),
    define(agentWait, waitForTask),

    define(taskList, async ({ agent_id, limit }, { ports, identity }) => {
      const agentId = agent_id === undefined ? undefined : await idOf({ ports, identity }, agent_id);
      const { items: found } = await ports.executions.list(identity, { limit, agentId });
      return {
        executions: found.map(({ execution_id: id, agent_id: of, status, started_at }) => ({
          id,
          agent_id: of,
          status,
          started_at,
        })),
      };
    }),

    define(taskLogs, async ({ execution_id, limit, offset }, { ports, identity }) => {
      const log = await ports.executions.logs(identity, execution_id, { limit, offset });
      return { tool: 'svc.task.logs', execution_id, ...log, limit, offset };
    }),

    define(taskCancel, async ({ execution_id }, { ports, identity, call: { trace, signal } }) => {
      await ports.executions.cancel(identity, execution_id, { identity, trace, signal });
      return { execution_id, cancelled: true };
    }),

    define(taskRemove, async ({ execution_id }, { ports, identity }) => {
      // Throws for an unknown id before the role check, whatever the caller's role.
      await ports.executions.hasEnded(identity, execution_id);
      requireRole(identity, 'write');
      await ports.executions.remove(identity, execution_id);
      return { execution_id, removed: true };
    }),
  ];
}

/** Waits for an execution. The wait keeps no resources: the tool is called again afterwards. */
async function waitForTask(
  { execution_id, ...asked }: AskedWait & { readonly execution_id: string },
  { ports, identity, call }: ManagedCall,
): Promise<object> {
  const { tenant } = identity;
  // Throws for an execution that the caller may not see, before the wait begins.
  if (call.resumed === undefined) await ports.executions.hasEnded(identity, execution_id);
  const ended = call.waitedFor((signal) => ports.waits.execution(tenant, execution_id, endWait(asked, call, signal)));
  const status = await ports.executions.status(identity, execution_id);
  return ended || status.ended_at !== null ? status : { ...status, status: 'timed_out' };
}

/** The id of an agent. An id that is no longer deployed is accepted, since executions outlive their agent. */
async function idOf({ ports, identity }: Omit<ManagedCall, 'call'>, idOrName: string): Promise<string> {
  const found = await unless('not_found', ports.agents.get(readerOf(identity), idOrName));
  return found?.agent_id ?? idOrName.toLowerCase();
}
