import type { Listing } from '../../discovery/tools.ts';
import type { Tool } from '../../tool.ts';
import { managed } from '../managed.ts';
import type { LateManagement } from '../ports.ts';
import { systemConfig, systemInfo } from './contracts.ts';

/** svc.system.* (spec 3): what this node is. Capabilities are what the caller may use, as svc.tools.list shows it. */
export function systemTools(late: LateManagement, listing: Listing): Tool[] {
  const define = managed(late);
  return [
    define(systemInfo, async (_none, { ports: { node }, call: { run } }) => {
      const offers = await listing.list(run.scope, { withoutExecution: run.subject.execution_id === null });
      const status = (await node.healthy()) ? 'healthy' : 'unhealthy';
      return { version: node.version, status, capabilities: offers.map(({ name }) => name) };
    }),
    define(systemConfig, async (_none, { ports: { node } }) => node.config()),
  ];
}
