import { seeded } from '../support/faulty-store.ts';
import type { Command, ProgramState } from './program.ts';

export interface PlannedProgram {
  readonly id: string;
  /** Id of the actor that runs it. */
  readonly actor: string;
  readonly commands: readonly Command[];
}

/** Expected state of an actor when all programs have ended. */
export type Expected = Pick<ProgramState, 'total' | 'best' | 'ended'>;

interface ProgramPlan {
  readonly programs: readonly PlannedProgram[];
  readonly expected: ReadonlyMap<string, Expected>;
}

const MOST_COMMANDS = 20;
const LONGEST_DELAY_MS = 400;

/** Random programs over random actors, and their expected final states; all of it follows from the seed. */
export function planPrograms(options: { programs: number; actors: number; seed: number }): ProgramPlan {
  const random = seeded(options.seed);
  const below = (bound: number): number => Math.floor(random() * bound);
  const actor = (): string => `a${below(options.actors)}`;
  // Unique, so that each actor has one highest priority.
  let priorities = 0;
  const command = (): Command => {
    const chance = random();
    const by = 1 + below(100);
    if (chance < 0.2) {
      priorities += 1;
      const priority = below(1_000_000) * 10_000_000 + priorities;
      return { do: 'set', target: actor(), priority, value: below(1_000) };
    }
    if (chance < 0.45) return { do: 'add', target: actor(), by };
    if (chance < 0.65) return { do: 'call', target: actor(), by };
    if (chance < 0.8) return { do: 'later', target: actor(), by, delayMs: 1 + below(LONGEST_DELAY_MS) };
    if (chance < 0.9) return { do: 'sleep', delayMs: 1 + below(LONGEST_DELAY_MS) };
    return { do: 'effect', failures: below(3), by };
  };
  const programs = Array.from({ length: options.programs }, (_, index): PlannedProgram => {
    const commands = Array.from({ length: 1 + below(MOST_COMMANDS) }, command);
    return { id: `p${index}`, actor: actor(), commands };
  });
  return { programs, expected: endOf(programs) };
}

/** The final states of all programs, computed without a runtime. */
export function endOf(programs: readonly PlannedProgram[]): ReadonlyMap<string, Expected> {
  const ends = new Map<string, Expected>();
  const change = (actor: string, next: (end: Expected) => Expected): void => {
    ends.set(actor, next(ends.get(actor) ?? { total: 0, best: null, ended: 0 }));
  };
  const add = (actor: string, by: number): void => change(actor, (end) => ({ ...end, total: end.total + by }));
  for (const { actor, commands } of programs) {
    change(actor, (end) => ({ ...end, ended: end.ended + 1 }));
    for (const command of commands) {
      if (command.do === 'set') {
        const { target, priority, value } = command;
        change(target, (end) =>
          end.best === null || priority > end.best.priority ? { ...end, best: { priority, value } } : end,
        );
      } else if (command.do === 'add' || command.do === 'later') {
        add(command.target, command.by);
      } else if (command.do === 'call') {
        add(command.target, command.by);
        add(actor, command.by * 2);
      } else if (command.do === 'effect') {
        add(actor, command.by);
      }
    }
  }
  return ends;
}

/** Difference between an actor and its expected state; null when there is none. */
export function differenceOf(expected: Expected, state: ProgramState | null): string | null {
  const { total = 0, best = null, ended = 0, running = {} } = state ?? {};
  const seen = JSON.stringify({ total, best, ended });
  const due = JSON.stringify({ total: expected.total, best: expected.best, ended: expected.ended });
  if (seen === due && Object.keys(running).length === 0) return null;
  return `is ${seen}, expected ${due}, still runs ${JSON.stringify(Object.entries(running).map(([id, { commands, at }]) => [id, at - 1, commands[at - 1]]))}`;
}
