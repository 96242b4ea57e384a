import type { ActorStore, Commit } from '../../runtime/actor-store.ts';

/** Characters that the commits of a loop write, by part, and the number of commits. */
export interface CommitBytes {
  commits: number;
  largest: number;
  readonly parts: Record<string, number>;
}

/** Counts the parts of a store's commits until the returned function is called. */
export function countCommits(store: ActorStore): () => CommitBytes {
  const counted: CommitBytes = { commits: 0, largest: 0, parts: {} };
  const { commit } = store;
  store.commit = (given, readAhead) => {
    let all = 0;
    for (const [part, value] of Object.entries(given)) {
      if (typeof value === 'number' || part === 'lease') continue;
      const chars = charsOf(value);
      counted.parts[part] = (counted.parts[part] ?? 0) + chars;
      all += chars;
    }
    counted.commits += 1;
    counted.largest = Math.max(counted.largest, all);
    return commit.call(store, given, readAhead);
  };
  return () => {
    store.commit = commit;
    return counted;
  };
}

const charsOf = (value: Commit[keyof Commit]): number => JSON.stringify(value)?.length ?? 0;
