import { SvcError } from '../../runtime/errors.ts';
import { Lazy } from '../../runtime/kit/lazy.ts';
import type { LateManagement } from '../../usecases/management.ts';
import type { Listing } from '../discovery/tools.ts';
import type { Tool } from '../tool.ts';
import { MANAGEMENT_CONTRACTS } from './contracts.ts';

/** The management tools. Their handlers are loaded by the first call, so that an idle node does not hold them. */
export function lateManagementTools(late: LateManagement, listing: Listing): Tool[] {
  const handlers = new Lazy(async () => {
    const { managementTools } = await import('./tools.ts');
    return new Map(managementTools(late, listing).map((tool) => [tool.contract.name, tool]));
  });
  return MANAGEMENT_CONTRACTS.map((contract) => ({
    contract,
    async run(given, call) {
      const tool = (await handlers.get()).get(contract.name);
      if (tool === undefined) throw new SvcError('internal', `${contract.name} has no handler`);
      return tool.run(given, call);
    },
  }));
}
