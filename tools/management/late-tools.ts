import { SvcError } from '../../runtime/errors.ts';
import type { Listing } from '../discovery/tools.ts';
import type { Tool } from '../tool.ts';
import { MANAGEMENT_CONTRACTS } from './contracts.ts';
import type { LateManagement } from './ports.ts';

/** The management tools, whose handlers are loaded when one is first called: an idle node does not carry them. */
export function lateManagementTools(late: LateManagement, listing: Listing): Tool[] {
  let loading: Promise<ReadonlyMap<string, Tool>> | null = null;
  const handlers = (): Promise<ReadonlyMap<string, Tool>> => {
    loading ??= import('./tools.ts').then(
      ({ managementTools }) => new Map(managementTools(late, listing).map((tool) => [tool.contract.name, tool])),
    );
    return loading;
  };
  return MANAGEMENT_CONTRACTS.map((contract) => ({
    contract,
    async run(given, call) {
      const tool = (await handlers()).get(contract.name);
      if (tool === undefined) throw new SvcError('internal', `${contract.name} has no handler`);
      return tool.run(given, call);
    },
  }));
}
