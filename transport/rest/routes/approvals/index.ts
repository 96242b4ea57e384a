import type { RestApp, RestParts } from '../../parts.ts';
import { approveRequestRoute } from './approve-request.ts';
import { getRequestRoute } from './get-request.ts';
import { listRequestsRoute } from './list-requests.ts';
import { rejectRequestRoute } from './reject-request.ts';

const ROUTES = [listRequestsRoute, getRequestRoute, approveRequestRoute, rejectRequestRoute];

/** /v1/human-approvals (spec 2), where the node has approvals. */
export function approvalRoutes(app: RestApp, { approvals }: RestParts): void {
  if (approvals === undefined) return;
  for (const route of ROUTES) route(app, approvals);
}
