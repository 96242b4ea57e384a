import type { Collection, StoredDocument } from '../../runtime/documents.ts';
import { BoundedCache } from '../../runtime/kit/bounded-cache.ts';

const CACHE_CHARACTERS = 16 * 1_024 * 1_024;

/** The manifest of one deploy. It is never changed, only deleted. */
export interface ManifestRecord extends StoredDocument {
  readonly manifest_yaml: string;
}

/** Manifests by id, as text and parsed. */
export class StoredManifests<Manifest> {
  readonly #texts: Collection<ManifestRecord>;
  readonly #read: (text: string) => Promise<Manifest>;
  /** By id, since a text never changes. Limited by the characters of the texts. */
  readonly #cache = new BoundedCache<string, ParsedManifest<Manifest>>(CACHE_CHARACTERS);

  constructor(texts: Collection<ManifestRecord>, read: (text: string) => Promise<Manifest>) {
    this.#texts = texts;
    this.#read = read;
  }

  async add(tenant: string, id: string, text: string): Promise<void> {
    await this.#texts.insert({ tenant, id, version: 1, manifest_yaml: text });
  }

  /** Null when it was replaced or deleted meanwhile. */
  async get(tenant: string, id: string): Promise<ParsedManifest<Manifest> | null> {
    const cached = this.#cache.get(id);
    if (cached !== undefined) return cached;
    const stored = await this.#texts.get(tenant, id);
    if (stored === null) return null;
    const parsed = { manifest: await this.#read(stored.manifest_yaml), manifest_yaml: stored.manifest_yaml };
    this.#cache.put(id, parsed, stored.manifest_yaml.length);
    return parsed;
  }

  /** Copies the texts to another tenant under new ids. */
  async copy(
    from: string,
    entries: readonly { readonly manifest_id: string }[],
    to: string,
    copies: readonly { readonly manifest_id: string }[],
  ): Promise<void> {
    for (const [index, { manifest_id }] of entries.entries()) {
      const copy = copies[index];
      const stored = await this.#texts.get(from, manifest_id);
      if (stored !== null && copy !== undefined) await this.add(to, copy.manifest_id, stored.manifest_yaml);
    }
  }

  async remove(tenant: string, entries: readonly { readonly manifest_id: string }[]): Promise<void> {
    for (const { manifest_id } of entries) {
      this.#cache.delete(manifest_id);
      await this.#texts.delete(tenant, manifest_id);
    }
  }
}

interface ParsedManifest<Manifest> {
  readonly manifest: Manifest;
  readonly manifest_yaml: string;
}
