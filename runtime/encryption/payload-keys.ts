/** Reason of an `unavailable` error: the key cannot be had now. */
export const KEY_AWAY = 'payload_key_away';
/** The same, because the store does not have it any more. */
export const KEY_MISSING = 'payload_key_missing';

/** A key of one tenant. Its number is the version of the key ring that was current when it was made. */
export interface PayloadKey {
  readonly tenant: string;
  readonly version: number;
  /** 32 bytes. */
  readonly secret: Uint8Array;
}

/**
 * The keys that encrypt what the stores hold of tenants (docs/operations/payload-encryption.md). The kernel encrypts; the
 * port's implementation decides where the keys are kept and who may have them. Implemented by `StoredPayloadKeys`
 * (security/encryption/payload-keys.ts).
 */
export interface PayloadKeys {
  /** Whether what is written for any tenant from now on is encrypted. */
  readonly encryptsAny: boolean;
  /** Whether what is written for a tenant from now on is encrypted. */
  encrypts(tenant: string): boolean;
  /** The key for new texts of a tenant when it is in memory; it may be some seconds behind a rotation. */
  newest(tenant: string): PayloadKey | undefined;
  /** Throws `unavailable` naming the tenant. */
  loadNewest(tenant: string): Promise<PayloadKey>;
  /** A key by its number when it is in memory. */
  known(tenant: string, version: number): PayloadKey | undefined;
  /**
   * Throws `unavailable` naming tenant and version, also for a key that is missing (reason `KEY_MISSING`): restoring it heals
   * all readers.
   */
  load(tenant: string, version: number): Promise<PayloadKey>;
}
