import { SvcError } from '../errors.ts';

/**
 * Packages that an installation of `svc-runtime` brings only when its user installs them beside it
 * (`peerDependenciesMeta` of package.json; decision 0050). A clone and the image have all of them.
 */
export const OPTIONAL_PACKAGES = {
  stores: ['ioredis', 'bullmq', 'mongodb'],
  containers: ['dockerode'],
  tracing: ['@opentelemetry/exporter-trace-otlp-proto', '@opentelemetry/resources', '@opentelemetry/sdk-trace'],
  mcp: ['@modelcontextprotocol/sdk'],
  markdown: ['turndown', 'linkedom', '@mozilla/readability'],
  openai: ['ai', '@ai-sdk/openai'],
  anthropic: ['ai', '@ai-sdk/anthropic'],
  gemini: ['ai', '@ai-sdk/google'],
  'openai-compatible': ['ai', '@ai-sdk/openai-compatible'],
  ollama: ['ai', '@ai-sdk/openai-compatible'],
  scripted: [],
} as const satisfies Readonly<Record<string, readonly string[]>>;

type OptionalFeature = keyof typeof OPTIONAL_PACKAGES;

/** Whether all packages of a feature are installed. It loads none of them. */
export const isInstalled = (feature: OptionalFeature): boolean => missingOf(feature).length === 0;

/** Throws `invalid_config` with the command that installs what is missing. `what` is the setting or call that needs it. */
export function requirePackages(feature: OptionalFeature, what: string): void {
  const missing = missingOf(feature);
  if (missing.length === 0) return;
  const command = `npm install ${missing.join(' ')}`;
  throw new SvcError('invalid_config', `${what} needs packages that are not installed: ${command}`);
}

const missingOf = (feature: OptionalFeature): readonly string[] =>
  OPTIONAL_PACKAGES[feature].filter((name) => !has(name));

function has(name: string): boolean {
  try {
    import.meta.resolve(name);
    return true;
  } catch {
    // Not found from here; that is the answer.
    return false;
  }
}
