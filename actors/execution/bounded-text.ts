/** Cuts the end of a text over `maxChars` and says how much is missing; never splits a surrogate pair. */
export function keepHead(text: string, maxChars: number): string {
  if (text.length <= maxChars) return text;
  const end = isHighSurrogate(text, maxChars - 1) ? maxChars - 1 : maxChars;
  return `${text.slice(0, end)}\n[cut: ${text.length - end} more characters]`;
}

/** Cuts the start of a text over `maxChars`: for logs, whose end matters. */
export function keepTail(text: string, maxChars: number): string {
  if (text.length <= maxChars) return text;
  const start = text.length - maxChars;
  const from = isHighSurrogate(text, start - 1) ? start + 1 : start;
  return `[cut: ${from} characters before]\n${text.slice(from)}`;
}

function isHighSurrogate(text: string, index: number): boolean {
  const unit = text.charCodeAt(index);
  return unit >= 0xd800 && unit <= 0xdbff;
}
