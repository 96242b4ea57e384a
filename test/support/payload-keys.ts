import { createHash } from 'node:crypto';
import { KEY_MISSING, type PayloadKey, type PayloadKeys } from '../../runtime/encryption/payload-keys.ts';
import { SvcError } from '../../runtime/errors.ts';

/** Payload keys in memory, fetched at their first use. All instances have the same keys. */
export class TestPayloadKeys implements PayloadKeys {
  readonly #tenants: 'all' | readonly string[];
  readonly #known = new Map<string, PayloadKey>();
  readonly lost = new Set<string>();
  current = 1;

  constructor(tenants: 'all' | readonly string[] = 'all') {
    this.#tenants = tenants;
  }

  get encryptsAny(): boolean {
    return this.#tenants.length > 0;
  }

  encrypts(tenant: string): boolean {
    return this.#tenants === 'all' || this.#tenants.includes(tenant);
  }

  newest(tenant: string): PayloadKey | undefined {
    return this.known(tenant, this.current);
  }

  loadNewest(tenant: string): Promise<PayloadKey> {
    return this.load(tenant, this.current);
  }

  known(tenant: string, version: number): PayloadKey | undefined {
    return this.#known.get(`${tenant}/${version}`);
  }

  async load(tenant: string, version: number): Promise<PayloadKey> {
    const name = `${tenant}/${version}`;
    if (this.lost.has(name)) {
      const reason = KEY_MISSING;
      throw new SvcError('unavailable', `version ${version} of the key of ${tenant} is missing`, { reason });
    }
    const secret = createHash('sha256').update(name).digest();
    const key = this.#known.get(name) ?? { tenant, version, secret };
    this.#known.set(name, key);
    return key;
  }
}
