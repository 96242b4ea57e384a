import { CHECKPOINT_TYPE, Checkpoint } from '../../manifests/audit/entries.ts';
import type { Clock } from '../../runtime/clock.ts';
import type { Collection, CollectionSpec, StoredDocument } from '../../runtime/documents.ts';
import { repeat } from '../../runtime/kit/waits.ts';
import { type SigningParts, signCompact } from '../signed-token.ts';
import type { Block } from './blocks.ts';
import { signedContent } from './signed-content.ts';
import type { ChainDocument } from './statements.ts';

/** The position up to which the beginning of a chain was removed. */
export interface CheckpointDocument extends StoredDocument {
  /** The id: the node of the chain. */
  readonly sequence: number;
  readonly signed_ms: number;
  /** Compact JWS. */
  readonly checkpoint: string;
}

export const CHECKPOINTS: CollectionSpec = { name: 'audit_checkpoints', unique: [], indexes: [] };

const DAY_MS = 86_400_000;

const SWEEP_MS = 1_800_000;

/** Checkpoints are signed again at this age, since a key is published for little more than an hour after its use. */
const SIGN_AGAIN_MS = 1_800_000;

const PAGE = 500;

interface RetentionParts {
  readonly days: number;
  readonly blocks: Pick<Collection<Block>, 'find' | 'deleteMany'>;
  readonly chains: Pick<Collection<ChainDocument>, 'find'>;
  readonly checkpoints: Collection<CheckpointDocument>;
  readonly signing: SigningParts;
  readonly clock: Clock;
  /** The time by which ages are counted, Unix ms: that of the store, so that a node whose clock is wrong removes nothing early. */
  readonly now: () => Promise<number>;
  readonly warn: (message: string, error: unknown) => void;
}

/**
 * Removes the beginnings of chains that are older than the setting. A signed checkpoint with the last removed record is
 * stored first, so that the rest verifies. Every node does this for all chains: the node of a chain may be gone.
 */
export class AuditRetention {
  readonly #parts: RetentionParts;
  readonly #end: () => Promise<void>;

  constructor(parts: RetentionParts) {
    this.#parts = parts;
    this.#end = repeat(parts.clock, SWEEP_MS, () => this.sweep());
  }

  close(): void {
    void this.#end();
  }

  /** Never throws: the next sweep repeats what failed. */
  async sweep(): Promise<void> {
    const { chains, days, now, warn } = this.#parts;
    try {
      const before = new Date((await now()) - days * DAY_MS).toISOString();
      for (let skip = 0; ; skip += PAGE) {
        const found = await chains.find({ tenant: null, limit: PAGE, skip });
        for (const { tenant, node } of found) await this.#trim(tenant, node, before);
        if (found.length < PAGE) return;
      }
    } catch (thrown) {
      warn('old audit entries could not be removed', thrown);
    }
  }

  async #trim(tenant: string, node: string, before: string): Promise<void> {
    const { blocks, checkpoints, clock } = this.#parts;
    const known = await checkpoints.get(tenant, node);
    const sort = [['last', 'desc']] as const;
    // The newest block stays, whatever its age, because the node continues its chain behind it.
    const [newest] = await blocks.find({ tenant, where: { node }, sort, limit: 1 });
    if (newest === undefined) return;
    const where = { node, at: { lt: before }, last: { lt: newest.first } };
    const [old] = await blocks.find({ tenant, where, sort, limit: 1 });
    const last = old?.records.at(-1);
    if (last === undefined) {
      if (known !== null && clock.now() - known.signed_ms >= SIGN_AGAIN_MS) await this.#signAgain(known);
      return;
    }
    const place = { tenant, node, sequence: last.sequence, hash: last.hash };
    if (!(await this.#store(place, known))) return;
    await blocks.deleteMany({ tenant, where: { node, last: { lte: last.sequence } } });
  }

  async #signAgain(known: CheckpointDocument): Promise<void> {
    const { signing, warn } = this.#parts;
    const content = await signedContent(known.checkpoint, { typ: CHECKPOINT_TYPE, schema: Checkpoint, signing });
    if (content === null || content === 'unknown' || content.tenant !== known.tenant || content.node !== known.id) {
      return warn(
        `the audit checkpoint of node ${known.id}, tenant ${known.tenant} has no signature of a known key`,
        null,
      );
    }
    await this.#store(content, known);
  }

  /** False: another node was faster, so this one removes nothing in this sweep. */
  async #store(place: Omit<Checkpoint, 'signed_at'>, known: CheckpointDocument | null): Promise<boolean> {
    const { checkpoints, signing, clock } = this.#parts;
    const { tenant, node, sequence, hash } = place;
    const signed_ms = clock.now();
    const content: Checkpoint = { tenant, node, sequence, hash, signed_at: new Date(signed_ms).toISOString() };
    const checkpoint = await signCompact(content, CHECKPOINT_TYPE, signing);
    const next = { tenant, id: node, version: (known?.version ?? 0) + 1, sequence, signed_ms, checkpoint };
    return known === null ? checkpoints.insert(next) : checkpoints.replace(next, known.version);
  }
}
