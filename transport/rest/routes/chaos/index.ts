import type { RestApp, RestParts } from '../../parts.ts';
import { injectFaultRoute } from './inject-fault.ts';
import { listFaultsRoute } from './list-faults.ts';

/** /v1/chaos, where the node has the part for it. */
export function chaosRoutes(app: RestApp, { chaos }: RestParts): void {
  if (chaos === undefined) return;
  injectFaultRoute(app, chaos);
  listFaultsRoute(app, chaos);
}
