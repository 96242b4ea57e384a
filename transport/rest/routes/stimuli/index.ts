import type { RestApp, RestParts } from '../../parts.ts';
import { getStimulusRoute } from './get-stimulus.ts';
import { ingestStimulusRoute } from './ingest-stimulus.ts';
import { ingestWebhookRoute } from './ingest-webhook.ts';
import { listRoutesRoute } from './list-routes.ts';
import { listStimuliRoute } from './list-stimuli.ts';
import { putRouteRoute } from './put-route.ts';
import { removeRouteRoute } from './remove-route.ts';

/** /v1/stimuli and /v1/webhooks, as far as the node has the parts for them. */
export function stimulusRoutes(app: RestApp, { stimuli, stimulusRoutes: routes, webhooks, limits }: RestParts): void {
  if (stimuli === undefined) return;
  for (const route of [ingestStimulusRoute, listStimuliRoute, getStimulusRoute]) route(app, stimuli);
  if (webhooks !== undefined) ingestWebhookRoute(app, { stimuli, webhooks, limits });
  if (routes === undefined) return;
  for (const route of [listRoutesRoute, putRouteRoute, removeRouteRoute]) route(app, routes);
}
