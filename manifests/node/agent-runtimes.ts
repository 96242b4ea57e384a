import { z } from 'zod';

const LANGUAGES = ['python', 'javascript', 'typescript', 'rust', 'go'] as const;

const image = z.string().min(1).max(1_024);

const Runtime = z.union([
  image.transform((name) => ({ image: name, deprecated: false, env: {} })),
  z.strictObject({
    image,
    /** It works still; each use is a warning in the log. */
    deprecated: z.boolean().default(false),
    /** For the agent's bootstrap, beside what the manifest says. */
    env: z
      .record(z.string().regex(/^[A-Za-z_][A-Za-z0-9_]*$/, 'expected letters, digits and _'), z.string())
      .default({}),
  }),
]);
export type AgentRuntime = z.output<typeof Runtime>;

/** `runtimes`: language, version, image; null takes a default away. Laid over the table below. */
export const AgentRuntimes = z.partialRecord(
  z.enum(LANGUAGES),
  z.record(z.string().min(1).max(50), Runtime.nullable()),
);
export type AgentRuntimes = z.output<typeof AgentRuntimes>;

const now = (name: string): AgentRuntime => ({ image: `docker.io/library/${name}`, deprecated: false, env: {} });
const old = (name: string, env: Record<string, string> = {}): AgentRuntime => ({ ...now(name), deprecated: true, env });

/** Usual public images; each has the POSIX shell that the node's bootstrap needs. */
export const DEFAULT_RUNTIMES: Readonly<Record<string, Readonly<Record<string, AgentRuntime>>>> = {
  python: {
    '3.9': old('python:3.9-slim'),
    '3.10': old('python:3.10-slim'),
    '3.11': now('python:3.11-slim'),
    '3.12': now('python:3.12-slim'),
    '3.13': now('python:3.13-slim'),
  },
  javascript: {
    '18': old('node:18-alpine'),
    '20': old('node:20-alpine'),
    '22': now('node:22-alpine'),
    '24': now('node:24-alpine'),
  },
  typescript: {
    '5.1': old('node:20-alpine', { SVC_TYPESCRIPT_VERSION: '5.1' }),
    '22': now('node:22-alpine'),
    '24': now('node:24-alpine'),
  },
  rust: {
    '1.74': old('rust:1.74-alpine'),
    '1.75': old('rust:1.75-alpine'),
    '1.85': now('rust:1.85-alpine'),
    '1.90': now('rust:1.90-alpine'),
  },
  go: {
    '1.20': old('golang:1.20-alpine'),
    '1.21': old('golang:1.21-alpine'),
    '1.24': now('golang:1.24-alpine'),
    '1.25': now('golang:1.25-alpine'),
  },
};
