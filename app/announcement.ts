import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { isLoopback } from '../manifests/node/network.ts';
import type { NodeSettings } from '../manifests/node/settings.ts';
import type { Documents } from '../runtime/documents.ts';
import { SYSTEM_TENANT } from '../runtime/identity.ts';
import type { Random } from '../runtime/random.ts';
import { LOCAL_TOKEN_FILE } from '../security/local-token.ts';
import type { Node } from './node.ts';

/** The lines that a person who started the node needs to continue. */
export const announcement = (node: Node, version: string, startedInMs: number): readonly string[] => [
  `svc ${version}  node ${node.id}  up in ${Math.round(startedInMs)} ms`,
  `REST        ${node.restUrl}  (to read: ${node.restUrl}/docs)`,
  `SvcRuntime  ${node.grpcAddress}`,
  `internal    ${node.internalUrl}  ${node.internalGrpcAddress}  (agents' programs)`,
  ...(node.clusterAddress === null ? [] : [`NodeCluster ${node.clusterAddress}`]),
  ...node.notes.map((note) => `            ${note}`),
];

/** Warnings about connections without TLS or behind a proxy; empty when there are none. */
export function onTheWire({ bind, tls, trust_proxy }: NodeSettings['network']): string[] {
  if (isLoopback(bind) || tls.enabled || trust_proxy.length > 0) return [];
  return [
    `${bind} speaks plain text, bearer tokens included: set spec.network.tls, or name the proxy that has the certificate in spec.network.trust_proxy`,
  ];
}

/** Says which ways to authenticate callers are on. */
export function whoMayCall(
  { realms, local }: NodeSettings['iam'],
  dataDir: string,
  dashboardPage: string | null,
): string {
  if (realms.length > 0) return 'callers need a bearer token';
  if (local === 'token')
    return [
      `spec.iam.local: token: every call needs the token in ${join(dataDir, LOCAL_TOKEN_FILE)}`,
      ...(dashboardPage === null ? [] : [`the dashboard opens with it by ${pathToFileURL(dashboardPage).href}`]),
    ].join('; ');
  const open = 'every call from this machine acts as the local operator in tenant svc-system, web pages excepted';
  return `no identity provider, spec.iam.local: open: ${open}`;
}

/** Id of this installation. All nodes with the same stores share it; the first start creates it. */
export async function installationId(documents: Documents, random: Random): Promise<string> {
  const installations = await documents.collection<{
    readonly tenant: string;
    readonly id: string;
    readonly version: number;
    readonly name: string;
  }>({ name: 'installation', unique: [], indexes: [] });
  const key = { tenant: SYSTEM_TENANT, id: 'this' };
  const mine = { ...key, version: 1, name: random.uuid() };
  if (await installations.insert(mine)) return mine.name;
  return (await installations.get(key.tenant, key.id))?.name ?? mine.name;
}
