import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { Command } from 'commander';
import { invalid } from './failure.ts';
import { isObject } from './json.ts';
import { NodeClient } from './node-client.ts';
import { type OutputFormat, outputFormat } from './output.ts';
import { contextInUse } from './saved-contexts.ts';

const DEFAULT_URL = 'http://127.0.0.1:8080';

/** What a client command needs, from the global options and the environment. */
export interface CliContext {
  readonly client: NodeClient;
  readonly output: OutputFormat;
  /** This program with the address of the node, for hints that can be pasted. */
  readonly again: string;
}

export function contextOf(command: Command, env: NodeJS.ProcessEnv = process.env): CliContext {
  const options: unknown = command.optsWithGlobals();
  const given = (name: string): string | undefined => {
    const value = isObject(options) ? options[name] : undefined;
    return typeof value === 'string' && value !== '' ? value : undefined;
  };
  const [asked, host, port] = [given('url') ?? env.SVC_URL, given('host') ?? env.SVC_HOST, given('port')];
  // A context is valid for its own node only: its token must not reach another one.
  const saved = (asked ?? host ?? port ?? '') === '' ? contextInUse(env) : null;
  const names = {
    url: given('url') === undefined ? 'SVC_URL' : '--url',
    host: given('host') === undefined && (env.SVC_HOST ?? '') !== '' ? 'SVC_HOST' : '--host',
  };
  const url = saved === null ? nodeUrl(asked, host, port, names) : checkedUrl(saved.url, 'context');
  const token = sendable('token, SVC_TOKEN', given('token') || env.SVC_TOKEN || saved?.token);
  const findToken = (): Promise<string | undefined> => localToken(url, env);
  return {
    client: new NodeClient({ url, token, findToken, tenant: sendable('tenant', given('tenant') ?? saved?.tenant) }),
    output: outputFormat(given('output') ?? 'text'),
    again: `${programName(env)}${saved !== null || url === DEFAULT_URL ? '' : ` --url ${url}`}`,
  };
}

/** Refuses a value that no header can have. The error does not repeat it: it may be a secret. */
function sendable(name: string, value: string | undefined): string | undefined {
  if (value !== undefined && !/^[\x21-\x7e]*$/.test(value))
    throw invalid(`--${name}: expected visible ASCII characters, without spaces and line breaks`);
  return value;
}

/** The address from `--url`, or from `--host` and `--port`. */
function nodeUrl(
  url: string | undefined,
  host: string | undefined,
  port: string | undefined,
  names: { readonly url: string; readonly host: string },
): string {
  if (port !== undefined && !/^\d{1,5}$/.test(port)) throw invalid(`--port: expected a port number, got ${port}`);
  if (url !== undefined && url !== '' && port === undefined) return checkedUrl(url, names.url);
  if ((host === undefined || host === '') && port === undefined) return DEFAULT_URL;
  const name = host === undefined || host === '' ? '127.0.0.1' : host;
  return checkedUrl(
    `http://${name.includes(':') && !name.startsWith('[') ? `[${name}]` : name}:${port ?? '8080'}`,
    names.host,
  );
}

function checkedUrl(text: string, option: string): string {
  const url = URL.parse(text);
  if (url === null || (url.protocol !== 'http:' && url.protocol !== 'https:')) {
    throw invalid(`${option}: expected an address such as ${DEFAULT_URL}, got ${text}`);
  }
  return text.replace(/\/+$/, '');
}

/** In a checkout the program is run by an npm script. */
const programName = (env: NodeJS.ProcessEnv): string =>
  env.npm_lifecycle_event === 'svc' ? 'npm run -s svc --' : 'svc';

const FILE = 'local-token';

const LOOPBACK = /^(localhost|127(\.\d{1,3}){3}|\[::1\])$/;

/**
 * The token that a node on this machine wrote to its data directory (`spec.iam.local: token`); undefined without one. The
 * directory is SVC_DATA, else that of the configuration file, else ./data, as for `svc start`.
 */
async function localToken(url: string, env: NodeJS.ProcessEnv): Promise<string | undefined> {
  if (!LOOPBACK.test(URL.parse(url)?.hostname ?? '')) return undefined;
  const text = await textOf(join(await dataDirectory(env), FILE));
  return text === null || text.trim() === '' ? undefined : text.trim();
}

async function dataDirectory(env: NodeJS.ProcessEnv): Promise<string> {
  const named = env.SVC_DATA ?? '';
  if (named !== '') return named;
  const config = env.SVC_CONFIG ?? '';
  const text = await textOf(config === '' ? './svc.yaml' : config);
  // Loading the YAML parser would slow down most commands.
  const inFile = text?.includes('data_dir') === true ? await dataDirIn(text) : undefined;
  return inFile ?? './data';
}

async function dataDirIn(text: string): Promise<string | undefined> {
  const { parseDocument } = await import('yaml');
  const parsed = parseDocument(text);
  // The node that reads the file reports its errors.
  const file: unknown = parsed.errors.length > 0 ? null : parsed.toJS();
  const spec = isObject(file) ? file.spec : undefined;
  const stores = isObject(spec) ? spec.stores : undefined;
  const named = isObject(stores) ? stores.data_dir : undefined;
  return typeof named === 'string' && named !== '' ? named : undefined;
}

async function textOf(path: string): Promise<string | null> {
  try {
    return await readFile(path, 'utf8');
  } catch (thrown) {
    // It does not exist, or belongs to another user: the node reports a missing token.
    if (thrown instanceof Error && 'code' in thrown) return null;
    throw thrown;
  }
}
