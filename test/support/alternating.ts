import { randomInt } from 'node:crypto';

/** A folder in which each file shows one fault, or one load under kills: most of its time is the start of a fleet of its own. */
interface Alike {
  readonly what: string;
  readonly folder: string;
  /** A normal run takes each `nth` of its files. */
  readonly nth: number;
}

const ALIKE: readonly Alike[] = [
  { what: 'scenarios of a fleet under kills, freezes and cuts', folder: 'test/chaos/', nth: 2 },
  { what: 'faults of nodes, Redis and MongoDB', folder: 'test/faults/', nth: 2 },
  { what: 'kills of a node at any moment', folder: 'test/kill/', nth: 2 },
];

/** Shorter files run each time. */
const ALTERNATING_SECONDS = 5;

export interface Chosen {
  readonly files: readonly string[];
  /** What is not in this run, a line for each folder. */
  readonly said: readonly string[];
}

/**
 * Of files that are alike each `nth`, from a random one on, as `someOf` takes rows; all others. `seconds` are those that files
 * took: long and short ones are spread over the runs.
 */
export function alternating(
  files: readonly string[],
  seconds: Readonly<Record<string, number>>,
  first = randomInt(2 ** 16),
): Chosen {
  const away = new Set<string>();
  const said = ALIKE.flatMap(({ what, folder, nth }) => {
    const long = files.filter((file) => file.startsWith(folder) && (seconds[file] ?? 0) >= ALTERNATING_SECONDS);
    const spread = long.toSorted((a, b) => (seconds[b] ?? 0) - (seconds[a] ?? 0) || a.localeCompare(b));
    const others = spread.filter((_file, at) => at % nth !== first % nth);
    for (const file of others) away.add(file);
    return others.length === 0 ? [] : [`NOT IN THIS RUN, of ${what}: ${others.join(', ')}`];
  });
  return { files: files.filter((file) => !away.has(file)), said };
}
