import type { Node } from './node.ts';

/** What a person who started the node needs to go on, line by line. */
export const announcement = (node: Node, version: string, startedInMs: number): readonly string[] => [
  `svc ${version}  node ${node.id}  up in ${Math.round(startedInMs)} ms`,
  `REST        ${node.restUrl}  (to read: ${node.restUrl}/docs)`,
  `SvcRuntime  ${node.grpcAddress}`,
  `internal    ${node.internalUrl}  ${node.internalGrpcAddress}  (agents' programs)`,
  ...(node.clusterAddress === null ? [] : [`NodeCluster ${node.clusterAddress}`]),
  ...node.notes.map((note) => `            ${note}`),
];
