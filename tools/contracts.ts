import type { ToolContract } from '../manifests/tool/contract.ts';
import { SvcError } from '../runtime/errors.ts';
import { Lazy } from '../runtime/kit/lazy.ts';
import type { LateManagement } from '../usecases/management.ts';
import type { ToolCommands } from '../usecases/ports/commands.ts';
import { cmdRun, commandTools } from './command/tools.ts';
import { DISCOVERY_CONTRACTS, discoveryTools, type Listing } from './discovery/tools.ts';
import { FILE_CONTRACTS } from './files/contracts.ts';
import { fileTools } from './files/file-tools.ts';
import type { FilePorts } from './files/places.ts';
import { MANAGEMENT_CONTRACTS } from './management/contracts.ts';
import type { Tool } from './tool.ts';
import { WEB_CONTRACTS, type WebPorts, webTools } from './web/tools.ts';

/** All built-in tools. */
export const BUILT_IN: readonly ToolContract[] = [
  ...FILE_CONTRACTS,
  ...WEB_CONTRACTS,
  cmdRun,
  ...DISCOVERY_CONTRACTS,
  ...MANAGEMENT_CONTRACTS,
];

/** Built-in tools by name and by alias. */
export const TOOL_CONTRACTS: ReadonlyMap<string, ToolContract> = new Map(
  BUILT_IN.flatMap((contract) => [contract.name, ...(contract.aliases ?? [])].map((name) => [name, contract] as const)),
);

/**
 * The ports that the tools of this node use. A tool without its port must not be offered: see
 * `ToolGranterParts.without`.
 */
interface BuiltInParts {
  readonly files: FilePorts;
  readonly web?: WebPorts;
  readonly commands?: ToolCommands;
  readonly listing: Listing;
  /** The areas that the tools svc.* call. */
  readonly management?: LateManagement;
}

/** Handlers of the built-in tools, for `createToolEffect`. */
export function createBuiltInTools({ files, web, commands, listing, management }: BuiltInParts): Tool[] {
  return [
    ...fileTools(files),
    ...(web === undefined ? [] : webTools(web)),
    ...(commands === undefined ? [] : commandTools(commands)),
    ...discoveryTools(listing),
    ...(management === undefined ? [] : lateManagementTools(management, listing)),
  ];
}

/** The management tools. Their handlers are loaded by the first call, so that an idle node does not hold them. */
function lateManagementTools(late: LateManagement, listing: Listing): Tool[] {
  const handlers = new Lazy(async () => {
    const { managementTools } = await import('./management/tools.ts');
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
