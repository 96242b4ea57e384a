import { posix } from 'node:path';

export const WORKSPACE = '/workspace';

/** Where agents begin: `/` names the workspace too. */
export const directoryOf = (path: string): string => (/^\/+$/.test(path) ? WORKSPACE : path);

/** The path from the top, without doubled slashes and dots; `..` is left for whoever refuses it. */
export function absolutePath(path: string): string {
  const from = path.startsWith('/') ? path : `${WORKSPACE}/${path}`;
  const parts = from.split('/').filter((part) => part !== '' && part !== '.');
  return `/${parts.join('/')}`;
}

/** Whether any part of the path goes up: refused wherever it leads (original-facts 5.4). */
export const goesUp = (path: string): boolean => path.split('/').includes('..');

/** The rest of a path below another, '' for the same; null when it is not below. Both as `absolutePath` makes them. */
export function below(path: string, directory: string): string | null {
  if (path === directory) return '';
  const prefix = directory === '/' ? '/' : `${directory}/`;
  return path.startsWith(prefix) ? path.slice(prefix.length) : null;
}

export const joined = (...parts: readonly string[]): string => posix.join(...parts);
