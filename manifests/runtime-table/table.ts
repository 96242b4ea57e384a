import { z } from 'zod';
import { parseAgentManifest } from '../agent/parse.ts';
import type { Finding } from '../workflow/finding.ts';
import { parseYaml } from '../yaml.ts';

/** One row: the image for `spec.runtime.language` and `version` of an agent. */
export interface Runtime {
  readonly language: Language;
  readonly version: string;
  readonly image: string;
  readonly description: string;
  /** It still works, but each execution with it logs a warning (W41). */
  readonly deprecated: boolean;
  /** Environment variables for the agent's bootstrap. */
  readonly env: Readonly<Record<string, string>>;
}

/** By language, then by version, oldest first. */
export type RuntimeTable = readonly Runtime[];

/** The shipped table with the overrides of the node's settings; the only table in use. */
export function runtimeTable(configured: RuntimeSettings = {}): RuntimeTable {
  return LANGUAGES.flatMap((language) => {
    const entries = Object.entries({ ...DEFAULT_RUNTIMES[language], ...configured[language] });
    return entries
      .flatMap(([version, entry]) => (entry === null ? [] : [rowOf(language, version, entry)]))
      .sort((a, b) => byVersion(a.version, b.version));
  });
}

let shipped: RuntimeTable | undefined;

/** The shipped table, made on first use. */
export function shippedRuntimes(): RuntimeTable {
  shipped ??= runtimeTable();
  return shipped;
}

/** Numbers in a version are compared as numbers. The platform's collator could do it, but takes milliseconds to make. */
function byVersion(one: string, other: string): number {
  const [parts, others] = [one.match(/\d+|\D+/g) ?? [], other.match(/\d+|\D+/g) ?? []];
  for (const [at, part] of parts.entries()) {
    const against = others[at];
    if (against === undefined) return 1;
    const order = Number(part) - Number(against);
    if (order !== 0 && !Number.isNaN(order)) return order;
    if (Number.isNaN(order) && part !== against) return part < against ? -1 : 1;
  }
  return parts.length - others.length;
}

const rowOf = (
  language: Language,
  version: string,
  { image, description, deprecated, env }: RuntimeEntry,
): Runtime => ({
  language,
  version,
  image,
  deprecated,
  env,
  description: description ?? `${language} ${version}: ${image}`,
});

/** The runtime of an agent's manifest; all fields empty: the node chooses the image. */
export interface AskedRuntime {
  readonly language?: string | null | undefined;
  readonly version?: string | null | undefined;
}

type FoundRuntime =
  /** Null: no language was named. */
  { readonly ok: true; readonly runtime: Runtime | null } | { readonly ok: false; readonly message: string };

/**
 * The row of a language and version. For an unknown pair the answer lists the known ones; another version is never substituted.
 */
export function findRuntime(table: RuntimeTable, { language, version }: AskedRuntime): FoundRuntime {
  if (language === undefined || language === null) return { ok: true, runtime: null };
  const versions = table.filter((row) => row.language === language);
  const runtime = versions.find((row) => row.version === version);
  if (runtime !== undefined) return { ok: true, runtime };
  const offered = versions.map((row) => row.version).join(', ');
  const languages = [...new Set(table.map((row) => row.language))].join(', ');
  const offer = versions.length > 0 ? `${language} ${offered}` : `no version of it, only ${languages || 'no language'}`;
  const asked = `${language} ${version ?? '(no version)'}`;
  return { ok: false, message: `runtime ${asked} is not in the table of this node, which has ${offer}` };
}

const entry = (name: string, description: string): RuntimeEntry => ({
  image: `docker.io/library/${name}`,
  description,
  deprecated: false,
  env: {},
});

const python = (version: string) => entry(`python:${version}-slim`, `Python ${version} on slim Debian`);

const node = (version: string) => entry(`node:${version}-alpine`, `Node.js ${version} on Alpine`);

const rust = (version: string) => entry(`rust:${version}-alpine`, `Rust ${version} with Cargo on Alpine`);

const go = (version: string) => entry(`golang:${version}-alpine`, `Go ${version} on Alpine`);

const nodeTypes = (version: string) => entry(`node:${version}-alpine`, `TypeScript as Node.js ${version} runs it`);

/** Common public images; each has the POSIX shell that the node's bootstrap needs. */
const DEFAULT_RUNTIMES: Readonly<Record<Language, Readonly<Record<string, RuntimeEntry>>>> = {
  python: {
    '3.9': { ...python('3.9'), deprecated: true },
    '3.10': python('3.10'),
    '3.11': python('3.11'),
    '3.12': python('3.12'),
    '3.13': python('3.13'),
  },
  javascript: { '18': node('18'), '20': node('20'), '22': node('22'), '24': node('24') },
  typescript: {
    '5.1': {
      ...entry('node:20-alpine', 'TypeScript 5.1 on Node.js 20, Alpine'),
      env: { SVC_TYPESCRIPT_VERSION: '5.1' },
    },
    '22': nodeTypes('22'),
    '24': nodeTypes('24'),
  },
  rust: { '1.74': rust('1.74'), '1.75': rust('1.75'), '1.85': rust('1.85'), '1.90': rust('1.90') },
  go: { '1.20': go('1.20'), '1.21': go('1.21'), '1.24': go('1.24'), '1.25': go('1.25') },
};

const LANGUAGES = ['python', 'javascript', 'typescript', 'rust', 'go'] as const;

type Language = (typeof LANGUAGES)[number];

const image = z.string().min(1).max(1_024);

const Entry = z.union([
  image.transform((name): RuntimeEntry => ({ image: name, deprecated: false, env: {} })),
  z.strictObject({
    image,
    /** Description in svc.runtime.list; default: language, version and image. */
    description: z.string().min(1).max(500).optional(),
    /** It still works, but each execution with it logs a warning. */
    deprecated: z.boolean().default(false),
    /** For the agent's bootstrap, in addition to the manifest's. */
    env: z
      .record(z.string().regex(/^[A-Za-z_][A-Za-z0-9_]*$/, 'expected letters, digits and _'), z.string())
      .default({}),
  }),
]);

/** The runtime of a language and a version. */
interface RuntimeEntry {
  readonly image: string;
  readonly description?: string | undefined;
  readonly deprecated: boolean;
  readonly env: Readonly<Record<string, string>>;
}

/** `spec.runtime.containers.runtimes`: language, version, image; null removes a default. Overrides the table. */
export const RuntimeSettings = z.partialRecord(
  z.enum(LANGUAGES),
  z.record(z.string().min(1).max(50), Entry.nullable()),
);

export type RuntimeSettings = z.output<typeof RuntimeSettings>;

/** Warnings of a deployment about an agent's language and version. Never refuses a deployment. */
export function runtimeWarnings(text: string, table: RuntimeTable): Finding[] {
  const parsed = parseAgentManifest(text);
  const yaml = parseYaml(text);
  if (!parsed.ok || !yaml.ok) return [];
  const { language, version } = parsed.manifest.spec.runtime;
  const warning = (rule: string, message: string, cure: string): Finding => ({
    rule,
    severity: 'warning',
    path: 'spec.runtime.version',
    message,
    cure,
    ...yaml.yaml.locate(['spec', 'runtime', 'version']),
  });
  const found = findRuntime(table, { language, version });
  if (!found.ok) {
    const cure = 'Write one of those, or an image; an execution with this one is refused here.';
    return [warning('unknown_runtime', found.message, cure)];
  }
  if (found.runtime?.deprecated !== true) return [];
  const newer = table.filter((row) => row.language === language && !row.deprecated).map((row) => row.version);
  const cure = newer.length === 0 ? 'Write an image.' : `Write one of ${newer.join(', ')}.`;
  return [warning('deprecated_runtime', `runtime ${language} ${version} is deprecated`, cure)];
}
