import type { RestApp, RestParts } from '../../parts.ts';
import { drainNodeRoute } from './drain-node.ts';
import { getClusterStatusRoute } from './get-cluster-status.ts';
import { getConfigRoute } from './get-config.ts';
import { getNodeRoute } from './get-node.ts';
import { joinTokenRoutes } from './join-tokens.ts';
import { listNodesRoute } from './list-nodes.ts';
import { pushConfigRoute } from './push-config.ts';
import { removeNodeRoute } from './remove-node.ts';
import { setConfigRoute } from './set-config.ts';
import { shutDownNodeRoute } from './shut-down-node.ts';

const FLEET = [getClusterStatusRoute, listNodesRoute, getNodeRoute, drainNodeRoute, shutDownNodeRoute, removeNodeRoute];
const CONFIG = [getConfigRoute, setConfigRoute, pushConfigRoute];

/** /v1/cluster, as far as the node has the parts for it. */
export function clusterRoutes(app: RestApp, parts: RestParts): void {
  const { cluster, peers, joinTokens } = parts;
  if (cluster === undefined) return;
  if (joinTokens !== undefined) joinTokenRoutes(app, joinTokens);
  for (const route of FLEET) route(app, { ...parts, cluster });
  if (peers === undefined) return;
  for (const route of CONFIG) route(app, { ...parts, cluster, peers });
}
