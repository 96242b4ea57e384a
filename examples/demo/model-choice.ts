import { relative } from 'node:path';
import { detectProvider } from '../../effects/models/detect.ts';

export interface ModelChoice {
  /** One entry of `spec.llm_providers`; a key is a reference to the environment, never the key itself. */
  readonly provider: object;
  /** Which model talks, and why, in one line. */
  readonly says: string;
}

/** The model of a key or Ollama found in the environment, else the scripted provider, said plainly. */
export function chooseModel(env: NodeJS.ProcessEnv, script: string): ModelChoice {
  const found = detectProvider(env);
  if (found !== null) {
    const source = found.api_key === undefined ? 'OLLAMA_HOST' : found.api_key.replace(/^env:/, '');
    return { provider: found, says: `${found.models[0]?.model} of ${found.name} (${source} is set)` };
  }
  return {
    provider: { name: 'script', type: 'scripted', script, models: [{ alias: 'default', model: 'script' }] },
    says: `none: answers come from ${relative('.', script)}, since ANTHROPIC_API_KEY, OPENAI_API_KEY, GOOGLE_GENERATIVE_AI_API_KEY and OLLAMA_HOST are not set`,
  };
}
