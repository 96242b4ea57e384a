import { LIMITS } from '../../actors/workflow/limits.ts';
import { waitUntil } from './wait-until.ts';
import type { WorkflowCalls, WorkflowLogged } from './workflow-kill-calls.ts';
import { childrenIn } from './workflow-kill-run.ts';

/** A run of which the killing knows how often one command of it may have been hit, and no less. */
export interface KilledRun {
  readonly name: string;
  /** Null until its start is answered: it may run all the same. */
  id: string | null;
  hits: number;
}

const MOST = LIMITS.inDoubtRepeats;
const MOVED_MS = 60_000;

/**
 * A command is run again as often in a row as the product promises, and then its state fails (docs/guides/workflows.md): no
 * broken promise, but not the end of an unkilled run. So a kill that could be the one beyond waits until the command has
 * ended. All others come when they come.
 */
export class SparedRuns {
  readonly running = new Set<KilledRun>();
  readonly #calls: Pick<WorkflowCalls, 'log'>;
  #killedAt = 0;
  /** Kills that waited for a command to end. */
  waits = 0;

  constructor(calls: Pick<WorkflowCalls, 'log'>) {
    this.#calls = calls;
  }

  /** The node is dead: each run may have been in a command. */
  killed(): void {
    this.#killedAt = Date.now();
    for (const run of this.running) run.hits += 1;
  }

  /**
   * Resolves when no command can be hit more often than it survives; true: the node has answered for that. One that
   * listens is asked a kill ahead, so that the next may hit its start without being asked for.
   */
  async safe(listens: boolean): Promise<boolean> {
    const from = listens ? MOST - 1 : MOST;
    const hit = [...this.running].filter(({ hits, id }) => hits >= (id === null ? MOST : from));
    const waiting = await Promise.all(hit.map(async (run) => !(await this.#canBeHit(run))));
    if (waiting.includes(true)) this.waits += 1;
    // No kill, so no hit, comes meanwhile.
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

  /** The most of it and its children, by their logs. */
  async #hitsOf(id: string): Promise<number> {
    const log = await this.#calls.log(id);
    const below = await Promise.all(childrenIn(log).map((child) => this.#hitsOf(child)));
    return Math.max(hitsIn(log, this.#killedAt), ...below);
  }
}

/**
 * Repeats of the command that runs now, and one that is to come where nothing was logged since the last kill. As many as
 * there may be where a child was started that its parent has not heard of.
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
