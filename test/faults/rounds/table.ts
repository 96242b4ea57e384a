import { percentile } from '../../kill/recovery.ts';
import type { StoreKind } from '../../kill/stores.ts';
import type { FaultCase, RoundOutcome } from './fault-case.ts';

/** Results of one case on one store. */
export interface Row {
  readonly of: FaultCase;
  readonly store: StoreKind;
  readonly outcomes: readonly RoundOutcome[];
  /** Failure that ended the rounds early. */
  readonly failure: string | null;
  readonly tookMs: number;
}

export function isBroken({ hung, nodesEnded, lost, repeated }: RoundOutcome): boolean {
  return hung + nodesEnded + lost + repeated > 0;
}

const COLUMNS = [
  ...['Case', 'Store', 'Rounds', 'Runs', 'Hung', 'Nodes ended', 'Lost', 'Silently repeated'],
  ...['Recovery p50 (s)', 'Recovery p99 (s)', 'Minutes'],
];
/** Columns of text. */
const ALIGNED_LEFT = 2;
const STORES: Readonly<Record<StoreKind, string>> = { sqlite: 'SQLite', redis: 'Redis' };

const rowOf = (cells: readonly string[]): string => `| ${cells.join(' | ')} |`;

const HEAD = [rowOf(COLUMNS), `|${COLUMNS.map((_, at) => (at < ALIGNED_LEFT ? '---|' : '--:|')).join('')}`];

/** Markdown table as in `docs/operations/faults.md`, and a sentence for each case whose store lost writes. */
export function table(rows: readonly Row[]): string[] {
  const said = rows.flatMap(ofStore);
  return [...HEAD, ...rows.map(lineOf), ...(said.length === 0 ? [] : ['', ...said])];
}

export function lineOf({ of: { name }, store, outcomes, failure, tookMs }: Row): string {
  const sum = (pick: (outcome: RoundOutcome) => number): string =>
    outcomes.reduce((all, one) => all + pick(one), 0).toLocaleString('en');
  const times = outcomes.flatMap(({ recoveryMs }) => (recoveryMs === null ? [] : [recoveryMs]));
  const seconds = (fraction: number): string =>
    times.length === 0 ? '–' : (percentile(times, fraction) / 1_000).toFixed(2);
  return rowOf([
    `\`${name}\``,
    STORES[store],
    failure === null ? String(outcomes.length) : `${outcomes.length}, then failed`,
    sum((one) => one.runs),
    sum((one) => one.hung),
    sum((one) => one.nodesEnded),
    sum((one) => one.lost),
    sum((one) => one.repeated),
    seconds(0.5),
    seconds(0.99),
    (tookMs / 60_000).toFixed(1),
  ]);
}

function ofStore({ of: { name }, outcomes }: Row): string[] {
  const all = outcomes.flatMap((one) => (one.ofStore === undefined ? [] : [one.ofStore]));
  if (all.length === 0) return [];
  const sum = (pick: (one: (typeof all)[number]) => number): number => all.reduce((of, one) => of + pick(one), 0);
  const [gone, again] = [sum((one) => one.gone), sum((one) => one.again)];
  const [takeovers, behind, actors] = [sum((one) => one.takeovers), sum((one) => one.behind), sum((one) => one.actors)];
  return [
    `\`${name}\`: the store lost ${gone} runs, and a write of each run that asked its model again (${again} calls). Of ` +
      `${takeovers} takeovers behind the loss, ${behind} were of partitions that went back; each has its line in a log, ` +
      `with ${actors} actors in all.`,
  ];
}
