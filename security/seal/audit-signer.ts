import { HEAD_TYPE } from '../../manifests/audit/record.ts';
import type { Clock } from '../../runtime/clock.ts';
import { type SigningParts, signCompact } from '../signed-token.ts';
import type { AuditSigner } from './api.ts';

/**
 * Signs how far an audit chain goes (manifests/audit). The public key is in the node's JWKS for an hour or more after it
 * was last used: whoever keeps an export for longer keeps the JWKS beside it.
 */
export function createAuditSigner({ keys, published, clock }: SigningParts & { readonly clock: Clock }): AuditSigner {
  return {
    sign: ({ session_id, tenant, sequence, hash }) =>
      signCompact({ session_id, tenant, sequence, hash, signed_at: new Date(clock.now()).toISOString() }, HEAD_TYPE, {
        keys,
        published,
      }),
  };
}
