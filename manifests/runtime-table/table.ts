import { DEFAULT_RUNTIMES } from './defaults.ts';
import { LANGUAGES, type Language, type RuntimeEntry, type RuntimeSettings } from './settings.ts';

/** One row: what `spec.runtime.language` and `version` of an agent stand for. */
export interface Runtime {
  readonly language: Language;
  readonly version: string;
  readonly image: string;
  readonly description: string;
  /** Works still; each execution with it is a warning in the log (spec 3, Usage rules). */
  readonly deprecated: boolean;
  /** For the agent's bootstrap. */
  readonly env: Readonly<Record<string, string>>;
}

/** By language, then by version, oldest first. */
export type RuntimeTable = readonly Runtime[];

/** What ships with the product with the node's settings laid over it: the one table everything reads. */
export function runtimeTable(configured: RuntimeSettings = {}): RuntimeTable {
  return LANGUAGES.flatMap((language) => {
    const entries = Object.entries({ ...DEFAULT_RUNTIMES[language], ...configured[language] });
    return entries
      .flatMap(([version, entry]) => (entry === null ? [] : [rowOf(language, version, entry)]))
      .sort((a, b) => a.version.localeCompare(b.version, 'en', { numeric: true }));
  });
}

const rowOf = (
  language: Language,
  version: string,
  { image, description, deprecated, env }: RuntimeEntry,
): Runtime => ({
  ...{ language, version, image, deprecated, env },
  description: description ?? `${language} ${version}: ${image}`,
});

/** What an agent's manifest says; all empty: it leaves its image to the node. */
export interface AskedRuntime {
  readonly language?: string | null | undefined;
  readonly version?: string | null | undefined;
}

export type FoundRuntime =
  /** Null: no language was asked for. */
  { readonly ok: true; readonly runtime: Runtime | null } | { readonly ok: false; readonly message: string };

/** The row of a pair. One the table lacks is answered with those it has: another version is never taken instead. */
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
