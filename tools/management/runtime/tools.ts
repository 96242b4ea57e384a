import type { Tool } from '../../tool.ts';
import { managed } from '../managed.ts';
import type { LateManagement } from '../ports.ts';
import { runtimeList } from './contracts.ts';

/** svc.runtime.list (spec 3): the table that executions are checked against, without what only bootstraps are told. */
export function runtimeTools(late: LateManagement): Tool[] {
  return [
    managed(late)(runtimeList, async ({ language }, { ports: { node } }) => {
      const wanted = language?.toLowerCase();
      const runtimes = node.runtimes
        .filter((row) => wanted === undefined || row.language === wanted)
        .map(({ language: name, version, image, description, deprecated }) => ({
          ...{ language: name, version, image, description, deprecated },
        }));
      return { tool: 'svc.runtime.list', runtimes, custom_runtime_supported: node.runsImages };
    }),
  ];
}
