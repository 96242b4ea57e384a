import { hash } from 'node:crypto';
import type { NodeRateLimits, Rates } from '../manifests/node/rate-limits.ts';
import type { Clock } from '../runtime/clock.ts';
import { pageOf, shownPage } from '../runtime/documents/pages.ts';
import type { CollectionSpec, Documents, StoredDocument } from '../runtime/documents.ts';
import { invalidField, SvcError } from '../runtime/errors.ts';
import { SYSTEM_TENANT } from '../runtime/identity.ts';
import type { RateLimits } from '../runtime/rate-limits.ts';
import type { OverrideTarget, RateOverride, RateOverrides, RateUsage } from './api.ts';
import { countBound, countersOf, type OverridesOf, type RunningCounts, rateBuckets } from './rate-bounds.ts';
import { isTenantSlug } from './tenant.ts';
import { StaleIfErrorCache, TtlCache } from './ttl-cache.ts';

/** Stored in the tenant of the operators. */
const RATE_OVERRIDES: CollectionSpec = {
  name: 'rate_limit_overrides',
  unique: [],
  indexes: [['target_tenant', 'target_subject']],
};

const BY_TARGET = [
  ['target_tenant', 'asc'],
  ['target_subject', 'asc'],
] as const;

/** `id` is derived from the target. */
interface RateOverrideDocument extends StoredDocument {
  readonly target_tenant: string;
  readonly target_subject: string | null;
  readonly rates: Rates;
  readonly updated_at: string;
  readonly updated_by: string;
}

/** Maximum time until an override from another node is in effect. */
const FRESH_MS = 1_000;

const MOST_CACHED = 20_000;

const MOST_OVERRIDES = 10_000;

const MAX_SUBJECT_CHARS = 256;

const MAX_ATTEMPTS = 64;

/** Rates that operators set at run time. They override the settings on all nodes of the installation. */
export async function openRateOverrides(parts: {
  readonly documents: Documents;
  readonly clock: Pick<Clock, 'now'>;
  /** Log of changes. */
  readonly audit: (event: Readonly<Record<string, string | null>>, message: string) => void;
}): Promise<RateOverrides & OverridesOf> {
  const { clock } = parts;
  const stored = await parts.documents.collection<RateOverrideDocument>(RATE_OVERRIDES);
  const lastKnown = new StaleIfErrorCache<Rates | null>({
    read: async (id) => (await stored.get(SYSTEM_TENANT, id))?.rates ?? null,
    clock,
    most: MOST_CACHED,
  });
  const cache = new TtlCache<Rates | null>({
    read: (id) => lastKnown.read(id),
    clock,
    ttlMs: FRESH_MS,
    most: MOST_CACHED,
  });
  const changed = (id: string): void => {
    lastKnown.forget(id);
    cache.forget();
  };
  const said = (event: string, { tenant, subject }: OverrideTarget, by: string): void =>
    parts.audit({ event, target_tenant: tenant, target_subject: subject ?? null, by }, 'rate limit override');

  return {
    async of({ tenant, subject }) {
      const [ofTenant, ofUser] = await Promise.all([cache.get(idOf({ tenant })), cache.get(idOf({ tenant, subject }))]);
      return { tenant: ofTenant, user: ofUser };
    },

    async put({ subject: by }, target, rates) {
      const id = idOf(checked(target));
      for (let attempt = 0; attempt < MAX_ATTEMPTS; attempt += 1) {
        const known = await stored.get(SYSTEM_TENANT, id);
        if (known === null && (await stored.count({ tenant: SYSTEM_TENANT })) >= MOST_OVERRIDES) {
          throw new SvcError('limit_reached', `at most ${MOST_OVERRIDES} overrides; remove one first`);
        }
        const document: RateOverrideDocument = {
          tenant: SYSTEM_TENANT,
          id,
          version: (known?.version ?? 0) + 1,
          rates,
          target_tenant: target.tenant,
          target_subject: target.subject ?? null,
          updated_at: new Date(clock.now()).toISOString(),
          updated_by: by,
        };
        const isWritten = known === null ? stored.insert(document) : stored.replace(document, known.version);
        if (!(await isWritten)) continue;
        changed(id);
        said('RateLimitOverrideSet', target, by);
        return viewOf(document);
      }
      throw new SvcError('unavailable', 'the override is being changed by other calls; try again', {
        retryAfterMs: 1_000,
      });
    },

    async list({ tenant, subject }, page) {
      const where = {
        ...(tenant === undefined ? {} : { target_tenant: tenant }),
        ...(subject === undefined ? {} : { target_subject: subject }),
      };
      const of = { tenant: SYSTEM_TENANT, where, sort: BY_TARGET };
      return shownPage(await pageOf(stored, 'rate overrides', of, page), viewOf);
    },

    async remove({ subject: by }, target) {
      const id = idOf(checked(target));
      const isRemoved = await stored.delete(SYSTEM_TENANT, id);
      changed(id);
      if (!isRemoved) throw new SvcError('not_found', 'override not found');
      said('RateLimitOverrideRemoved', target, by);
    },
  };
}

/** Id of a target: the digest of the subject, since a subject may have any length. */
const idOf = ({ tenant, subject }: OverrideTarget): string =>
  subject === undefined ? `tenant ${tenant}` : `user ${tenant} ${hash('sha256', subject, 'hex')}`;

function checked(target: OverrideTarget): OverrideTarget {
  const { tenant, subject } = target;
  if (!isTenantSlug(tenant)) throw invalidField('tenant', 'expected a tenant slug');
  if (subject === undefined || (subject !== '' && subject.length <= MAX_SUBJECT_CHARS)) return target;
  throw invalidField('subject', `expected 1 to ${MAX_SUBJECT_CHARS} characters`);
}

const viewOf = (document: RateOverrideDocument): RateOverride => ({
  tenant: document.target_tenant,
  subject: document.target_subject,
  rates: document.rates,
  updated_at: document.updated_at,
  updated_by: document.updated_by,
});

/** Usage of a principal's limits over all nodes. Throws `unavailable` when the counters cannot be read. */
export function createRateUsage(parts: {
  readonly limits: RateLimits;
  readonly settings: NodeRateLimits;
  readonly overrides: OverridesOf;
  readonly running: RunningCounts;
}): RateUsage {
  const { limits, settings } = parts;
  return {
    async of(principal) {
      const overrides = await parts.overrides.of(principal);
      const counters = rateBuckets(settings, principal, overrides).flatMap((bucket) => countersOf(principal, bucket));
      const counts = await limits.read(principal.tenant, counters);
      const { tenant, subject, kind, tier } = principal;
      return {
        tenant,
        subject,
        kind,
        tier,
        buckets: counters.map(({ bucket, window, limit }, n) => ({
          name: bucket,
          window,
          limit,
          used: counts[n]?.used ?? 0,
          resets_at: new Date(counts[n]?.resetsAt ?? 0).toISOString(),
        })),
        concurrent_executions: {
          used: await parts.running.count(principal),
          limit: countBound(settings, principal, 'concurrent_executions', overrides),
        },
        agents: { limit: countBound(settings, principal, 'agents', overrides) },
      };
    },
  };
}
