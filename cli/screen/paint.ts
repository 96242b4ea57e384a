/** Colours for a terminal. */
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

/** Colours on a terminal, unless NO_COLOR is set or the terminal is dumb. */
export function paintFor(stream: { readonly isTTY?: boolean }, env: NodeJS.ProcessEnv): Paint {
  return stream.isTTY === true && !env.NO_COLOR && env.TERM !== 'dumb' ? coloured : plain;
}

/**
 * Text of the node made safe for a terminal: programs, models and senders of stimuli must not move the cursor, recolour the
 * screen or reverse the direction of text. Line feeds stay.
 */
export const printable = (text: string): string => text.replaceAll(UNSHOWN, '\ufffd').replaceAll('\t', '  ');

/** Control characters except tab and line feed, and characters that override the direction of text. */
// biome-ignore lint/suspicious/noControlCharactersInRegex: they are what is looked for
const UNSHOWN = /[\u0000-\u0008\u000b-\u001f\u007f-\u009f\u202a-\u202e\u2066-\u2069]/g;

/** The same for a result on standard output; pipes and files get the text unchanged. */
export const forReader = (text: string): string => (process.stdout.isTTY ? printable(text) : text);
