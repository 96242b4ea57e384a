import type { Clock } from '../clock.ts';
import type { Collection, Documents } from '../documents.ts';
import { toSvcError } from '../errors.ts';
import { SYSTEM_TENANT } from '../identity.ts';
import { turnsFirst } from '../kit/waits.ts';
import type { Random } from '../random.ts';
import type { KeptFrom } from './kept-from.ts';
import { GONE, KeyMerger, RunCursor } from './key-merger.ts';
import { NAMES, type SegmentRef } from './key-pages.ts';
import { type KeyRun, KeyRunWriter } from './key-run.ts';
import type { KeyRuns } from './key-runs.ts';
import { LEDGER, type LedgerSegment } from './segments.ts';

/** Runs of one level that are merged into one of the next. */
const FAN_OUT = 8;
/** A run with more keys is not merged any more. */
const MOST_KEYS = 64_000_000;
/** How long replaced runs stay for readers that have begun with them. */
const GRACE_MS = 10_000;
/** Runs of a node that has written none for this long are merged by the node that does the sweeps. */
const IDLE_MS = 3_600_000;
/** Time between two searches for runs that retention has emptied. */
const PRUNE_EVERY_MS = 60_000;
/** Segments whose existence is checked together. */
const ASKED_AT_ONCE = 500;

interface KeyMergeParts {
  readonly keys: KeyRuns;
  readonly segments: Collection<LedgerSegment>;
  readonly kept: KeptFrom;
  readonly node: string;
  readonly clock: Clock;
  readonly random: Random;
  /** Whether this node does the sweeps of the fleet. */
  readonly sweeps: () => boolean;
  readonly warn: (message: string, error: unknown) => void;
}

/**
 * Merges the runs of this node in the background, one merge at a time, page by page, so that a look-up reads few runs
 * (decision 0037). It drops keys of segments that retention removed. A merge that is interrupted leaves an open run,
 * which the next start deletes. A merge that happened twice leaves duplicate keys, which readers ignore.
 */
export class KeyMerge {
  readonly #parts: KeyMergeParts;
  readonly #startedAt: number;
  #running: Promise<void> | null = null;
  #stopped = false;
  #hasBegun = false;
  #prunedAt = Number.NEGATIVE_INFINITY;

  static async open(parts: Omit<KeyMergeParts, 'segments'> & { readonly documents: Documents }): Promise<KeyMerge> {
    return new KeyMerge({ ...parts, segments: await parts.documents.collection<LedgerSegment>(LEDGER) });
  }

  constructor(parts: KeyMergeParts) {
    this.#parts = parts;
    this.#startedAt = parts.clock.now();
  }

  /** Begins the work that is due, unless it is under way. */
  wake(): void {
    if (this.#running !== null || this.#stopped) return;
    this.#running = this.step()
      .catch((thrown: unknown) =>
        this.#parts.warn('the runs of ledger keys could not be merged; the next write tries again', toSvcError(thrown)),
      )
      .finally(() => {
        this.#running = null;
      });
  }

  async stop(): Promise<void> {
    this.#stopped = true;
    await this.#running;
  }

  /** Does all the work that is due. Tests call it too. */
  async step(): Promise<void> {
    const { keys, clock } = this.#parts;
    if (!this.#hasBegun) await this.#deleteOpen();
    for (let due = dueOf(await this.#mine()); due !== null && !this.#stopped; due = dueOf(await this.#mine())) {
      const level = Math.max(...due.map((run) => run.level));
      await this.#merge(due, level + 1);
    }
    await this.#deleteReplaced(await keys.heads());
    if (clock.monotonic() - this.#prunedAt < PRUNE_EVERY_MS) return;
    this.#prunedAt = clock.monotonic();
    await this.prune();
  }

  /** Rewrites runs of which retention removed half the segments or more. */
  async prune(): Promise<void> {
    if (!(await this.#parts.kept.any())) return;
    for (const run of await this.#mine()) {
      if (this.#stopped) return;
      const isGone = await this.#goneOf(run);
      let gone = 0;
      for (const one of isGone) gone += one;
      if (gone * 2 >= run.segments) await this.#merge([run], run.level);
    }
  }

  /** Live runs that this node merges, without those that were replaced. */
  async #mine(): Promise<KeyRun[]> {
    const { keys, node, clock, sweeps } = this.#parts;
    const live = (await keys.heads()).filter(({ state }) => state === 'live');
    const replaced = new Set(live.flatMap(({ parts }) => parts.replaces));
    const last = new Map<string, number>();
    for (const run of live) last.set(run.node, Math.max(last.get(run.node) ?? 0, run.written_at));
    const isIdle = (of: string): boolean => sweeps() && clock.now() - (last.get(of) ?? 0) > IDLE_MS;
    return live.filter((run) => !replaced.has(run.id) && (run.node === node || isIdle(run.node)));
  }

  async #merge(sources: readonly KeyRun[], level: number): Promise<void> {
    const { keys, node, clock, random } = this.#parts;
    const writer = new KeyRunWriter(keys.collections, { id: `${node}.${random.uuid()}`, node, level }, clock.now());
    const cursors: RunCursor[] = [];
    for (const run of sources) {
      const numbers = await this.#namesInto(writer, run);
      if (numbers === null) return;
      const cursor = new RunCursor(keys, run, numbers);
      if (await cursor.load()) cursors.push(cursor);
    }
    const merger = new KeyMerger();
    for (let left = cursors; left.length > 0; ) {
      if (this.#stopped) return;
      const ended = merger.mergeInto(writer, left);
      if (writer.isFull) await writer.flush();
      await turnsFirst();
      for (const cursor of ended) if (!(await cursor.load())) left = left.filter((one) => one !== cursor);
    }
    const head = await writer.finish(
      clock.now(),
      sources.map(({ id }) => id),
    );
    if (head !== null) keys.add(head);
    else await this.#delete(sources.map(({ id }) => id));
  }

  /** Adds the names of a run's segments that still exist. Returns their new numbers; null when the run was deleted. */
  async #namesInto(writer: KeyRunWriter, run: KeyRun): Promise<Uint32Array | null> {
    const gone = await this.#goneOf(run);
    const numbers = new Uint32Array(run.segments).fill(GONE);
    for (let at = 0; at < run.segments; at += 1) {
      if (gone[at] === 1) continue;
      const names = await this.#parts.keys.namePage(run, Math.floor(at / NAMES));
      const ref = names?.[at % NAMES];
      if (ref === undefined) return null;
      numbers[at] = await writer.addSegment(ref);
    }
    return numbers;
  }

  /** For each segment of a run whether retention removed it: 1 or 0. */
  async #goneOf(run: KeyRun): Promise<Uint8Array> {
    const { keys, kept } = this.#parts;
    const gone = new Uint8Array(run.segments);
    if (!(await kept.any())) return gone;
    for (let page = 0; page * NAMES < run.segments; page += 1) {
      const names = (await keys.namePage(run, page)) ?? [];
      for (const [tenant, some] of Map.groupBy(names.entries(), ([, ref]) => ref.tenant)) {
        const from = (await kept.of(tenant)) ?? 0;
        const asked = some.filter(([, ref]) => ref.to < from);
        const there = await this.#existing(
          tenant,
          asked.map(([, ref]) => ref),
        );
        for (const [at, ref] of asked) if (!there.has(ref.id)) gone[page * NAMES + at] = 1;
      }
      await turnsFirst();
    }
    return gone;
  }

  async #existing(tenant: string, refs: readonly SegmentRef[]): Promise<Set<string>> {
    const there = new Set<string>();
    for (let at = 0; at < refs.length; at += ASKED_AT_ONCE) {
      const ids = refs.slice(at, at + ASKED_AT_ONCE).map(({ id }) => id);
      const found = await this.#parts.segments.findStored({ tenant, where: { id: { in: ids } }, limit: ids.length });
      for (const { id } of found) there.add(id);
    }
    return there;
  }

  /** Deletes what writes and merges of an earlier process of this node left. This process may be writing a run now. */
  async #deleteOpen(): Promise<void> {
    const { keys, node } = this.#parts;
    const heads = await keys.heads();
    const open = heads.filter((run) => run.node === node && run.state === 'open' && run.written_at < this.#startedAt);
    await this.#delete(open.map(({ id }) => id));
    this.#hasBegun = true;
  }

  async #deleteReplaced(heads: readonly KeyRun[]): Promise<void> {
    const { keys, node, clock, sweeps } = this.#parts;
    // The oldest first: a run that was merged further is deleted after the runs that it replaced.
    for (const run of heads.toSorted((a, b) => a.written_at - b.written_at)) {
      const { replaces } = run.parts;
      const isMine = run.node === node || sweeps();
      if (!isMine || run.state !== 'live' || replaces.length === 0 || clock.now() - run.written_at < GRACE_MS) continue;
      await this.#delete(replaces);
      const version = run.version + 1;
      const done = { ...run, version, parts: { ...run.parts, replaces: [] } };
      if (await keys.collections.runs.replace(done, run.version)) keys.add(done);
    }
  }

  async #delete(ids: readonly string[]): Promise<void> {
    const { runs, pages } = this.#parts.keys.collections;
    for (const run of ids) {
      await pages.deleteMany({ tenant: SYSTEM_TENANT, where: { run } });
      await runs.delete(SYSTEM_TENANT, run);
    }
  }
}

/** The runs to merge next: the oldest of the lowest level that has enough of them. */
function dueOf(runs: readonly KeyRun[]): readonly KeyRun[] | null {
  const levels = [...Map.groupBy(runs, ({ level }) => level)].sort(([a], [b]) => a - b);
  for (const [, all] of levels) {
    const small = all.filter(({ keys }) => keys < MOST_KEYS).sort((a, b) => a.written_at - b.written_at);
    if (small.length >= FAN_OUT) return small.slice(0, FAN_OUT);
  }
  return null;
}
