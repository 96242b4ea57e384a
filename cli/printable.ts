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
