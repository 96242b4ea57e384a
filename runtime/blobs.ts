/**
 * Storage for bytes too large for a message: payloads over 64 KiB are stored here and referenced (K7).
 * Implemented by `FileBlobs` (sqlite/blobs.ts) and `MongoBlobs` (mongo/blobs.ts).
 */
export interface Blobs {
  open(): Promise<void>;
  close(): Promise<void>;
  /**
   * Stores bytes and returns their reference. Without an owner, the reference is the SHA-256 in hex, and a tenant
   * stores equal bytes once. `owner` names the actor that the bytes belong to: they are then shared with no other
   * owner, so that all of an actor's payloads can be removed with it.
   */
  put(tenant: string, bytes: Uint8Array, owner?: string): Promise<string>;
  /** Throws `not_found` when the reference is unknown or belongs to another tenant. */
  get(tenant: string, ref: string): Promise<Uint8Array>;
  /**
   * Deletes the bytes for every text that holds the reference. Call it only when no other text does (turns/payload.ts,
   * `packOwned`).
   */
  delete(tenant: string, ref: string): Promise<void>;
  /** Deletes all bytes that were stored for an owner. */
  deleteOwned(tenant: string, owner: string): Promise<void>;
}

/** Payloads of up to this many bytes of JSON stay inside the message. */
export const INLINE_LIMIT_BYTES = 64 * 1024;
/** Larger payloads are refused with `payload_too_large`. */
export const PAYLOAD_LIMIT_BYTES = 16 * 1024 * 1024;
