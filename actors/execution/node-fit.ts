import type { AgentManifest } from '../../manifests/agent/schema.ts';
import { SvcError } from '../../runtime/errors.ts';

/** What the node that takes a start offers to executions. */
export interface NodeOffer {
  readonly tags: readonly string[];
  /** What `isolation: inherit` means here. */
  readonly isolation: AgentManifest['spec']['runtime']['isolation'];
}

/**
 * The manifest as this node would run it. Throws `failed_precondition` naming the tags the node lacks: an execution
 * that nobody could run is refused at the start instead of waiting unseen.
 */
export function fitToNode(manifest: AgentManifest, offer: NodeOffer): AgentManifest {
  const missing = manifest.spec.execution.target_tags.filter((tag) => !offer.tags.includes(tag));
  if (missing.length > 0) {
    throw new SvcError('failed_precondition', `no node has the tags ${missing.join(', ')}`, {
      field: 'spec.execution.target_tags',
    });
  }
  if (manifest.spec.runtime.isolation !== 'inherit') return manifest;
  const runtime = { ...manifest.spec.runtime, isolation: offer.isolation };
  return { ...manifest, spec: { ...manifest.spec, runtime } };
}
