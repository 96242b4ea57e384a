import type { ToolContract } from '../manifests/tool/contract.ts';
import { cmdRun } from './command/contract.ts';
import { DISCOVERY_CONTRACTS } from './discovery/contracts.ts';
import { FILE_CONTRACTS } from './files/contracts.ts';
import { MANAGEMENT_CONTRACTS } from './management/contracts.ts';
import { WEB_CONTRACTS } from './web/contracts.ts';

/** Every built-in tool, each once. */
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
