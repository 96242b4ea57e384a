export interface ParsedManifest<Manifest> {
  readonly manifest: Manifest;
  readonly manifest_yaml: string;
}

/** Parsed manifests by id; their texts never change. Least recently used go first when the texts get too long. */
export class ManifestCache<Manifest> {
  readonly #entries = new Map<string, ParsedManifest<Manifest>>();
  readonly #maxCharacters: number;
  #characters = 0;

  constructor(maxCharacters: number) {
    this.#maxCharacters = maxCharacters;
  }

  get(id: string): ParsedManifest<Manifest> | undefined {
    const entry = this.#entries.get(id);
    if (entry === undefined) return undefined;
    this.#entries.delete(id);
    this.#entries.set(id, entry);
    return entry;
  }

  set(id: string, entry: ParsedManifest<Manifest>): void {
    this.delete(id);
    this.#entries.set(id, entry);
    this.#characters += entry.manifest_yaml.length;
    for (const oldest of this.#entries.keys()) {
      if (this.#characters <= this.#maxCharacters) return;
      this.delete(oldest);
    }
  }

  delete(id: string): void {
    this.#characters -= this.#entries.get(id)?.manifest_yaml.length ?? 0;
    this.#entries.delete(id);
  }
}
