/**
 * Bytes too large for a message: over 64 KiB they are stored here and referenced (K7).
 * Implemented by `FileBlobs` (sqlite/blobs.ts) and `MongoBlobs` (mongo/blobs.ts).
 */
export interface Blobs {
  open(): Promise<void>;
  close(): Promise<void>;
  /**
   * Stores bytes; answers their reference. Without an owner it is the `sha256` in hex, and equal bytes of a tenant are
   * stored once. With one, the name of the actor that they belong to, they are shared with no other owner, so that all
   * of an actor's payloads can be removed with it.
   */
  put(tenant: string, bytes: Uint8Array, owner?: string): Promise<string>;
  /** Throws `not_found` for an unknown reference or one of another tenant. */
  get(tenant: string, ref: string): Promise<Uint8Array>;
  /** For every text that names it: only who knows that there is no other may (turns/payload.ts, `packOwned`). */
  delete(tenant: string, ref: string): Promise<void>;
  /** Deletes everything that was stored for an owner. */
  deleteOwned(tenant: string, owner: string): Promise<void>;
}

/** Inline up to this many bytes of JSON. */
export const INLINE_LIMIT_BYTES = 64 * 1024;
/** Larger payloads are refused with `payload_too_large`. */
export const PAYLOAD_LIMIT_BYTES = 16 * 1024 * 1024;
