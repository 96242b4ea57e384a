import { linearRegex } from '../../manifests/linear-regex.ts';

const SPECIAL = /[*?[\]{}\\]/;
const MAX_PATTERN_CHARS = 1_024;

/**
 * Whether a path fits a pattern of `spec.security.filesystem` or `path_allowlist`: `*` and `?` stay in one name, `**` is any
 * number of names, `{a,b}` one of several; `/x/**` also fits `/x`. Linear in the path, whatever the pattern; one that is
 * not understood fits nothing.
 */
export function fitsGlob(pattern: string, path: string): boolean {
  if (pattern === '/**') return true;
  const directory = pattern.endsWith('/**') ? pattern.slice(0, -3) : null;
  if (directory !== null && !SPECIAL.test(directory)) return isUnder(directory, path);
  if (!SPECIAL.test(pattern)) return pattern === path;
  const regex = pattern.length <= MAX_PATTERN_CHARS ? regexOf(pattern) : null;
  return regex !== null && linearRegex(regex).test(path);
}

/** The directory itself, or anything below it. */
export function isUnder(directory: string, path: string): boolean {
  const base = directory.endsWith('/') ? directory.slice(0, -1) : directory;
  return path === base || path.startsWith(`${base}/`);
}

const TOKEN = /\/\*\*\/|\/\*\*$|^\*\*\/|\*+|\?|\{[^{}]*\}|[^*?{}[\]\\/]+|\/|[\s\S]/g;

/** RE2 source of a glob; null for what is not understood: classes, escapes, braces that do not close. */
function regexOf(pattern: string): string | null {
  const parts = (pattern.match(TOKEN) ?? []).map(partOf);
  return parts.includes(null) ? null : `^(?s:${parts.join('')})$`;
}

function partOf(token: string): string | null {
  if (token === '/**/') return '/(?:.*/)?';
  if (token === '/**') return '(?:/.*)?';
  if (token === '**/') return '(?:.*/)?';
  if (token === '?') return '[^/]';
  if (token.startsWith('*')) return token.length > 1 ? '.*' : '[^/]*';
  if (token.startsWith('{')) return alternatives(token);
  return /^[{}[\]\\]$/.test(token) ? null : escaped(token);
}

function alternatives(token: string): string | null {
  if (token.length < 2) return null;
  const names = token.slice(1, -1).split(',');
  return names.some((name) => /[*?[\]\\/]/.test(name)) ? null : `(?:${names.map(escaped).join('|')})`;
}

const escaped = (text: string): string => text.replace(/[.+^$()|{}[\]\\*?]/g, '\\$&');
