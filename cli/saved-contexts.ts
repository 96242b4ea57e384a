import { randomUUID } from 'node:crypto';
import { mkdirSync, readFileSync, renameSync, writeFileSync } from 'node:fs';
import { homedir } from 'node:os';
import { dirname, join } from 'node:path';
import { invalid } from './failure.ts';
import { isObject, parseJson, textOf } from './json.ts';

/** A node, and the token with which to call it. */
interface SavedContext {
  readonly url: string;
  readonly token?: string;
  readonly tenant?: string;
}

/** The contexts of a user, and the current one. */
export interface SavedContexts {
  readonly current: string | null;
  readonly contexts: Readonly<Record<string, SavedContext>>;
}

const NONE: SavedContexts = { current: null, contexts: {} };

/** `SVC_CONTEXTS`, else `svc/contexts.json` below the user's directory for settings. */
function contextsFile(env: NodeJS.ProcessEnv): string {
  if (env.SVC_CONTEXTS) return env.SVC_CONTEXTS;
  const home = env.XDG_CONFIG_HOME || join(env.HOME || homedir(), '.config');
  return join(home, 'svc', 'contexts.json');
}

/** Without a file there are no contexts. Throws for one that cannot be read. */
export function readContexts(env: NodeJS.ProcessEnv): SavedContexts {
  const file = contextsFile(env);
  let text: string;
  try {
    text = readFileSync(file, 'utf8');
  } catch (thrown) {
    if (thrown instanceof Error && 'code' in thrown && (thrown.code === 'ENOENT' || thrown.code === 'ENOTDIR'))
      return NONE;
    throw invalid(`${file}: cannot be read`);
  }
  const value = parseJson(text);
  if (!isObject(value) || !isObject(value.contexts)) throw invalid(`${file}: expected what svc login wrote`);
  const contexts = Object.entries(value.contexts).map(([name, one]): [string, SavedContext] => [
    name,
    { url: textOf(one, 'url'), token: textOf(one, 'token') || undefined, tenant: textOf(one, 'tenant') || undefined },
  ]);
  return { current: textOf(value, 'current') || null, contexts: Object.fromEntries(contexts) };
}

/** Written atomically, and readable by its owner only, since it holds tokens. */
export function writeContexts(env: NodeJS.ProcessEnv, saved: SavedContexts): void {
  const file = contextsFile(env);
  mkdirSync(dirname(file), { recursive: true, mode: 0o700 });
  const written = `${file}.${randomUUID()}`;
  writeFileSync(written, `${JSON.stringify(saved, null, 2)}\n`, { mode: 0o600, flag: 'wx' });
  renameSync(written, file);
}

/** The context that commands use: `SVC_CONTEXT`, else the current one; null for none. Throws for one that does not exist. */
export function contextInUse(env: NodeJS.ProcessEnv): SavedContext | null {
  const named = env.SVC_CONTEXT || null;
  const { current, contexts } = readContexts(env);
  const name = named ?? current;
  if (name === null) return null;
  const context = contexts[name];
  if (context !== undefined) return context;
  const known = Object.keys(contexts).join(', ') || 'none';
  throw invalid(
    `${named === null ? 'current context' : 'SVC_CONTEXT'}: there is no context ${name} (there is: ${known})`,
  );
}
