import { type ActorStore, type Commit, type CommitOutcome, changesOf, type Lease } from '../actor-store.ts';
import type { Partition } from '../address.ts';
import type { Clock } from '../clock.ts';
import type { EffectJob } from '../effect-queue.ts';
import { fairnessPart } from '../effects/effect-envelope.ts';
import { toSvcError } from '../errors.ts';
import { backoffMs, sleep, turnsFirst } from '../kit/waits.ts';
import type { MailboxEntry } from '../message.ts';
import type { ProjectedCommit } from '../projection/views.ts';
import type { Batch } from '../turns/batch.ts';
import { type PackedBatch, packCommit } from '../turns/pack-commit.ts';
import { isSpilled } from '../turns/payload.ts';
import type { AheadOfCommit } from './ahead-of-commit.ts';
import type { KernelParts } from './kernel-parts.ts';
import type { Starting } from './local-starts.ts';
import type { Progress } from './progress.ts';
import type { BatchRun } from './run-batch.ts';

/** The result of a committed batch, for the steps that follow it. */
export interface Committed {
  readonly commit: Commit;
  /** Store time of the commit. */
  readonly at: number;
  /** Partitions that owe messages to others. */
  readonly owing: readonly Partition[];
  readonly jobs: readonly EffectJob[];
  readonly starting: Pick<Starting, 'begin'>;
  readonly projected: ProjectedCommit;
}

/** The server of a log, which commits. */
export interface Committing {
  readonly lease: Lease;
  readonly progress: Progress;
  readonly lost: boolean;
  lose(): void;
  /** True when a commit of unknown outcome is no longer to be repeated. */
  isOver(): boolean;
  committed(done: Committed): void;
}

const NONE: ReadonlyMap<string, string> = new Map();

/** The turns of a batch, and the objects needed to commit them. */
export interface TurnsToCommit {
  readonly run: BatchRun;
  readonly ahead: AheadOfCommit | null;
}

/** Encodes the decisions of a batch's turns as a commit. */
export async function packTurns(
  parts: Pick<KernelParts, 'payloads' | 'locator' | 'ledger'>,
  { lease, progress }: Committing,
  { run, ahead }: TurnsToCommit,
): Promise<PackedBatch> {
  if (run.hasLarge) await turnsFirst();
  return packCommit(run.batch, lease, run.cursorFrom(progress), run, ahead?.requests ?? NONE, parts);
}

/**
 * Writes a packed commit. Returns up to `readAhead` entries that wait behind it, or null when nothing was written. The
 * cursor may have moved since the commit was packed.
 */
export async function commitTurns(
  parts: KernelParts,
  server: Committing,
  { run, ahead }: TurnsToCommit,
  packed: PackedBatch,
  readAhead: number,
): Promise<readonly MailboxEntry[] | null> {
  const { lease, progress } = server;
  const ran = ahead?.requests ?? NONE;
  const starting = parts.starts.of({ ...packed.commit, ...run.cursorFrom(progress) }, packed.requests, ran);
  const { commit } = starting;
  const how = { ...parts, batchLimit: readAhead };
  const outcome = await commitWithRetry(how, commit, () => server.isOver()).catch((thrown: unknown) => {
    starting.free();
    throw thrown;
  });
  if (outcome.kind !== 'committed') {
    // `fenced` may answer the repeat of a commit that had happened, or mean that none did.
    if (outcome.kind === 'fenced') {
      starting.disown();
      server.lose();
    } else starting.free();
    return null;
  }
  progress.moved(
    commit.upTo,
    outcome.beside,
    [...run.batch.writes.drafts.values()].map(({ activation }) => activation),
  );
  remember(parts, server, run.batch, packed);
  const jobs: EffectJob[] = [];
  const changes = changesOf(commit);
  for (const { partition, effectsOpened } of changes) {
    for (const { id, queue, address, fairnessKey } of effectsOpened)
      jobs.push({ id, queue, address, partition, ...fairnessPart(fairnessKey) });
  }
  const projected = {
    ...run.handledAt(progress.position),
    epoch: lease.epoch,
    node: lease.node,
    rows: run.batch.rows,
    rowTexts: packed.rowTexts,
    turns: packed.turns,
    changes,
  };
  server.committed({ commit, at: outcome.at, owing: outcome.owing, jobs, starting, projected });
  if (parts.sink !== null) run.exportTo(parts.sink, lease.epoch);
  return outcome.next;
}

/** Keeps the committed actors in memory. */
function remember({ cache, replaced }: KernelParts, { lost }: Committing, batch: Batch, packed: PackedBatch): void {
  for (const draft of batch.writes.drafts.values()) {
    const { activation } = draft;
    const { address, partition, text, owned } = activation;
    activation.record = draft.record;
    const written = packed.texts.get(address);
    if (written !== undefined) {
      if (owned && text !== null) replaced.add({ partition, address, text });
      activation.text = written;
      activation.owned = isSpilled(written);
      activation.size = packed.sizes.get(address) ?? written.length;
    }
    // When the lease was lost meanwhile, a later holder may have changed the actor.
    if (activation.text !== null && !lost) cache.put(activation);
  }
}

interface CommitParts {
  readonly store: Pick<ActorStore, 'commit'>;
  readonly clock: Clock;
  readonly batchLimit: number;
  readonly counts: { fenced: number };
}

const FIRST_DELAY_MS = 20;

const MOST_DELAY_MS = 1_000;

/**
 * Repeats a commit whose outcome is unknown; the store recognises one that happened (actor-store.ts). When this process stops
 * serving the partition, the next holder reads the outcome from the store.
 */
async function commitWithRetry(
  { store, clock, batchLimit, counts }: CommitParts,
  commit: Commit,
  isOver: () => boolean,
): Promise<CommitOutcome> {
  for (let attempt = 0; ; attempt += 1) {
    try {
      const outcome = await store.commit(commit, batchLimit);
      if (outcome.kind === 'fenced') counts.fenced += 1;
      return outcome;
    } catch (thrown) {
      if (toSvcError(thrown).code !== 'unavailable') throw thrown;
      if (isOver()) return { kind: 'fenced' };
      await sleep(clock, backoffMs(attempt, FIRST_DELAY_MS, MOST_DELAY_MS));
    }
  }
}
