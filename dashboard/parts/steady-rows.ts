import { useState } from 'react';

interface SteadyRows<Row> {
  readonly rows: readonly Row[];
  /** Number of rows that are not shown yet. */
  readonly fresh: number;
  /** Shows the new rows. */
  readonly show: () => void;
}

/**
 * Rows of a live list that do not move under the pointer: known rows change in place and keep their order, rows of further
 * pages follow at the end, new ones at the top are counted until the user shows them. Another `list` (other filters) starts
 * from the beginning.
 */
export function useSteadyRows<Row>(rows: readonly Row[], keyOf: (row: Row) => string, list: string): SteadyRows<Row> {
  const [kept, setKept] = useState<{ readonly list: string; readonly keys: readonly string[] }>({ list, keys: [] });
  const byKey = new Map(rows.map((row) => [keyOf(row), row]));
  const isSame = kept.list === list && kept.keys.length > 0;
  const known = new Set(isSame ? kept.keys : byKey.keys());
  let keys = isSame ? kept.keys : [...byKey.keys()];
  let fresh = 0;
  let isBehind = false;
  const behind: string[] = [];
  for (const key of byKey.keys()) {
    if (known.has(key)) isBehind = true;
    else if (isBehind) behind.push(key);
    else fresh += 1;
  }
  if (behind.length > 0) keys = [...keys, ...behind];
  if (kept.list !== list || keys.length !== kept.keys.length) setKept({ list, keys });
  return {
    rows: keys.flatMap((key) => byKey.get(key) ?? []),
    fresh,
    show: () => setKept({ list, keys: [...byKey.keys()] }),
  };
}
