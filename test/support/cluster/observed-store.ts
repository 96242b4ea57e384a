import { type Commit, type CommitOutcome, changesOf, type Lease } from '../../../runtime/actor-store.ts';
import type { Address, Log, Partition } from '../../../runtime/address.ts';
import { SvcError } from '../../../runtime/errors.ts';
import { RedisCommits } from '../../../runtime/redis/commits.ts';
import { RedisMailboxes } from '../../../runtime/redis/mailboxes.ts';
import { seeded } from '../faulty-store.ts';

/** The commits of one lease in one partition, as long as no other lease of this process was used: Unix ms, the store's. */
interface CommitSpan {
  readonly partition: Partition;
  /** Of the partition, or the shared log. */
  readonly log: Log;
  readonly epoch: number;
  readonly from: number;
  to: number;
  commits: number;
}

/** Calls of this process to the store since its start. */
interface StoreSeen {
  /** Commits the store took. */
  readonly committed: number;
  /** Commits the store refused: lease, grant or cursor was not the expected one. */
  readonly fenced: number;
  /** Answers dropped after the store had executed the call. */
  readonly ambiguous: number;
  /** When it committed under which lease, in the order in which it used them. */
  readonly spans: readonly CommitSpan[];
  /** Activations by address. */
  readonly loads: Readonly<Record<Address, number>>;
}

/**
 * Patches the Redis adapter of this process: it counts calls and makes the share `ambiguity` (0 to 1) of commits and
 * appends fail with `unavailable` after they were executed, as a lost answer does.
 */
export function observeStore(ambiguity: number, seed: number): () => StoreSeen {
  const random = seeded(seed);
  const count = { committed: 0, fenced: 0, ambiguous: 0 };
  const spans: CommitSpan[] = [];
  const last = new Map<Partition, { readonly grant: string; readonly span: CommitSpan }>();
  const loads = new Map<Address, number>();
  const loseSome = (): void => {
    if (ambiguity === 0 || random() >= ambiguity) return;
    count.ambiguous += 1;
    throw new SvcError('unavailable', 'the answer was lost on purpose');
  };

  const note = ({ log, epoch, grant }: Lease, partition: Partition, at: number): void => {
    let known = last.get(partition);
    if (known?.grant !== grant) {
      known = { grant, span: { partition, log, epoch, from: at, to: at, commits: 0 } };
      spans.push(known.span);
      last.set(partition, known);
    }
    known.span.to = Math.max(known.span.to, at);
    known.span.commits += 1;
  };

  const commits = RedisCommits.prototype;
  const { commit, load } = commits;
  commits.commit = async function (this: RedisCommits, batch: Commit, readAhead: number): Promise<CommitOutcome> {
    const outcome = await commit.call(this, batch, readAhead);
    if (outcome.kind === 'fenced') {
      count.fenced += 1;
      return outcome;
    }
    if (outcome.kind === 'unsettled') return outcome;
    count.committed += 1;
    for (const { partition } of changesOf(batch)) note(batch.lease, partition, outcome.at);
    loseSome();
    return outcome;
  };
  commits.load = async function (this: RedisCommits, partition: Partition, addresses: readonly Address[]) {
    for (const address of addresses) loads.set(address, (loads.get(address) ?? 0) + 1);
    return load.call(this, partition, addresses);
  };
  const mailboxes = RedisMailboxes.prototype;
  const { append } = mailboxes;
  mailboxes.append = async function (this: RedisMailboxes, ...args: Parameters<RedisMailboxes['append']>) {
    const outcomes = await append.apply(this, args);
    loseSome();
    return outcomes;
  };
  return () => ({
    ...count,
    spans: spans.map((span) => ({ ...span })),
    loads: Object.fromEntries(loads),
  });
}
