import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { isObject } from './json.ts';

const FILE = 'local-token';
const LOOPBACK = /^(localhost|127(\.\d{1,3}){3}|\[::1\])$/;

/**
 * The token that a node on this machine wrote to its data directory (`spec.iam.local: token`), undefined where there is
 * none. The directory is that of SVC_DATA, else of the configuration file, else ./data, as for `svc start` here.
 */
export async function localToken(url: string, env: NodeJS.ProcessEnv): Promise<string | undefined> {
  if (!LOOPBACK.test(URL.parse(url)?.hostname ?? '')) return undefined;
  const text = await textOf(join(await dataDirectory(env), FILE));
  return text === null || text.trim() === '' ? undefined : text.trim();
}

async function dataDirectory(env: NodeJS.ProcessEnv): Promise<string> {
  const named = env.SVC_DATA ?? '';
  if (named !== '') return named;
  const config = env.SVC_CONFIG ?? '';
  const text = await textOf(config === '' ? './svc.yaml' : config);
  // Most commands start faster without the parser.
  const inFile = text?.includes('data_dir') === true ? await dataDirIn(text) : undefined;
  return inFile ?? './data';
}

async function dataDirIn(text: string): Promise<string | undefined> {
  const { parseDocument } = await import('yaml');
  const parsed = parseDocument(text);
  // What is wrong with the file is said by the node that reads it.
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
    // Not there, or another user's: the node says what is missing.
    if (thrown instanceof Error && 'code' in thrown) return null;
    throw thrown;
  }
}
