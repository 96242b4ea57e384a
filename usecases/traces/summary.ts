import { criticalPath, endOf, type PathStep, type TimedDelivery } from './critical-path.ts';

/** An effect of the trace, Unix ms. */
interface TimedEffect {
  readonly effect_id: string;
  readonly kind: string | null;
  readonly started_at: number | null;
  /** Null while it runs. */
  readonly ended_at: number | null;
}

/** A wait for a person: an approval that was answered, or is still pending. Unix ms. */
export interface TimedWait {
  readonly from: number;
  readonly until: number;
}

/** How the time of a trace was spent. */
export interface TraceTimes {
  /** From the first append to the last end. */
  readonly duration_ms: number;
  readonly deliveries: number;
  /** All deliveries that waited in mailboxes, added up. */
  readonly mailbox_ms: number;
  /** All turns, added up. */
  readonly turns_ms: number;
  /** Effects by kind; those that run count up to the end of the trace. */
  readonly effects: readonly { readonly kind: string; readonly count: number; readonly ms: number }[];
  readonly timers_ms: number;
  /** Waits for people, added up without counting the same moment twice. */
  readonly people_ms: number;
  /** The same for the critical path alone; its parts add up to its duration. */
  readonly critical_path: {
    readonly duration_ms: number;
    readonly mailbox_ms: number;
    readonly turns_ms: number;
    readonly effects: readonly { readonly kind: string; readonly ms: number }[];
    readonly timers_ms: number;
    readonly relay_ms: number;
  };
}

const UNKNOWN_EFFECT = 'unknown';

/** Microseconds are the smallest part that is measured. */
const sum = (numbers: readonly number[]): number =>
  Math.round(numbers.reduce((total, one) => total + one, 0) * 1_000) / 1_000;

export function traceTimes(parts: {
  readonly deliveries: readonly TimedDelivery[];
  readonly effects: readonly TimedEffect[];
  readonly people: readonly TimedWait[];
}): TraceTimes {
  const { deliveries, effects, people } = parts;
  const first = Math.min(...deliveries.map(({ at }) => at));
  const last = Math.max(...deliveries.map(endOf));
  const byId = new Map(deliveries.map((one) => [one.message_id, one]));
  return {
    duration_ms: deliveries.length === 0 ? 0 : sum([last, -first]),
    deliveries: deliveries.length,
    mailbox_ms: sum(deliveries.map(({ wait_ms }) => wait_ms)),
    turns_ms: sum(deliveries.map(({ turn_ms }) => turn_ms)),
    effects: effectTimes(effects, last),
    timers_ms: sum(
      deliveries.filter(({ origin }) => origin === 'timer').map((one) => timerMs(one, byId.get(one.cause_id ?? ''))),
    ),
    people_ms: coveredMs(people),
    critical_path: pathTimes(criticalPath(deliveries)),
  };
}

function effectTimes(effects: readonly TimedEffect[], last: number): TraceTimes['effects'] {
  const kinds = Map.groupBy(effects, ({ kind }) => kind ?? UNKNOWN_EFFECT);
  return [...kinds]
    .map(([kind, some]) => ({
      kind,
      count: some.length,
      ms: sum(
        some.map(({ started_at, ended_at }) =>
          started_at === null ? 0 : Math.max(0, (ended_at ?? Math.max(last, started_at)) - started_at),
        ),
      ),
    }))
    .sort((one, other) => other.ms - one.ms || (one.kind < other.kind ? -1 : 1));
}

/** From the end of the turn that set a timer to its arrival in the mailbox. */
const timerMs = (timer: TimedDelivery, setter: TimedDelivery | undefined): number =>
  setter === undefined ? 0 : Math.max(0, timer.at - endOf(setter));

/** Length of the union of the waits. */
export function coveredMs(waits: readonly TimedWait[]): number {
  let covered = 0;
  let reached = Number.NEGATIVE_INFINITY;
  for (const { from, until } of waits.toSorted((one, other) => one.from - other.from)) {
    const begin = Math.max(from, reached);
    if (until <= begin) continue;
    covered += until - begin;
    reached = until;
  }
  return covered;
}

function pathTimes(steps: readonly PathStep[]): TraceTimes['critical_path'] {
  const of = (kind: PathStep['kind']): number =>
    sum(steps.filter((step) => step.kind === kind).map(({ from, until }) => until - from));
  const kinds = Map.groupBy(
    steps.filter(({ kind }) => kind === 'effect'),
    ({ effect_kind }) => effect_kind ?? UNKNOWN_EFFECT,
  );
  const effects = [...kinds].map(([kind, some]) => ({ kind, ms: sum(some.map(({ from, until }) => until - from)) }));
  return {
    duration_ms: sum(steps.map(({ from, until }) => until - from)),
    mailbox_ms: of('mailbox'),
    turns_ms: of('turn'),
    effects: effects.sort((one, other) => other.ms - one.ms),
    timers_ms: of('timer'),
    relay_ms: of('relay'),
  };
}
