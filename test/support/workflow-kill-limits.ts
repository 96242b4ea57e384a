import { LIMITS } from '../../actors/workflow/limits.ts';
import { waitUntil } from './wait-until.ts';
import type { WorkflowCalls, WorkflowLogged } from './workflow-kill-calls.ts';
import { childrenIn } from './workflow-kill-run.ts';

/** A run with an upper bound of how often kills have hit one command of it. */
export interface KilledRun {
  readonly name: string;
  /** Null until its start is answered; it may run before. */
  id: string | null;
  hits: number;
}

const MOST = LIMITS.inDoubtRepeats;
const MOVED_MS = 60_000;

/**
 * The product repeats an interrupted command a limited number of times, and then its state fails (docs/guides/workflows.md).
 * Such a run keeps the promises, but ends otherwise than a run without kills. So a kill that might exceed the limit is
 * delayed until the command has ended.
 */
export class SparedRuns {
  readonly running = new Set<KilledRun>();
  readonly #calls: Pick<WorkflowCalls, 'log'>;
  #killedAt = 0;
  /** Kills that were delayed until a command ended. */
  waits = 0;

  constructor(calls: Pick<WorkflowCalls, 'log'>) {
    this.#calls = calls;
  }

  /** Called after a kill: each run may have been in a command. */
  killed(): void {
    this.#killedAt = Date.now();
    for (const run of this.running) run.hits += 1;
  }

  /**
   * Resolves when a kill cannot exceed the limit of a command; true: the logs of the node were read for that. While it
   * listens they are read one kill ahead, so that the next kill may hit its start.
   */
  async safe(listens: boolean): Promise<boolean> {
    const from = listens ? MOST - 1 : MOST;
    const hit = [...this.running].filter(({ hits, id }) => hits >= (id === null ? MOST : from));
    const waiting = await Promise.all(hit.map(async (run) => !(await this.#canBeHit(run))));
    if (waiting.includes(true)) this.waits += 1;
    // No kill happens meanwhile.
    for (const run of hit) {
      await waitUntil(`${run.name}, hit ${run.hits} times, to get further`, () => this.#canBeHit(run), MOVED_MS);
    }
    return hit.length > 0;
  }

  async #canBeHit(run: KilledRun): Promise<boolean> {
    if (!this.running.has(run)) return true;
    if (run.id !== null) run.hits = await this.#hitsOf(run.id);
    return run.hits < MOST || !this.running.has(run);
  }

  /** The maximum over the run and its children, by their logs. */
  async #hitsOf(id: string): Promise<number> {
    const log = await this.#calls.log(id);
    const below = await Promise.all(childrenIn(log).map((child) => this.#hitsOf(child)));
    return Math.max(hitsIn(log, this.#killedAt), ...below);
  }
}

/**
 * Repeats of the running command, plus one where nothing was logged since the last kill. The maximum where a child may
 * have been started without an event of its parent.
 */
export function hitsIn(log: readonly WorkflowLogged[], killedAt: number): number {
  const entered = log.findLastIndex(({ event_type }) => event_type === 'WorkflowStateEntered');
  const since = log.slice(entered + 1).map(({ event_type }) => event_type);
  const last = log.at(-1);
  if (last === undefined) return MOST;
  if (/^WorkflowExecution(Completed|Failed|Cancelled)$/.test(last.event_type)) return 0;
  if (log[entered]?.payload.kind === 'Subworkflow' && !since.includes('SubworkflowTriggered')) return MOST;
  const repeats = since.filter((type) => type === 'WorkflowStepRepeated').length;
  return repeats + (Date.parse(last.recorded_at) <= killedAt ? 1 : 0);
}
