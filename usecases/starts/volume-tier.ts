import { SvcError } from '../../runtime/errors.ts';
import type { Identity } from '../../runtime/identity.ts';

/** Kinds of callers without tier limits (H27). */
const UNBOUND: readonly Identity['kind'][] = ['local', 'operator', 'service_account'];

/** The tier whose limits count for a caller. */
export const tierOf = ({ kind, tier }: Identity): Identity['tier'] => (UNBOUND.includes(kind) ? 'enterprise' : tier);

/** Throws `forbidden` naming the field for the free tier, which may not use a volume that outlives its runs (W40). */
export function requireVolumeTier(identity: Identity, field: string): void {
  if (tierOf(identity) === 'free')
    throw new SvcError('forbidden', `${field}: volumes are for tier pro and above`, { field });
}
