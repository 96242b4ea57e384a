const MiB = 1024 * 1024;

/** Largest body, and most values. */
export const MOST_BYTES = 16 * MiB;
const MOST_VALUES = 100_000;
const MOST_NAMES = 10_000;
const MOST_NAME_BYTES = 4 * MiB;
/** The part around the costly value. */
const ROOM = 512;

/** JSON of the highest cost that its class allows: `part` is the text of one value, to be put into a field of a body. */
interface CostlyJson {
  readonly name: string;
  part(bytes: number): string;
}

const repeated = (count: number, one: (at: number) => string): string =>
  Array.from({ length: Math.max(0, count) }, (_none, at) => one(at)).join(',');

/** As many members of different names as the limits for bytes, values and bytes of names allow. */
function names(bytes: number): string {
  const most = Math.min(bytes, MOST_NAME_BYTES);
  const count = Math.min(MOST_NAMES - 50, Math.floor((most - ROOM) / 12));
  const pad = 'n'.repeat(Math.max(0, Math.floor((most - ROOM) / count) - 12));
  const members = repeated(count, (at) => `"${String(at).padStart(6, 'k')}${pad}":1`);
  // What is left is one text.
  return `{${members},"text":"${'x'.repeat(Math.max(0, bytes - ROOM - members.length - 10))}"}`;
}

export const COSTLY: readonly CostlyJson[] = [
  { name: 'one text', part: (bytes) => `"${'x'.repeat(bytes - ROOM)}"` },
  { name: 'escapes', part: (bytes) => `"${'\\n'.repeat(Math.floor((bytes - ROOM) / 2))}"` },
  { name: 'values', part: (bytes) => `[${repeated(Math.min(MOST_VALUES - 50, (bytes - ROOM) / 2), () => '1')}]` },
  { name: 'names', part: names },
  {
    name: 'too long names',
    part: (bytes) => `{${repeated((bytes - ROOM) / 2_008, (at) => `"${String(at).padStart(2_000, 'k')}":1`)}}`,
  },
  {
    name: 'objects',
    // With an escape, and one member a time: what the parser of the first version took nine seconds for.
    part: (bytes) => `["\\u0041",${repeated(Math.min(MOST_VALUES / 2 - 50, (bytes - ROOM) / 8), () => '{"a":1}')}]`,
  },
  {
    name: 'records',
    // A list of objects of the same ninety names, as many as may be.
    part: (bytes) => {
      const one = `{${repeated(90, (at) => `"${at}n":1`)}}`;
      return `[${repeated(Math.min(MOST_VALUES / 91 - 9, (bytes - ROOM) / (one.length + 1)), () => one)}]`;
    },
  },
  { name: 'too many names', part: (bytes) => `{${repeated((bytes - ROOM) / 16, (at) => `"${at}n":1`)}}` },
  { name: 'too many values', part: (bytes) => `["\\u0041",${repeated((bytes - ROOM) / 8, () => '{"a":1}')}]` },
];
