import { percentile } from '../../kill/recovery.ts';
import type { StoreKind } from '../../kill/stores.ts';
import type { FaultCase, RoundOutcome } from './fault-case.ts';

/** What the rounds of one case on one store came to. */
export interface Row {
  readonly of: FaultCase;
  readonly store: StoreKind;
  readonly outcomes: readonly RoundOutcome[];
  /** What ended the rounds before their time. */
  readonly failure: string | null;
  readonly tookMs: number;
}

export function isBroken({ hung, nodesEnded, lost, repeated }: RoundOutcome): boolean {
  return hung + nodesEnded + lost + repeated > 0;
}

const HEAD = [
  '| Case | Store | Rounds | Runs | Hung | Nodes ended | Lost | Silently repeated | Recovery p50, p99 (s) | Minutes |',
  '|---|---|---|---|---|---|---|---|---|---|',
];

export const table = (rows: readonly Row[]): string[] => [...HEAD, ...rows.map(lineOf)];

export function lineOf({ of: { name }, store, outcomes, failure, tookMs }: Row): string {
  const sum = (pick: (outcome: RoundOutcome) => number): number => outcomes.reduce((all, one) => all + pick(one), 0);
  const times = outcomes.flatMap(({ recoveryMs }) => (recoveryMs === null ? [] : [recoveryMs]));
  const seconds = (fraction: number): string => (percentile(times, fraction) / 1_000).toFixed(2);
  const recovery = times.length === 0 ? '–' : `${seconds(0.5)}, ${seconds(0.99)}`;
  const rounds = failure === null ? `${outcomes.length}` : `${outcomes.length}, then failed`;
  const counts = [sum((one) => one.runs), sum((one) => one.hung), sum((one) => one.nodesEnded)];
  const more = [sum((one) => one.lost), sum((one) => one.repeated)];
  return `| ${[name, store, rounds, ...counts, ...more, recovery, (tookMs / 60_000).toFixed(1)].join(' | ')} |`;
}
