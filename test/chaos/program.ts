import { z } from 'zod';
import { addressOf } from '../../runtime/address.ts';
import { defineActor, type Turn } from '../../runtime/define-actor.ts';
import { defineEffect, EffectResult } from '../../runtime/effect.ts';
import { SvcError } from '../../runtime/errors.ts';

/**
 * One step of a random program. Targets are ids of program actors, including the program itself.
 *
 * The final states do not depend on the order of execution, because all messages to an actor commute: totals are sums, and the
 * highest priority of all settings stays (priorities are unique). The answer to a call depends on the call alone. So a
 * difference at the end means a lost, repeated or invented message.
 */
export const Command = z.discriminatedUnion('do', [
  /** The value with the highest priority that was ever set stays. */
  z.object({ do: z.literal('set'), target: z.string(), priority: z.number().int(), value: z.number().int() }),
  z.object({ do: z.literal('add'), target: z.string(), by: z.number().int() }),
  /** The target adds `by` and returns twice as much, which the caller adds to its own total before its next command. */
  z.object({ do: z.literal('call'), target: z.string(), by: z.number().int() }),
  /** An `add` that is sent `delayMs` later; the program does not wait for it. */
  z.object({ do: z.literal('later'), target: z.string(), by: z.number().int(), delayMs: z.number().int() }),
  z.object({ do: z.literal('sleep'), delayMs: z.number().int() }),
  /** An effect that fails `failures` times and then returns `by`, which the program adds to its own total. */
  z.object({ do: z.literal('effect'), failures: z.number().int(), by: z.number().int() }),
]);
export type Command = z.infer<typeof Command>;

export const ProgramState = z.object({
  total: z.number().int(),
  best: z.object({ priority: z.number().int(), value: z.number().int() }).nullable(),
  /** Programs under way, with the command that each is executing. */
  running: z.record(z.string(), z.object({ commands: z.array(Command), at: z.number().int() })),
  ended: z.number().int(),
});
export type ProgramState = z.infer<typeof ProgramState>;

const messages = {
  Run: z.object({ program: z.string(), commands: z.array(Command).max(20) }),
  Set: z.object({ priority: z.number().int(), value: z.number().int() }),
  Add: z.object({ by: z.number().int() }),
  Call: z.object({ program: z.string(), by: z.number().int() }),
  Answered: z.object({ ok: z.literal(true), value: z.object({ program: z.string(), by: z.number().int() }) }),
  SendNow: z.object({ target: z.string(), by: z.number().int() }),
  Woke: z.object({ program: z.string() }),
  Done: EffectResult,
};
type ProgramTurn = Turn<Record<never, never>, typeof messages>;

/** Attempts of one effect, more than the failures and kills of any run. */
const RETRY = { maxAttempts: 100, initialDelayMs: 10, maxDelayMs: 200 };

export const program = defineActor({
  kind: 'program',
  version: 1,
  state: ProgramState,
  initial: () => ({ total: 0, best: null, running: {}, ended: 0 }),
  messages,
  events: {},
  on: {
    // Does not check whether it ran this program before, since a repeat must show in the sums.
    Run(state, { program: id, commands }, turn) {
      turn.reply({ started: id });
      return advance({ ...state, running: { ...state.running, [id]: { commands, at: 0 } } }, id, turn);
    },
    Set(state, { priority, value }) {
      return state.best === null || priority > state.best.priority ? { ...state, best: { priority, value } } : state;
    },
    Add(state, { by }) {
      return { ...state, total: state.total + by };
    },
    Call(state, { program: id, by }, turn) {
      turn.reply({ program: id, by: by * 2 });
      return { ...state, total: state.total + by };
    },
    Answered(state, { value: { program: id, by } }, turn) {
      return advance({ ...state, total: state.total + by }, id, turn);
    },
    SendNow(state, { target, by }, turn) {
      turn.tell(addressOf('program', turn.tenant, target), 'Add', { by });
      return state;
    },
    Woke(state, { program: id }, turn) {
      return advance(state, id, turn);
    },
    Done(state, { outcome, context }, turn) {
      const { program: id, by } = z.object({ program: z.string(), by: z.number() }).parse(context);
      if (outcome.kind !== 'done') throw new Error(`the effect of ${id} ended as ${outcome.kind}`);
      return advance({ ...state, total: state.total + by }, id, turn);
    },
  },
});

/** Runs the program's commands up to the next one that must wait. */
function advance(state: ProgramState, id: string, turn: ProgramTurn): ProgramState {
  const run = state.running[id];
  if (run === undefined) throw new Error(`program ${id} does not run: it was continued twice`);
  for (let at = run.at; ; at += 1) {
    const command = run.commands[at];
    if (command === undefined) {
      const { [id]: _, ...running } = state.running;
      return { ...state, running, ended: state.ended + 1 };
    }
    if (begin(command, `${id}-${at}`, id, turn) === 'waits') {
      return { ...state, running: { ...state.running, [id]: { ...run, at: at + 1 } } };
    }
  }
}

function begin(command: Command, step: string, id: string, turn: ProgramTurn): 'waits' | 'goes on' {
  const to = (target: string) => addressOf('program', turn.tenant, target);
  switch (command.do) {
    case 'set':
      turn.tell(to(command.target), 'Set', { priority: command.priority, value: command.value });
      return 'goes on';
    case 'add':
      turn.tell(to(command.target), 'Add', { by: command.by });
      return 'goes on';
    case 'later':
      turn.after(step, command.delayMs, 'SendNow', { target: command.target, by: command.by });
      return 'goes on';
    case 'call':
      turn.tell(to(command.target), 'Call', { program: id, by: command.by }, { replyAs: 'Answered' });
      return 'waits';
    case 'sleep':
      turn.after(step, command.delayMs, 'Woke', { program: id });
      return 'waits';
    case 'effect':
      turn.effect({
        kind: 'chaos.flaky',
        mode: 'repeatable',
        input: { failures: command.failures },
        replyAs: 'Done',
        context: { program: id, by: command.by },
        retry: RETRY,
      });
      return 'waits';
  }
}

/** Fails the requested number of times. */
export const flaky = defineEffect({
  kind: 'chaos.flaky',
  input: z.object({ failures: z.number() }),
  async run({ failures }, { attempt }) {
    if (attempt <= failures) throw new SvcError('unavailable', `attempt ${attempt} fails on purpose`);
    return null;
  },
});
