import type { RestApp, RestParts } from '../../parts.ts';
import { getPipelineRoute } from './get-pipeline.ts';
import { startIntentRoutes } from './start-intent.ts';

/** /v1/execute, where the node has the intent pipeline. */
export function executeRoutes(app: RestApp, { intents, startKeys }: RestParts): void {
  if (intents === undefined) return;
  startIntentRoutes(app, intents, startKeys);
  getPipelineRoute(app, intents);
}
