/** Colours for a terminal; `plain` for everything else. */
export interface Paint {
  readonly dim: (text: string) => string;
  readonly bold: (text: string) => string;
  readonly green: (text: string) => string;
  readonly yellow: (text: string) => string;
  readonly red: (text: string) => string;
  readonly cyan: (text: string) => string;
  readonly magenta: (text: string) => string;
}

const same = (text: string): string => text;

export const plain: Paint = { dim: same, bold: same, green: same, yellow: same, red: same, cyan: same, magenta: same };

const code =
  (on: number, off: number) =>
  (text: string): string =>
    `\u001b[${on}m${text}\u001b[${off}m`;

const coloured: Paint = {
  dim: code(2, 22),
  bold: code(1, 22),
  green: code(32, 39),
  yellow: code(33, 39),
  red: code(31, 39),
  cyan: code(36, 39),
  magenta: code(35, 39),
};

/** Colours only on a terminal, and not where NO_COLOR or a dumb terminal says no. */
export function paintFor(stream: { readonly isTTY?: boolean }, env: NodeJS.ProcessEnv): Paint {
  return stream.isTTY === true && !env.NO_COLOR && env.TERM !== 'dumb' ? coloured : plain;
}

/**
 * Text that comes from the node as it may be shown on a terminal: what a program, a model or a stranger's stimulus wrote
 * must not move the cursor, recolour the screen or turn the order of letters round for whoever reads it. Line feeds
 * stay.
 */
export const printable = (text: string): string => text.replaceAll(UNSHOWN, '\ufffd').replaceAll('\t', '  ');

/** Controls but tab and line feed, and what overrides the direction of text. */
// biome-ignore lint/suspicious/noControlCharactersInRegex: they are what is looked for
const UNSHOWN = /[\u0000-\u0008\u000b-\u001f\u007f-\u009f\u202a-\u202e\u2066-\u2069]/g;

/** The same for a result on standard output, which goes as it is to whatever is not a terminal. */
export const forReader = (text: string): string => (process.stdout.isTTY ? printable(text) : text);
