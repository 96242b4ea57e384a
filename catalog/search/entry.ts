import { parse } from 'yaml';
import type { Collection, Documents, StoredDocument } from '../../runtime/documents.ts';
import { SYSTEM_TENANT } from '../../runtime/identity.ts';
import { AGENT_MANIFESTS, AGENTS } from '../agent-record.ts';
import type { CatalogReader, CatalogScope, CatalogStatus, SearchHit } from '../api.ts';
import { type CatalogChanges, openChanges } from '../changes.ts';
import { type CatalogRecord, isVisible } from '../store/record.ts';
import type { ManifestRecord } from '../store/stored-manifests.ts';
import { WORKFLOW_MANIFESTS, WORKFLOWS } from '../workflow-catalog.ts';

/** An agent or workflow in a search index. */
export interface SearchEntry extends Omit<SearchHit, 'score'> {
  readonly tenant: string;
  readonly scope: CatalogScope;
  /** Subject, for scope user; else empty. */
  readonly owner: string;
  readonly status: CatalogStatus;
  /** The tenant that it is moving to; else null. */
  readonly leavingTo: string | null;
  /** Version of its record. */
  readonly recordVersion: number;
}

/** Null for a record that no reader sees: arriving or deleted. */
export function entryOf(record: CatalogRecord): SearchEntry | null {
  const [newest] = record.versions;
  if (!isVisible(record) || newest === undefined) return null;
  const { tenant, id, name, description, labels, status, scope, owner, version: recordVersion } = record;
  const placed = { tenant, scope, owner, leavingTo: record.leaving_to, recordVersion };
  return { ...placed, ...{ id, name, version: newest.version, description, labels, status } };
}

/** Whether a reader sees the entry: its own, its tenant's and global ones. */
export function isSeenBy(reader: CatalogReader, entry: SearchEntry): boolean {
  if (entry.leavingTo !== null && entry.leavingTo !== SYSTEM_TENANT && entry.leavingTo !== reader.tenant) return false;
  if (entry.scope === 'global') return true;
  if (entry.tenant !== reader.tenant) return false;
  return entry.scope === 'tenant' || (reader.subject !== undefined && entry.owner === reader.subject);
}

export interface Filter {
  readonly labels: Readonly<Record<string, string>>;
  readonly statuses: readonly string[];
  readonly includePlatformTemplates: boolean;
}

/** Whether the entry passes the filter. */
export function isWanted(filter: Filter, { labels, status, scope }: SearchEntry): boolean {
  if (!filter.statuses.includes(status)) return false;
  if (scope === 'global' && !filter.includePlatformTemplates) return false;
  return Object.entries(filter.labels).every(([key, value]) => Object.hasOwn(labels, key) && labels[key] === value);
}

/** Keys of a manifest, besides its metadata, whose texts describe what an agent or workflow does. */
const TELLING = new Set(['instruction', 'prompt_template', 'prompt', 'input', 'intent', 'agent', 'content']);

const KEY = /^ *(?:- )*"?([a-z_]+)"?:(?: +(.*))?$/;

/** Matches a value in flow style, an anchor or an alias. */
const FLOW = /[:-] +[{[&*]/;

const TELLING_INSIDE = new RegExp(`\\b(?:${[...TELLING].join('|')})"?:`);

const CLOSED = /[}\]]\s*$/;

const BLOCK = /^[|>][+-]?\d?[+-]?\s*(#.*)?$/;

const MAX_DEPTH = 20;

const MAX_CHARS = 16_384;

/**
 * The texts of a manifest's instructions and prompts. It reads the usual block style line by line, which is ten times as fast
 * as a YAML parser; other styles go through the parser.
 */
export function tellingText(manifestYaml: string): string {
  const quick = quickly(manifestYaml);
  return (quick ?? thoroughly(manifestYaml)).slice(0, MAX_CHARS);
}

/** Null when the manifest is written in another style. */
function quickly(manifestYaml: string): string | null {
  if (/^\s*[{"]/.test(manifestYaml)) return null;
  const texts: string[] = [];
  /** Indentation of the key whose text continues, or -1. */
  let within = -1;
  for (const line of manifestYaml.split('\n')) {
    const indent = line.search(/\S/);
    if (indent === -1) continue;
    if (within >= 0 && indent > within) {
      texts.push(line);
      continue;
    }
    within = -1;
    if (FLOW.test(line)) {
      // `task: {instruction: do it}` needs the parser; flow style of labels and the like contains no texts of interest.
      if (TELLING_INSIDE.test(line) || !CLOSED.test(line)) return null;
      continue;
    }
    const [, key = '', value = ''] = KEY.exec(line.trimEnd()) ?? [];
    if (!TELLING.has(key)) continue;
    within = indent;
    if (!BLOCK.test(value)) texts.push(value);
  }
  return texts.join('\n');
}

function thoroughly(manifestYaml: string): string {
  const texts: string[] = [];
  const visit = (value: unknown, isTelling: boolean, depth: number): void => {
    if (typeof value === 'string') {
      if (isTelling) texts.push(value);
    } else if (typeof value === 'object' && value !== null && depth < MAX_DEPTH) {
      for (const [key, inner] of Object.entries(value)) visit(inner, isTelling || TELLING.has(key), depth + 1);
    }
  };
  visit(parsed(manifestYaml), false, 0);
  return texts.join('\n');
}

/** The manifest was valid when it was deployed. When a later parser refuses it, all its words are used. */
function parsed(manifestYaml: string): unknown {
  try {
    return parse(manifestYaml);
  } catch {
    return { content: manifestYaml };
  }
}

export type SearchedKind = 'agents' | 'workflows';

/** The catalog's collections of one kind. The search only reads them. */
export interface Sources {
  readonly records: Pick<Collection<CatalogRecord>, 'get' | 'find'>;
  readonly manifests: Pick<Collection<ManifestRecord>, 'get'>;
  readonly changes: Pick<CatalogChanges, 'since'>;
}

const SEARCHED = {
  agents: { noun: 'agent', records: AGENTS, manifests: AGENT_MANIFESTS },
  workflows: { noun: 'workflow', records: WORKFLOWS, manifests: WORKFLOW_MANIFESTS },
} as const;

export async function openSources(documents: Documents, kind: SearchedKind): Promise<Sources> {
  const { noun, records, manifests } = SEARCHED[kind];
  return {
    records: await documents.collection<CatalogRecord>(records),
    manifests: await documents.collection<ManifestRecord>(manifests),
    changes: await openChanges(documents, noun),
  };
}

const AT_A_TIME = 32;

/**
 * The existing documents of these ids. Reads them one by one, since FerretDB 1 cannot answer a query for several ids from an
 * index (decision 0020).
 */
export async function byIds<T extends StoredDocument>(
  collection: Pick<Collection<T>, 'get'>,
  tenant: string,
  ids: readonly string[],
): Promise<T[]> {
  const found: T[] = [];
  for (let from = 0; from < ids.length; from += AT_A_TIME) {
    const some = ids.slice(from, from + AT_A_TIME);
    for (const one of await Promise.all(some.map((id) => collection.get(tenant, id))))
      if (one !== null) found.push(one);
  }
  return found;
}
