import type { NodeOffer } from '../actors/execution/node-fit.ts';
import type { NodeControls } from '../cluster/operations/node-controls.ts';
import type { NodeSettings } from '../manifests/node/settings.ts';
import { runtimeTable } from '../manifests/runtime-table/table.ts';

/** What this node offers to executions that are started on it; deprecated runtimes are a line in its log (spec 3). */
export function executionOffer({
  settings,
  controls,
  log,
}: {
  readonly settings: NodeSettings;
  readonly controls: Pick<NodeControls, 'isolation'>;
  readonly log: { warn(about: object, message: string): void };
}): () => NodeOffer {
  const runtimes = runtimeTable(settings.runtime.containers.runtimes);
  return () => ({
    ...{ isolation: controls.isolation, runtimes },
    onDeprecated({ agentId, executionId }, { language, version }) {
      log.warn({ agent: agentId, execution: executionId }, `runtime ${language} ${version} is deprecated`);
    },
  });
}
