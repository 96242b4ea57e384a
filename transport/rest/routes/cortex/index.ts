import type { RestApp, RestParts } from '../../parts.ts';
import { listPatternsRoute } from './list-patterns.ts';
import { storePatternRoute } from './store-pattern.ts';

/** /v1/cortex, where the node has learned patterns. */
export function cortexRoutes(app: RestApp, { patterns }: RestParts): void {
  if (patterns === undefined) return;
  listPatternsRoute(app, patterns);
  storePatternRoute(app, patterns);
}
