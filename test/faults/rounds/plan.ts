import type { StoreKind } from '../../kill/stores.ts';
import { FAULT_CASES } from './cases.ts';
import type { FaultCase } from './fault-case.ts';

interface Planned {
  readonly of: FaultCase;
  readonly store: StoreKind;
  /** Duration of all its rounds, roughly, on two cores. */
  readonly minutes: number;
}

/** Assumed for rows that were not measured. */
const UNKNOWN_MINUTES = 4;

const MINUTES: Readonly<Record<string, Partial<Record<StoreKind, number>>>> = {
  'early-cancel': { sqlite: 3, redis: 4 },
  'replica-behind': { redis: 5 },
  'power-failure': { redis: 3 },
  'redis-away': { redis: 8 },
  'redis-restored': { redis: 5 },
  'documents-away': { redis: 8 },
  'stores-away': { redis: 7 },
  versions: { sqlite: 4, redis: 5 },
  'hung-model': { sqlite: 5, redis: 5 },
  'removed-runs': { sqlite: 5, redis: 5 },
  'start-keys': { sqlite: 4, redis: 5 },
};

/** All rows of the table, or those of these cases and this store. */
export function planned(names: readonly string[], only: string | undefined): readonly Planned[] {
  return FAULT_CASES.filter(({ name }) => names.length === 0 || names.includes(name)).flatMap((of) =>
    of.stores
      .filter((store) => only === undefined || only === store)
      .map((store) => ({ of, store, minutes: MINUTES[of.name]?.[store] ?? UNKNOWN_MINUTES })),
  );
}

export const minutesOf = (rows: readonly Planned[]): number => rows.reduce((sum, { minutes }) => sum + minutes, 0);

/**
 * Part `part` of `parts`, from 1: rows are assigned from the longest to the shortest, each to the part with the least
 * time so far.
 */
export function sliceOf(rows: readonly Planned[], part: number, parts: number): readonly Planned[] {
  const slices: Planned[][] = Array.from({ length: parts }, () => []);
  for (const row of rows.toSorted((a, b) => b.minutes - a.minutes)) {
    slices.toSorted((a, b) => minutesOf(a) - minutesOf(b))[0]?.push(row);
  }
  const wanted = slices[part - 1];
  if (wanted === undefined) throw new Error(`there is no part ${part} of ${parts}`);
  return rows.filter((row) => wanted.includes(row));
}
