/** Elements whose text nobody reads. */
const HIDDEN = new Set(['script', 'style', 'noscript', 'template', 'svg']);
const BREAKS =
  /^(address|article|blockquote|br|dd|div|dl|dt|footer|h[1-6]|header|hr|li|main|ol|p|pre|section|table|tr|ul)$/;

const ENTITIES: Readonly<Record<string, string>> = { amp: '&', lt: '<', gt: '>', quot: '"', apos: "'", nbsp: ' ' };

/**
 * The words of a page without its marks, for pages that cannot be converted: too deep or too slow. One pass over the
 * text, whatever it is.
 */
export function plainText(html: string): string {
  const parts: string[] = [];
  let at = 0;
  while (at < html.length) {
    const open = html.indexOf('<', at);
    parts.push(html.slice(at, open === -1 ? html.length : open));
    if (open === -1) break;
    const close = html.startsWith('<!--', open) ? html.indexOf('-->', open + 4) : html.indexOf('>', open);
    if (close === -1) break;
    const name = /^<\/?([a-z0-9]{1,20})/i.exec(html.slice(open, open + 24))?.[1]?.toLowerCase() ?? '';
    if (BREAKS.test(name)) parts.push('\n');
    at = HIDDEN.has(name) && html[open + 1] !== '/' ? endTag(html, name, close) : close + 1;
    if (html.startsWith('<!--', open)) at = close + 3;
  }
  return parts
    .join('')
    .replaceAll(/&(amp|lt|gt|quot|apos|nbsp);/g, (whole, name: string) => ENTITIES[name] ?? whole)
    .replaceAll(/[ \t\r\f]+/g, ' ')
    .replaceAll(/ ?\n[ \n]*/g, '\n')
    .trim();
}

/** Where the end tag of an element begins; the end of the text when it has none. */
function endTag(html: string, name: string, from: number): number {
  const rest = new RegExp(`</${name}[\\s>]`, 'gi');
  rest.lastIndex = from;
  const end = rest.exec(html);
  return end === null ? html.length : end.index;
}
