import type { AgentManifest } from '../../manifests/agent/schema.ts';

/** What the node that takes a start offers to executions. */
export interface NodeOffer {
  /** What `isolation: inherit` means here. */
  readonly isolation: AgentManifest['spec']['runtime']['isolation'];
}

/** The manifest with what it leaves to the node filled in. */
export function fitToNode(manifest: AgentManifest, offer: NodeOffer): AgentManifest {
  if (manifest.spec.runtime.isolation !== 'inherit') return manifest;
  const runtime = { ...manifest.spec.runtime, isolation: offer.isolation };
  return { ...manifest, spec: { ...manifest.spec, runtime } };
}
