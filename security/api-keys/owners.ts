import type { Clock } from '../../runtime/clock.ts';
import type { Collection } from '../../runtime/documents.ts';
import { SvcError } from '../../runtime/errors.ts';
import { type Identity, SYSTEM_TENANT } from '../../runtime/identity.ts';
import { OneAtATimePerKey } from '../../runtime/one-at-a-time.ts';
import type { ApiKeyDigest, ApiKeyDocument } from './record.ts';
import { MOST_LIVE_KEYS } from './rules.ts';

/** Dead keys are shown for this long. */
const REMEMBERED_MS = 90 * 86_400_000;
/** Of the oldest dead ones, so many go at each new key. */
const SWEPT_AT_ONCE = 100;

/** How many keys an owner has, dead ones swept away. */
export class KeyOwners {
  readonly #keys: Collection<ApiKeyDocument>;
  readonly #digests: Collection<ApiKeyDigest>;
  readonly #clock: Pick<Clock, 'now'>;
  readonly #queues = new OneAtATimePerKey();

  constructor(parts: {
    readonly keys: Collection<ApiKeyDocument>;
    readonly digests: Collection<ApiKeyDigest>;
    readonly clock: Pick<Clock, 'now'>;
  }) {
    this.#keys = parts.keys;
    this.#digests = parts.digests;
    this.#clock = parts.clock;
  }

  /**
   * Makes a key when its owner has room; throws `limit_reached`. One by one on this node: races on several nodes exceed it
   * by one for each other node.
   */
  admit(owner: Identity, make: () => Promise<void>): Promise<void> {
    const id = JSON.stringify([owner.tenant, owner.kind, owner.subject]);
    return this.#queues.run(id, () => this.#make(owner, make));
  }

  async #make({ tenant, kind, subject }: Identity, make: () => Promise<void>): Promise<void> {
    const where = { owner_subject: subject, owner_kind: kind };
    const now = this.#clock.now();
    await this.#sweep(tenant, where, new Date(now - REMEMBERED_MS).toISOString());
    const live = { ...where, revoked_at: null, expires_at: { gt: new Date(now).toISOString() } };
    if ((await this.#keys.count({ tenant, where: live })) >= MOST_LIVE_KEYS) {
      throw new SvcError(
        'limit_reached',
        `${MOST_LIVE_KEYS} live API keys are the most one may have; revoke one first`,
      );
    }
    await make();
  }

  async #sweep(tenant: string, owner: Readonly<Record<string, string>>, before: string): Promise<void> {
    const dead = [
      { ...owner, expires_at: { lt: before } },
      { ...owner, revoked_at: { lt: before } },
    ];
    for (const where of dead) {
      for (const { id, digest } of await this.#keys.find({ tenant, where, limit: SWEPT_AT_ONCE })) {
        await this.#digests.delete(SYSTEM_TENANT, digest);
        await this.#keys.delete(tenant, id);
      }
    }
  }
}
