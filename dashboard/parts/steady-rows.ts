import { useState } from 'react';

interface SteadyRows<Row> {
  readonly rows: readonly Row[];
  /** Number of rows that are not shown yet. */
  readonly fresh: number;
  /** Shows them. */
  readonly show: () => void;
}

/**
 * Rows of a live list of which nothing moves under the pointer: known rows change in their places and keep their order, new
 * ones are counted until the user asks for them. Another `list` (other filters) starts anew.
 */
export function useSteadyRows<Row>(rows: readonly Row[], keyOf: (row: Row) => string, list: string): SteadyRows<Row> {
  const [kept, setKept] = useState<{ readonly list: string; readonly keys: readonly string[] }>({ list, keys: [] });
  const byKey = new Map(rows.map((row) => [keyOf(row), row]));
  let { keys } = kept;
  if (kept.list !== list || keys.length === 0) {
    keys = [...byKey.keys()];
    if (keys.length > 0 || kept.list !== list) setKept({ list, keys });
  }
  const known = new Set(keys);
  return {
    rows: keys.flatMap((key) => byKey.get(key) ?? []),
    fresh: rows.length === 0 ? 0 : [...byKey.keys()].filter((key) => !known.has(key)).length,
    show: () => setKept({ list, keys: [...byKey.keys()] }),
  };
}
