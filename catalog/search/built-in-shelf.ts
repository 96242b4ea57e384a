import { SYSTEM_TENANT } from '../../runtime/identity.ts';
import type { BuiltIns } from '../built-in/api.ts';
import type { SearchEntry } from './entry.ts';
import type { EntryVectors } from './entry-vectors.ts';
import { LexicalIndex } from './lexical-index.ts';
import { tellingText } from './manifest-text.ts';
import type { Shelf } from './ranking.ts';
import type { SearchedKind } from './sources.ts';

/** What ships with the product, read at the first search. It never changes. */
export class BuiltInShelf {
  readonly #builtIns: BuiltIns;
  readonly #openVectors: () => EntryVectors | null;
  readonly #shelves = new Map<SearchedKind, Shelf>();

  constructor(builtIns: BuiltIns, openVectors: () => EntryVectors | null) {
    this.#builtIns = builtIns;
    this.#openVectors = openVectors;
  }

  open(kind: SearchedKind): Shelf {
    const known = this.#shelves.get(kind);
    if (known !== undefined) return known;
    const shelf = { words: new LexicalIndex(), vectors: this.#openVectors() };
    for (const { entry, instruction } of this.#read(kind)) {
      shelf.words.put(entry, instruction);
      shelf.vectors?.want(entry, instruction);
    }
    this.#shelves.set(kind, shelf);
    return shelf;
  }

  has(kind: SearchedKind, id: string): boolean {
    return this.get(kind, id) !== undefined;
  }

  get(kind: SearchedKind, id: string): SearchEntry | undefined {
    const words = this.#shelves.get(kind)?.words;
    const slot = words?.slotOf(id);
    return slot === undefined ? undefined : words?.at(slot);
  }

  #read(kind: SearchedKind): { readonly entry: SearchEntry; readonly instruction: string }[] {
    const { agents, workflows } = this.#builtIns;
    const all = kind === 'agents' ? agents.map((agent) => ({ ...agent, id: agent.agent_id })) : workflows;
    return all.map(({ id, name, version, description, labels, status, manifest_yaml }) => ({
      entry: {
        ...{ id, name, version, description, labels, status },
        ...{ tenant: SYSTEM_TENANT, scope: 'global', owner: '', leavingTo: null, recordVersion: 0 },
      },
      instruction: tellingText(manifest_yaml),
    }));
  }
}
