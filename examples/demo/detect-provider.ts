import { ProviderConfig } from '../../manifests/node/models.ts';

/** Default models for a key from the environment. */
const BY_KEY = [
  { variable: 'ANTHROPIC_API_KEY', type: 'anthropic', model: 'claude-sonnet-4-5' },
  { variable: 'OPENAI_API_KEY', type: 'openai', model: 'gpt-4.1-mini' },
  { variable: 'GOOGLE_GENERATIVE_AI_API_KEY', type: 'gemini', model: 'gemini-2.5-flash' },
] as const;

const OLLAMA_PORT = 11434;
const OLLAMA_MODEL = 'llama3.2';

/**
 * A provider for the demo from the environment, with the alias `default`; null if there is none. The key stays a reference
 * (`env:NAME`). `SVC_MODEL` overrides the model.
 */
export function detectProvider(env: Readonly<Record<string, string | undefined>>): ProviderConfig | null {
  const named = env.SVC_MODEL;
  for (const { variable, type, model } of BY_KEY) {
    if ((env[variable] ?? '') === '') continue;
    return provider({ name: type, type, api_key: `env:${variable}` }, named ?? model);
  }
  const host = env.OLLAMA_HOST ?? '';
  const endpoint = host === '' ? undefined : ollamaEndpoint(host);
  return endpoint === undefined ? null : provider({ name: 'ollama', type: 'ollama', endpoint }, named ?? OLLAMA_MODEL);
}

const provider = (given: object, model: string): ProviderConfig =>
  ProviderConfig.parse({ ...given, models: [{ alias: 'default', model }] });

/** OLLAMA_HOST may be `host`, `host:port`, `:port` or a URL; the listen address 0.0.0.0 means this machine. */
function ollamaEndpoint(host: string): string | undefined {
  const text = /^https?:\/\//.test(host) ? host : `http://${host.startsWith(':') ? `127.0.0.1${host}` : host}`;
  if (!URL.canParse(text)) return undefined;
  const url = new URL(text);
  if (url.hostname === '0.0.0.0') url.hostname = '127.0.0.1';
  if (url.port === '' && !/^https?:\/\/[^/]*:\d/.test(text) && url.protocol === 'http:') url.port = String(OLLAMA_PORT);
  return url.origin;
}
