/**
 * Where the keys live that encrypt data keys (docs/operations/secrets.md). A data key encrypts values and is stored beside them,
 * wrapped by a version of the key. Versions are numbered 1, 2, 3 …; an old version unwraps until nothing uses it.
 *
 * The port of a key management service: another implementation passes `test/contract/key-source.ts` and is given to `startNode`
 * as `secretKeys`. Implemented by `FileKeySource` (file-key-source.ts) and `VaultKeySource` (vault-key-source.ts).
 */
export interface KeySource {
  /** Where the keys are, for the start-up log and errors of the start: a file, an address. No secret. */
  readonly place: string;
  /** Whether each node has its own copy of the keys: a new version is used only when all running nodes have it. */
  readonly isCopied: boolean;
  /** The newest version, read from the source now; 0 when it has no key yet. */
  newest(): Promise<number>;
  /**
   * Creates the next version, and returns its number. Throws `failed_precondition` with what to do when this node may not
   * create one.
   */
  create(): Promise<number>;
  /** Encrypts a data key of 32 bytes. Throws `failed_precondition` for a missing version, `unavailable`. */
  wrap(version: number, dataKey: Uint8Array): Promise<string>;
  /**
   * Decrypts what `wrap` returned for that version. Throws `failed_precondition` naming the version when it is missing, or when the
   * text was not made by it; `unavailable`.
   */
  unwrap(version: number, wrapped: string): Promise<Uint8Array>;
  close(): Promise<void>;
}

export const DATA_KEY_BYTES = 32;
