import { connect } from 'node:net';
import { relative } from 'node:path';
import { detectProvider } from './detect-provider.ts';

export interface ModelChoice {
  /** One entry of `spec.llm_providers`; a key is a reference to the environment, never the key itself. */
  readonly provider: object;
  /** The chosen model, and the reason, in one line. */
  readonly says: string;
}

const VARIABLES = 'ANTHROPIC_API_KEY, OPENAI_API_KEY, GOOGLE_GENERATIVE_AI_API_KEY and OLLAMA_HOST';
const PROBE_TIMEOUT_MS = 1_000;

/** The model of a key or a running Ollama found in the environment, else the scripted provider, with a clear notice. */
export async function chooseModel(env: NodeJS.ProcessEnv, script: string): Promise<ModelChoice> {
  const found = detectProvider(env);
  const why = found === null ? `${VARIABLES} are not set` : await unreachable(found.endpoint);
  if (found !== null && why === null) {
    const source = found.api_key === undefined ? 'OLLAMA_HOST' : found.api_key.replace(/^env:/, '');
    return { provider: found, says: `${found.models[0]?.model} of ${found.name} (${source} is set)` };
  }
  return {
    provider: { name: 'script', type: 'scripted', script, models: [{ alias: 'default', model: 'script' }] },
    says: `none: answers come from ${relative('.', script)}, since ${why}`,
  };
}

/** The script with the tool calls, used with and without a model, so that the calls are always the same. */
export const scriptedNotes = (script: string): object => ({
  name: 'notes-script',
  type: 'scripted',
  script,
  models: [{ alias: 'scripted-notes', model: 'script' }],
});

/** Why the endpoint cannot be reached; null when it can, or when there is no endpoint to try (a vendor's own). */
function unreachable(endpoint: string | undefined): Promise<string | null> {
  if (endpoint === undefined) return Promise.resolve(null);
  const { hostname, port, protocol } = new URL(endpoint);
  return new Promise((resolve) => {
    const noAnswer = (): void => resolve(`no server answers at ${endpoint} (OLLAMA_HOST)`);
    const socket = connect({
      host: hostname.replace(/^\[|\]$/g, ''),
      port: Number(port || (protocol === 'https:' ? 443 : 80)),
    });
    socket.setTimeout(PROBE_TIMEOUT_MS, () => socket.destroy());
    socket.once('connect', () => {
      resolve(null);
      socket.destroy();
    });
    socket.on('error', noAnswer);
    socket.once('close', noAnswer);
  });
}
