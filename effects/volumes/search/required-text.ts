/** Characters of words and names, the most frequent first; what is not here is rarer still. */
const FREQUENT = ' etaoinsrlcdupmhgfbyvwkxzqj';
/** So often the rarest byte may be found in a file without the rest, before the whole is looked for at once. */
const TRIES = 24;
const PLAIN = /^[\w /:;,"'<>=&%#@!~`-]$/;
const ESCAPED_PLAIN = /^[^\w\s]$/;

/**
 * Text that every match of a pattern holds, null when none is sure: a file without it needs no look by the engine. Only
 * what stands outside groups and classes counts, so the answer may be shorter than it could be, never wrong.
 */
export function requiredText(pattern: string): string | null {
  if (pattern.includes('(?') || pattern.includes('\\Q')) return null;
  let best = '';
  let run = '';
  const end = (): void => {
    if (run.length > best.length) best = run;
    run = '';
  };
  for (let at = 0; at < pattern.length; at += 1) {
    const char = pattern.charAt(at);
    const escaped = char === '\\' ? pattern.charAt(at + 1) : null;
    if (char === '|') return null;
    if (PLAIN.test(char)) run += char;
    else if (escaped !== null) {
      if (ESCAPED_PLAIN.test(escaped)) run += escaped;
      else end();
      // `\x41`, `\pL`, `\x{10FFFF}`: what is behind such a letter is not text.
      if (/[xpP0-9]/.test(escaped)) return null;
      at += 1;
    } else if (char === '*' || char === '?' || char === '{') {
      run = run.slice(0, -1);
      end();
      if (char === '{') at = pattern.indexOf('}', at);
    } else {
      end();
      if (char === '[' || char === '(') at = closing(pattern, at);
    }
    if (at < 0) return null;
  }
  end();
  return best === '' ? null : best;
}

/** Where the class or group that begins here ends; -1: not sure. */
function closing(pattern: string, from: number): number {
  if (pattern.charAt(from) === '[') {
    // A `]` that comes first belongs to the class.
    const first = pattern.charAt(from + 1) === '^' ? from + 2 : from + 1;
    for (let at = first + 1; at < pattern.length; at += 1) {
      if (pattern.charAt(at) === '\\') at += 1;
      else if (pattern.charAt(at) === '[') return -1;
      else if (pattern.charAt(at) === ']') return pattern.charAt(first) === '\\' ? -1 : at;
    }
    return -1;
  }
  for (let at = from + 1; at < pattern.length; at += 1) {
    const char = pattern.charAt(at);
    if (char === '\\') at += 1;
    else if (char === ')') return at;
    else if (char === '(' || char === '[') {
      at = closing(pattern, at);
      if (at < 0) return -1;
    }
  }
  return -1;
}

/** Whether bytes hold a text, found by its rarest byte: the engine below looks for one byte many times as fast. */
export function textFinder(text: string): (content: Buffer) => boolean {
  const bytes = Buffer.from(text);
  const chars = [...text];
  const rarity = chars.map((char) => (FREQUENT.includes(char) ? FREQUENT.indexOf(char) : FREQUENT.length));
  const offset = rarity.indexOf(Math.max(...rarity));
  const rarest = bytes[offset] ?? 0;
  return (content) => {
    let at = content.indexOf(rarest, offset);
    for (let tries = 0; at !== -1; tries += 1) {
      const from = at - offset;
      if (tries === TRIES) return content.includes(bytes, from);
      if (content.compare(bytes, 0, bytes.length, from, Math.min(from + bytes.length, content.length)) === 0)
        return true;
      at = content.indexOf(rarest, at + 1);
    }
    return false;
  };
}
