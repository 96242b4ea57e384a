import type { Commit } from '../actor-store.ts';
import type { GroupMember } from './group-commit.ts';

interface Applied {
  /** Store time. */
  readonly at: number;
  /** Which one of its partition. */
  readonly nth: number;
}

/** Commits that were applied: the same object again is not applied again, whatever was committed in between. */
export class AppliedCommits implements GroupMember {
  readonly #applied = new WeakMap<Commit, Applied>();
  readonly #inGroup = new Map<Commit, Applied>();

  of(commit: Commit): Applied | undefined {
    return this.#inGroup.get(commit) ?? this.#applied.get(commit);
  }

  add(commit: Commit, applied: Applied): void {
    this.#inGroup.set(commit, applied);
  }

  beforeCommit(): void {}

  committed(): void {
    for (const [commit, applied] of this.#inGroup) this.#applied.set(commit, applied);
    this.#inGroup.clear();
  }

  rolledBack(): void {
    this.#inGroup.clear();
  }
}
