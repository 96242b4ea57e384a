import type { SealParts } from '../../../seal/parts.ts';
import { REST_LIMITS, type RestLimits } from '../../limits.ts';
import type { RestApp, RestParts } from '../../parts.ts';
import { attestRoute } from './attest.ts';
import type { SealAccess } from './caller.ts';
import { invokeRoute } from './invoke.ts';
import { listToolsRoute } from './list-tools.ts';
import { auditSessionRoute, getSessionRoute, listSessionsRoute, revokeSessionRoute } from './sessions.ts';
import { boundStrangers } from './stranger-bodies.ts';

export type { SealAccess } from './caller.ts';

const FOR_PEOPLE = [listSessionsRoute, getSessionRoute, revokeSessionRoute, auditSessionRoute];

/** The routes of agents, on the public and on the internal address. */
export function addSealRoutes(app: RestApp, parts: SealParts, access: SealAccess): void {
  attestRoute(app, parts, access);
  if (access.bearer) invokeRoute(app, parts, access);
  else {
    app.register((scope: RestApp, _options, done) => {
      const limits: RestLimits = { ...REST_LIMITS, ...access.limits };
      boundStrangers(scope, { seal: parts, executions: access.tokens, limits });
      invokeRoute(scope, parts, access);
      done();
    });
  }
  listToolsRoute(app, parts);
}

/** /v1/seal and /v1/invoke of the public address, where the node has SEAL. */
export function sealRoutes(app: RestApp, { seal }: RestParts): void {
  if (seal === undefined) return;
  addSealRoutes(app, seal, { bearer: true });
  for (const route of FOR_PEOPLE) route(app, seal);
}
