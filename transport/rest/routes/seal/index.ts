import type { SealParts } from '../../../seal/parts.ts';
import type { RestApp, RestParts } from '../../parts.ts';
import { attestRoute } from './attest.ts';
import type { SealAccess } from './caller.ts';
import { invokeRoute } from './invoke.ts';
import { listToolsRoute } from './list-tools.ts';
import { auditSessionRoute, getSessionRoute, listSessionsRoute, revokeSessionRoute } from './sessions.ts';

export type { SealAccess } from './caller.ts';

const FOR_PEOPLE = [listSessionsRoute, getSessionRoute, revokeSessionRoute, auditSessionRoute];

/** The routes of agents, on the public and on the internal address. */
export function addSealRoutes(app: RestApp, parts: SealParts, access: SealAccess): void {
  attestRoute(app, parts, access);
  invokeRoute(app, parts, access);
  listToolsRoute(app, parts);
}

/** /v1/seal and /v1/invoke of the public address, where the node has SEAL. */
export function sealRoutes(app: RestApp, { seal }: RestParts): void {
  if (seal === undefined) return;
  addSealRoutes(app, seal, { bearer: true });
  for (const route of FOR_PEOPLE) route(app, seal);
}
