import { linearRegex } from '../../manifests/re2.ts';
import type { Touches } from '../../manifests/tool/contract.ts';
import type { Capability, ManifestTool, ToolScope } from '../../manifests/tool/scope.ts';
import { type Breach, STAGE } from './api.ts';

const WORKSPACE = '/workspace';

const MAX_PATH_BYTES = 4_096;

type Touched = NonNullable<Touches['paths']>[number];

/** A normalised path. */
export interface CheckedPath extends Touched {
  /** Absolute, without `.` and empty segments. */
  readonly absolute: string;
}

/**
 * Why a path is refused under every capability: it contains `..` or control characters, or is empty or too long. Null for a
 * valid path.
 */
export function pathFault({ field, path }: Touched): Omit<Breach, 'stage'> | null {
  if (path.split(/[/\\]/).includes('..'))
    return { reason: 'PathTraversalAttempt', field, message: `${field}: expected a path without ".." in it` };
  // biome-ignore lint/suspicious/noControlCharactersInRegex: control characters are searched for
  const isText = path.isWellFormed() && !/[\u0000-\u001f\u007f-\u009f]/.test(path);
  if (path === '' || !isText || Buffer.byteLength(path) > MAX_PATH_BYTES)
    return {
      reason: 'InvalidArguments',
      field,
      message: `${field}: expected a path of at most ${MAX_PATH_BYTES} bytes without control characters`,
    };
  return null;
}

/** Relative paths are under /workspace (W5). */
export function absolutePath(path: string): string {
  const whole = path.startsWith('/') ? path : `${WORKSPACE}/${path}`;
  return `/${whole
    .split('/')
    .filter((name) => name !== '' && name !== '.')
    .join('/')}`;
}

/** Checks the paths against the allowlist of a capability. */
export function capabilityPathBreach(paths: readonly CheckedPath[], { path_allowlist }: Capability): Breach | null {
  if (path_allowlist === undefined) return null;
  return firstOutside(paths, ({ absolute }) => path_allowlist.some((pattern) => fitsGlob(pattern, absolute)));
}

/** Checks the paths against `spec.security.filesystem` of the manifest. */
export function filesystemBreach(paths: readonly CheckedPath[], { filesystem }: ToolScope): Breach | null {
  if (filesystem === null) return null;
  const { read, write, read_only } = filesystem;
  return firstOutside(paths, ({ absolute, access }) => {
    if (access === 'write' && read_only) return false;
    const patterns = access === 'write' ? write : read;
    return patterns.length === 0 || patterns.some((pattern) => fitsGlob(pattern, absolute));
  });
}

const DEFAULT_PATHS = [WORKSPACE];

/** Checks the paths against `config` of an entry for `mcp:filesystem`. The defaults are read-only access and /workspace. */
export function entryPathBreach(paths: readonly CheckedPath[], { server, config }: ManifestTool): Breach | null {
  if (server !== 'mcp:filesystem') return null;
  const { allowed_paths, access_mode } = config;
  const directories = Array.isArray(allowed_paths) ? allowed_paths : DEFAULT_PATHS;
  return firstOutside(
    paths,
    ({ absolute, access }) =>
      (access === 'read' || access_mode === 'read-write') &&
      directories.some((directory) => typeof directory === 'string' && isInside(directory, absolute)),
  );
}

/** `/data` matches the directory and everything in it; an entry with wildcards is a glob. */
const isInside = (directory: string, path: string): boolean => isUnder(directory, path) || fitsGlob(directory, path);

function firstOutside(paths: readonly CheckedPath[], isAllowed: (path: CheckedPath) => boolean): Breach | null {
  const outside = paths.find((path) => !isAllowed(path));
  if (outside === undefined) return null;
  const what = outside.access === 'write' ? 'written to' : 'read';
  return {
    reason: 'PathOutsideBoundary',
    field: outside.field,
    message: `${outside.field}: expected a path that may be ${what} under the policy`,
    stage: STAGE.path,
  };
}

const SPECIAL = /[*?[\]{}\\]/;

const MAX_PATTERN_CHARS = 1_024;

/**
 * Whether a path matches a glob of `spec.security.filesystem` or `path_allowlist`. `*` and `?` match within one segment, `**`
 * any number of segments, `{a,b}` one of the alternatives; `/x/**` also matches `/x`. Takes linear time in the path, whatever
 * the pattern. An invalid pattern matches nothing.
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
function isUnder(directory: string, path: string): boolean {
  const base = directory.endsWith('/') ? directory.slice(0, -1) : directory;
  return path === base || path.startsWith(`${base}/`);
}

const TOKEN = /\/\*\*\/|\/\*\*$|^\*\*\/|\*+|\?|\{[^{}]*\}|[^*?{}[\]\\/]+|\/|[\s\S]/g;

/** RE2 source of a glob; null for unsupported syntax: classes, escapes, unclosed braces. */
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
