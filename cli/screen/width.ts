import stringWidth from 'string-width';

const ASCII = /^[\x20-\x7e]*$/;
/** Emoji that are newer than the table of the library. */
const EMOJI = /^\p{Emoji_Presentation}/u;

const graphemes = new Intl.Segmenter(undefined, { granularity: 'grapheme' });

/** Columns of a terminal that a text takes: Japanese letters and emoji take two, combining marks and colours none. */
export function widthOf(text: string): number {
  if (ASCII.test(text)) return text.length;
  let width = 0;
  for (const { segment } of graphemes.segment(withoutColours(text)))
    width += EMOJI.test(segment) ? 2 : stringWidth(segment);
  return width;
}

// biome-ignore lint/suspicious/noControlCharactersInRegex: colours begin with one
const withoutColours = (text: string): string => text.replaceAll(/\u001b\[\d*m/g, '');

/** The text with blanks behind it up to a width. */
export const padded = (text: string, width: number): string => text + ' '.repeat(Math.max(0, width - widthOf(text)));

/** The beginning of a text without colours that fits a width; `…` stands for what is cut off. */
export function cutTo(text: string, width: number): string {
  if (widthOf(text) <= width) return text;
  let cut = '';
  let used = 0;
  for (const { segment } of graphemes.segment(text)) {
    used += widthOf(segment);
    if (used > width - 1) break;
    cut += segment;
  }
  return width < 1 ? '' : `${cut}…`;
}
