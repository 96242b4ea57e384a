import type { NodeProofs } from '../../../security/api.ts';
import { isPublic } from '../access.ts';

/**
 * Trailers `svc-node-id`, `svc-node-life` and `svc-node-time` of every answer, refusals included: a sender that reached
 * another receiver than it thought learns from the refusal for whom its proof has to be.
 */
export const introduction =
  (proofs: Pick<NodeProofs, 'introduction'>) =>
  (path: string): Readonly<Record<string, string>> => {
    if (isPublic(path)) return {};
    const { nodeId, life, at } = proofs.introduction();
    return { 'svc-node-id': nodeId, 'svc-node-life': life, 'svc-node-time': String(at) };
  };
